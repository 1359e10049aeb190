"""Journal of requests and answers, stored in a file that survives a kill at any moment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from formalimg._util.databases import has_no_schema, open_untrusted, require_our_schema
from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.conversation import require_answer, without_cost
from formalimg.benchmarks.authoring.outcomes import AttemptOutcome, decode_outcome, encode_outcome
from formalimg.errors import FormalimgError

JOURNAL_FILE = "writing.sqlite"

_TABLES = """
create table if not exists asked (name text primary key, value text not null);
create table if not exists outcomes (
    number integer primary key, slot integer not null, attempt integer not null, outcome text not null
);
create table if not exists heard (
    slot integer not null, attempt integer not null, question text not null, answer text not null,
    primary key (slot, attempt, question)
);
"""


class AuthoringJournal:
    """Journal of all outcomes in order, locked by one process at a time."""

    def __init__(self, folder: Path, suite: str, settings: Mapping[str, object]) -> None:
        """Open the journal in a folder, or start a new one."""
        self._path = folder / JOURNAL_FILE
        self._suite = suite
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open_untrusted(self._path, timeout=0.5)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(f"cannot write to {folder}: {error}") from error
        try:
            # The lock is kept until the file is closed, and given back by the system if the process is killed.
            self._file.execute("pragma locking_mode = exclusive")
            self._file.execute("begin exclusive")
            if not has_no_schema(self._file):  # before the first write
                require_our_schema(self._file, self._path, _TABLES, "choose another folder")
            for statement in filter(str.strip, _TABLES.split(";")):
                self._file.execute(statement)
            self._require_same(settings)
            self._file.execute("commit")
        except sqlite3.Error as error:
            self._file.close()
            busy = "locked" in str(error)
            advice = "another process is writing there: wait until it is done" if busy else f"cannot be used: {error}"
            raise FormalimgError(f"{self._path}: {advice}") from error
        except FormalimgError:
            self._file.close()
            raise

    def outcomes(self) -> list[AttemptOutcome]:
        """Return all outcomes so far."""
        try:
            rows = self._file.execute("select slot, attempt, outcome from outcomes order by number").fetchall()
            return [decode_outcome(slot, attempt, text, self._suite) for slot, attempt, text in rows]
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError, sqlite3.Error) as error:
            raise self._unreadable(error) from error

    def cost(self, outcomes: Iterable[AttemptOutcome]) -> float:
        """Return the known cost in US dollars of the given outcomes and the answers of unfinished attempts."""
        try:
            heard = self._file.execute("select answer from heard").fetchall()
            costs = [json.loads(answer)["cost"] for (answer,) in heard]
            return float(sum(cost or 0.0 for cost in (*(outcome.expense.cost for outcome in outcomes), *costs)))
        except (KeyError, TypeError, ValueError, sqlite3.Error) as error:
            raise FormalimgError(f"{self._path} cannot be read: {error}; choose another folder") from error

    def keep(self, outcome: AttemptOutcome) -> None:
        """Store an outcome durably."""
        key = (outcome.slot, outcome.attempt)
        with self._writing():
            self._file.execute("begin")
            self._file.execute(
                "insert into outcomes (slot, attempt, outcome) values (?, ?, ?)", (*key, encode_outcome(outcome))
            )
            select = "select question, answer from heard where slot = ? and attempt = ?"
            try:
                heard = self._file.execute(select, key).fetchall()
                counted = [(without_cost(answer), *key, question) for question, answer in heard]
            except (ValueError, sqlite3.Error) as error:
                raise self._unreadable(error) from error
            if outcome.is_final:
                self._file.execute("delete from heard where slot = ? and attempt = ?", key)
            else:  # it is made again with what was answered, which the outcome has already counted
                self._file.executemany(
                    "update heard set answer = ? where slot = ? and attempt = ? and question = ?", counted
                )
            self._file.execute("commit")

    def recall(self, slot: int, attempt: int, question: str) -> str | None:
        """Return the stored answer to a question of an unfinished attempt; None if there is none."""
        select = "select answer from heard where slot = ? and attempt = ? and question = ?"
        try:
            row = self._file.execute(select, (slot, attempt, question)).fetchone()
            if row is not None:
                require_answer(row[0])
        except (ValueError, sqlite3.Error) as error:
            raise self._unreadable(error) from error
        return None if row is None else str(row[0])

    def remember(self, slot: int, attempt: int, question: str, answer: str) -> None:
        """Store an answer durably until its attempt is finished."""
        with self._writing():
            self._file.execute("insert or replace into heard values (?, ?, ?, ?)", (slot, attempt, question, answer))

    def close(self) -> None:
        """Close the journal and release its lock."""
        self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FormalimgError(f"cannot write {self._path}: {error}; the same command goes on from here") from error

    def _unreadable(self, error: Exception) -> FormalimgError:
        reason = truncate(f"{type(error).__name__}: {error}", 200, 100)
        return FormalimgError(f"{self._path} cannot be read: {reason}; choose another folder")

    def _require_same(self, settings: Mapping[str, object]) -> None:
        requested = {name: json.dumps(value, sort_keys=True) for name, value in settings.items()}
        stored: dict[str, str] = dict(self._file.execute("select name, value from asked").fetchall())
        if not stored:
            self._file.executemany("insert into asked values (?, ?)", list(requested.items()))
            return
        for name in {**requested, **stored}:
            if requested.get(name) != stored.get(name):
                before = truncate(f"{name} {stored.get(name)}", 200, 100)
                raise FormalimgError(
                    f"{self._path.parent} holds a writing with {before}, not {requested.get(name)}: "
                    "give the same options to go on with it, or another folder"
                )
