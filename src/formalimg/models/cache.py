"""Remembering what chat models answered, so that the same question is paid for once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.models.base import Setting, Usage
from formalimg.models.chat import Attachment, Completion, Message

CACHE_VARIABLE = "FORMALIMG_CACHE"
"""The environment variable that names the folder of the cache."""

ANSWERS_FILE = "answers.sqlite"

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    question TEXT PRIMARY KEY,    -- what was asked, as a hash: neither words nor pictures are kept
    text TEXT NOT NULL,           -- the answer as it came
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    served TEXT NOT NULL,         -- JSON: what was really used
    at REAL NOT NULL              -- seconds since 1970
) STRICT, WITHOUT ROWID
"""
_PATIENCE = 10
"""Seconds to wait for another process that is writing."""


def cache_folder() -> Path:
    """Where answers are remembered: `FORMALIMG_CACHE`, or `formalimg` where this system keeps its caches."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    home = Path.home()
    match sys.platform:
        case "darwin":
            return home / "Library" / "Caches" / "formalimg"
        case "win32":
            return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "formalimg" / "Cache"
        case _:
            return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "formalimg"


def question_key(
    name: str, settings: Mapping[str, Setting], messages: Sequence[Message], schema: Mapping[str, object]
) -> str:
    """A hash of everything that shapes an answer.

    Args:
        name: the model's name.
        settings: its settings, with the version of how we ask.
        messages: the conversation; images take part by the hash of their bytes.
        schema: the form of the answer.
    """
    turns = [[message.role, [_part(part) for part in message.parts]] for message in messages]
    told = [name, dict(settings), turns, schema]
    return hashlib.sha256(json.dumps(told, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _part(part: str | Attachment) -> object:
    if isinstance(part, str):
        return part
    return {"type": part.media_type, "sha256": hashlib.sha256(part.data).hexdigest()}


class Memory:
    """Answers that can be read, by question. Several threads and processes may use the same file."""

    def __init__(self, folder: Path) -> None:
        """The memory in this folder, made if there is none.

        Raises:
            FormalimgError: if it cannot be used; the message says how to go on without.
        """
        self._lock = threading.Lock()
        path = folder / ANSWERS_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(
                f"cannot remember answers in {path} ({error}): remove the file, name another folder with "
                f"{CACHE_VARIABLE}, or go on without by the option cache=off"
            ) from None

    def recall(self, question: str) -> Completion | None:
        """What was answered to this question, if that is known. Used up is nothing: it was paid for already."""
        select = "SELECT text, served FROM answers WHERE question = ?"
        with self._lock, contextlib.suppress(sqlite3.Error):  # whoever cannot remember has to ask
            row = self._connection.execute(select, (question,)).fetchone()
            return None if row is None else Completion(row[0], served=json.loads(row[1]))
        return None

    def remember(self, question: str, completion: Completion) -> None:
        """Keep an answer that came to its end. The first one stays, so that all who ask later hear the same."""
        if completion.ended != "stop":
            raise ValueError(f"an answer that ended by {completion.ended} is not worth remembering")
        row = (
            question,
            completion.text,
            completion.usage.input_tokens,
            completion.usage.output_tokens,
            json.dumps(dict(completion.served)),
            time.time(),
        )
        with self._lock, contextlib.suppress(sqlite3.Error):  # a full disk must not cost us the answer itself
            self._connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)

    def forget(self, question: str) -> None:
        """Let go of an answer that turned out to be of no use, so that the question is asked again."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.execute("DELETE FROM answers WHERE question = ?", (question,))

    def spent(self) -> Usage:
        """What all remembered answers once used up."""
        with self._lock:
            sums = "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM answers"
            return Usage(*self._connection.execute(sums).fetchone())

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
