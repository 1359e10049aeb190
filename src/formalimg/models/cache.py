"""Cache of chat answers with de-duplication of concurrent questions, so that each question is paid for once."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

from formalimg._util.databases import has_no_schema, open_untrusted, require_our_schema
from formalimg._util.io import CACHE_VARIABLE
from formalimg._util.strict_json import StoredValueError, stored_json, stored_text, wrong_value
from formalimg.errors import FormalimgError
from formalimg.models.base import Attachment, Completion, Message
from formalimg.types import Setting

CACHE_FILE = "answers.sqlite"
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
_LOCK_TIMEOUT = 10  # seconds to wait for another process that is writing
# Probabilities are kept among what was served: files of earlier versions have no columns for them.
_P_YES, _FIRST_TOKENS = "p_yes", "first_tokens"
_MAX_ANSWER = 16_000_000  # characters of an answer
_ADVICE = f"remove the file, name another folder with {CACHE_VARIABLE}, or use no cache with the option cache=off"


def cache_key(
    name: str, settings: Mapping[str, Setting], messages: Sequence[Message], schema: Mapping[str, object]
) -> str:
    """Return a hash of everything that affects an answer."""

    def describe(part: str | Attachment) -> object:
        if isinstance(part, str):
            return part
        return {"type": part.media_type, "sha256": hashlib.sha256(part.data).hexdigest()}

    turns = [[message.role, [describe(part) for part in message.parts]] for message in messages]
    content = [name, dict(settings), turns, schema]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _parse_served(text: object) -> tuple[dict[str, Setting], float | None, dict[str, float]]:
    """Parse what was served, with P(yes) and the first-token probabilities, which are stored in it as text."""
    served = stored_json(text, "served", dict)
    for value in served.values():
        if value is not None and not isinstance(value, str | int | float):
            raise wrong_value("served", value)
    p_yes, first = served.pop(_P_YES, None), served.pop(_FIRST_TOKENS, None)
    tokens = {} if first is None else stored_json(first, _FIRST_TOKENS, dict)
    for value in (*tokens.values(), *(() if p_yes is None else (p_yes,))):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise wrong_value("served", value)
    return served, p_yes, tokens


class AnswerCache:
    """Parseable answers by cache key, stored in SQLite. Safe for multiple threads and processes."""

    def __init__(self, folder: Path) -> None:
        """Open the cache in this folder, creating it if necessary."""
        self._lock = threading.Lock()
        path = folder / CACHE_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = open_untrusted(path, timeout=_LOCK_TIMEOUT)
            if not has_no_schema(self._connection):
                require_our_schema(self._connection, path, _TABLE, _ADVICE)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(f"cannot open the answer cache {path} ({error}): {_ADVICE}") from None

    def get(self, key: str) -> Completion | None:
        """Return the cached answer, or None. Its usage is zero because it was already paid for."""
        select = "SELECT text, served FROM answers WHERE question = ?"
        with self._lock, contextlib.suppress(sqlite3.Error):  # an unreadable cache is a cache miss
            try:
                row = self._connection.execute(select, (key,)).fetchone()
                if row is None:
                    return None
                served, p_yes, first = _parse_served(row[1])
                text = stored_text(row[0], "text", _MAX_ANSWER)
                return Completion(text, served=served, p_yes=p_yes, first_tokens=first)
            except (StoredValueError, sqlite3.Error) as error:
                if hasattr(error, "sqlite_errorcode"):  # SQLite cannot read the file, or not now
                    return None
                # A value that is not ours, or not UTF-8: it is asked for and stored anew.
                self._connection.execute("DELETE FROM answers WHERE question = ?", (key,))
        return None

    def put(self, key: str, completion: Completion) -> None:
        """Store a complete answer. An existing answer is not overwritten, so that all callers get the same one."""
        if completion.ended != "stop":
            raise ValueError(f"an answer that ended by {completion.ended} is not worth remembering")
        served = dict(completion.served)  # what log-probabilities told goes with it, if they told anything
        served |= {} if completion.p_yes is None else {_P_YES: completion.p_yes}
        served |= {_FIRST_TOKENS: json.dumps(dict(completion.first_tokens))} if completion.first_tokens else {}
        usage = completion.usage
        row = (key, completion.text, usage.input_tokens, usage.output_tokens, json.dumps(served), time.time())
        with self._lock, contextlib.suppress(sqlite3.Error):  # a full disk must not cost us the answer itself
            self._connection.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)

    def delete(self, key: str) -> None:
        """Delete an unusable answer, so that the model is asked again."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.execute("DELETE FROM answers WHERE question = ?", (key,))

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


@dataclass
class CurrentQuestion:
    """A question in progress."""

    # the answer, as soon as a caller has it: beside the cache, because a full disk keeps nothing
    answer: Completion | None = None
    askers: int = 0  # number of those who ask it or wait for its answer
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # held by the one who asks


# Questions in progress by event loop and key: models of the same name and settings share them.
_questions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, CurrentQuestion]] = WeakKeyDictionary()


@asynccontextmanager
async def single_flight(key: str) -> AsyncIterator[CurrentQuestion]:
    """Wait for any other caller asking the same question, then yield the question.

    If the first caller gets no answer or is cancelled, the next one asks; the other callers are not cancelled.
    """
    questions = _questions.setdefault(asyncio.get_running_loop(), {})
    question = questions.setdefault(key, CurrentQuestion())
    question.askers += 1
    try:
        async with question.turn:
            yield question
    finally:
        question.askers -= 1
        if not question.askers:
            del questions[key]
