"""Untrusted SQLite files: opened defensively, checked against our schema, limited in steps and sizes."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from formalimg._util.strict_json import StoredValueError
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

_MAX_VALUE_BYTES = 16 * 1024 * 1024
"""The longest text, blob or row. The largest that we write are answers of chat models, far below."""

_STEPS_PER_CALL = 10_000
_STEPS_PER_ROW = 200
_MIN_STEPS = 10_000_000
_STEPS_PER_BYTE = 4
_MAX_STEPS = 10_000_000_000
"""The limit on the steps of a statement grows with the file: our statements need less than one for each byte, and our
rows take more than fifty bytes. Pages that lead to each other make a table of any length out of a few bytes.
"""

_SIDE_FILES = ("-wal", "-shm", "-journal")
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")

_SQL_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|\s+|(\w+|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|.)""", re.DOTALL
)

OpenMode = Literal["rw", "rwc", "immutable"]


class _StepLimit:
    """SQLite progress handler, called every `_STEPS_PER_CALL` steps, that interrupts long statements."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._allowed = _MIN_STEPS
        self.spent = 0
        self.is_off = False

    def __call__(self) -> int:
        self.spent += _STEPS_PER_CALL
        if self.is_off or self.spent <= self._allowed:
            return 0
        self._allowed = min(_MAX_STEPS, _MIN_STEPS + _STEPS_PER_BYTE * self._size())  # it may have grown meanwhile
        return int(self.spent > self._allowed)

    def _size(self) -> int:
        size = 0
        for suffix in ("", "-wal") if self._file is not None else ():
            with contextlib.suppress(OSError):
                size += Path(f"{self._file}{suffix}").stat().st_size
        return size


class UntrustedConnection(sqlite3.Connection):
    """A connection to an untrusted file; see `open_untrusted`. Each statement has its own step limit."""

    _limit = _StepLimit(None)

    def distrust(self, file: Path | None) -> None:
        """Set the limits and disable features that a malicious file could exploit."""
        self._limit = _StepLimit(file)
        self.set_progress_handler(self._limit, _STEPS_PER_CALL)
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        self.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 2)
        if sys.version_info >= (3, 12):
            self.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            self.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
        self.execute("PRAGMA trusted_schema = OFF")
        self.execute("PRAGMA cell_size_check = ON")
        self.execute("PRAGMA mmap_size = 0")

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement with a fresh step limit."""
        self._limit.spent = 0
        try:
            return super().execute(sql, parameters)
        except UnicodeDecodeError as error:  # a message of SQLite that quotes bytes of the file
            raise sqlite3.DatabaseError("malformed text in its schema or in a message") from error

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        """Execute a statement for many trusted rows without a step limit."""
        self._limit.is_off = True
        try:
            return super().executemany(sql, parameters)
        finally:
            self._limit.is_off = False

    def rows(self, sql: str, values: Mapping[str, object]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, counting its steps separately from statements executed in between."""
        for row in self.execute(sql, values):
            spent = self._limit.spent + _STEPS_PER_ROW
            yield row
            self._limit.spent = spent


def open_untrusted(file: Path | None, mode: OpenMode = "rwc", *, timeout: float) -> UntrustedConnection:
    """Open an untrusted database in autocommit mode for use from any thread."""
    uri = "file::memory:"
    if file is not None:
        _require_plain_database(file)
        uri = f"{file.absolute().as_uri()}?{'immutable=1' if mode == 'immutable' else f'mode={mode}'}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False, factory=UntrustedConnection
    )
    try:
        connection.distrust(file)
    except BaseException:
        connection.close()
        raise
    return connection


def readers_mode(file: Path) -> OpenMode:
    """Return the mode for opening a database to read, in addition to `PRAGMA query_only`.

    In a read-only folder, SQLite needs `immutable`, because it would otherwise look for files next to the database.
    Elsewhere it must be allowed to write, because it would otherwise leave such files behind.
    """
    is_fixed = not os.access(file.parent, os.W_OK) and not os.path.lexists(f"{file}-wal")
    return "immutable" if is_fixed else "rw"


def _require_plain_database(file: Path) -> None:
    """Reject links, pipes and devices, because SQLite writes to files next to the database."""
    for path in (file, *(file.with_name(f"{file.name}{suffix}") for suffix in _SIDE_FILES)):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise FormalimgError(f"cannot open {path} ({error.strerror}): check the path and its permissions") from None
        if not stat.S_ISREG(status.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a plain file"
            raise FormalimgError(f"{path} is {kind}: replace it by the file itself")
        if path.name.endswith("-journal") and status.st_size >= len(_JOURNAL_MAGIC):
            with contextlib.suppress(OSError), path.open("rb") as journal:
                journal.seek(-len(_JOURNAL_MAGIC), os.SEEK_END)
                if journal.read() == _JOURNAL_MAGIC:
                    raise FormalimgError(f"{path} is not a journal of formalimg: remove it, then try again")


# --- schema


class SchemaObject(NamedTuple):
    """A table, index, trigger or view, with its definition stripped of comments."""

    type: str
    name: str
    table: str
    sql: str


def require_our_schema(connection: sqlite3.Connection, file: Path | str, sql: str, advice: str) -> None:
    """Raise an error if the schema differs from ours in tables, columns, types, constraints, indexes or triggers.

    This executes nothing from a foreign schema, whereas a query could run its views, triggers and index expressions.
    """
    expected = _expected_schema(sql)
    actual = _schema(connection)
    if actual == expected:
        return
    foreign = next((item for item in actual if item not in expected or actual.count(item) > 1), None)
    if foreign is not None:
        difference = f"holds the {foreign.type} {foreign.name}, which formalimg did not make"
    else:
        missing = next(item for item in expected if item not in actual)
        difference = f"lacks the {missing.type} {missing.name}"
    raise FormalimgError(f"{file} {truncate(ascii(difference)[1:-1], 200, 100)}: {advice}")


def has_no_schema(connection: sqlite3.Connection) -> bool:
    """Return whether the database is empty."""
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None


@cache
def _expected_schema(sql: str) -> tuple[SchemaObject, ...]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql)
        return _schema(connection)


def _schema(connection: sqlite3.Connection) -> tuple[SchemaObject, ...]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return tuple(
        sorted(
            SchemaObject(str(kind), str(name), str(table), _without_comments(str(sql or "")))
            for kind, name, table, sql in rows
        )
    )


def _without_comments(sql: str) -> str:
    """Return a definition without comments and whitespace, which may differ between our versions."""
    return " ".join(token[1] for token in _SQL_TOKEN.finditer(sql) if token[1])


# --- errors


@contextlib.contextmanager
def database_errors(file: Path, *, full: str, damaged: str) -> Iterator[None]:
    """Translate database errors and invalid values to errors that users can act on."""
    try:
        yield
    except StoredValueError as error:
        raise FormalimgError(f"cannot use {file} ({error}): {damaged}") from error
    except UnicodeDecodeError as error:  # from a later row, as in `execute`
        raise FormalimgError(f"cannot use {file} (malformed text): {damaged}") from error
    except sqlite3.ProgrammingError:
        raise  # a mistake of ours, such as a closed database
    except sqlite3.Error as error:
        reason = truncate(ascii(str(error))[1:-1], 200, 100)
        raise FormalimgError(f"cannot use {file} ({reason}): {_advice(error, full, damaged)}") from error


def _advice(error: sqlite3.Error, full: str, damaged: str) -> str:
    name, reason = getattr(error, "sqlite_errorname", None) or "", str(error)
    if name == "SQLITE_FULL" or "full" in reason or "disk I/O" in reason:
        return full
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return "check the permissions of the folder"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return "another program is using it: wait until it is done, then try again"
    return damaged
