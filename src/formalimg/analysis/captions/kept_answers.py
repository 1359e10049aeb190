"""What a chat model has said about captions, in a file that survives being killed at any moment."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from formalimg.errors import FormalimgError

ANSWERS_FILE = "answers.sqlite"

_TABLES = (
    "create table if not exists asked (name text primary key, value text not null) strict",
    "create table if not exists answers (caption text primary key, found integer not null, raw text not null) strict",
)


class KeptAnswers:
    """Answers by caption. The same words have the same answer, wherever they stand."""

    def __init__(self, folder: Path | None, asked: Mapping[str, object]) -> None:
        """Open the answers of a folder, or begin anew.

        Args:
            folder: where they lie; None keeps them only as long as the program runs.
            asked: who is asked, and how. Answers to another question are not used.

        Raises:
            FormalimgError: if the folder holds answers to another question, or cannot be used.
        """
        self._place = ":memory:" if folder is None else str(folder / ANSWERS_FILE)
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self._place, timeout=10, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(f"cannot write to {folder}: {error}") from error
        try:
            self._file.execute("pragma journal_mode = wal")
            self._file.execute("pragma synchronous = normal")
            for statement in _TABLES:
                self._file.execute(statement)
            self._require_same(asked)
        except sqlite3.Error as error:
            self._file.close()
            raise FormalimgError(f"{self._place} cannot be used: {error}; choose another folder") from error
        except FormalimgError:
            self._file.close()
            raise

    def get(self, caption: str) -> int | None:
        """The categories found in a caption; None if nobody has said yet."""
        row = self._file.execute("select found from answers where caption = ?", (_key(caption),)).fetchone()
        return None if row is None else int(row[0])

    def keep(self, caption: str, found: int, raw: str) -> None:
        """Keep an answer."""
        try:
            self._file.execute("insert or ignore into answers values (?, ?, ?)", (_key(caption), found, raw))
        except sqlite3.Error as error:
            raise FormalimgError(f"cannot write {self._place}: {error}; the same command goes on from here") from error

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _require_same(self, asked: Mapping[str, object]) -> None:
        wanted = {name: json.dumps(value, sort_keys=True) for name, value in asked.items()}
        kept: dict[str, str] = dict(self._file.execute("select name, value from asked").fetchall())
        if not kept:
            self._file.executemany("insert into asked values (?, ?)", list(wanted.items()))
        for name in wanted if kept else ():
            if wanted[name] != kept.get(name):
                raise FormalimgError(
                    f"{self._place} holds answers with {name} {kept.get(name)}, not {wanted[name]}: "
                    "give the same options to go on with it, or another folder"
                )


def _key(caption: str) -> str:
    return hashlib.sha256(caption.encode()).hexdigest()
