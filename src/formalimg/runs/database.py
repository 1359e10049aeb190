"""`results.sqlite`: opening it, with errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs.manifest import SCHEMA

RESULTS_FILE = "results.sqlite"
_PATIENCE = 30
"""Seconds to wait for a reader that is in the way."""


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The results of a run, made if there are none yet. Every statement is kept at once."""
    with told(folder):
        connection = sqlite3.connect(
            folder / RESULTS_FILE, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode this loses nothing when the process is killed, and never corrupts; see docs/runs.md.
        connection.execute("PRAGMA synchronous = NORMAL")
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            tables = (files("formalimg.runs") / "schema.sql").read_text(encoding="utf-8")
            connection.executescript(f"BEGIN; {tables} PRAGMA user_version = {SCHEMA}; COMMIT;")
        return _of_our_schema(connection, folder)


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """The results of a run, for reading only; a run may go on meanwhile."""
    if not (folder / RESULTS_FILE).is_file():
        raise FormalimgError(f"{folder} is no run: it has no {RESULTS_FILE}")
    with told(folder):
        connection = sqlite3.connect(
            address_for_reading(folder / RESULTS_FILE),
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA query_only = ON")
        return _of_our_schema(connection, folder)


def told(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Errors of the database, as errors that users can act on."""
    return told_of(
        folder / RESULTS_FILE,
        full="make room, then give the same command again to go on",
        damaged="the file is damaged: restore it, or move the run folder away and start anew",
    )


@contextlib.contextmanager
def told_of(file: Path, *, full: str, damaged: str) -> Iterator[None]:
    """Errors of a database, as errors that users can act on.

    Args:
        file: the database.
        full: what to do when the disk is full.
        damaged: what to do when the file is damaged.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        reason = str(error)
        if "full" in reason or "disk I/O" in reason:
            advice = full
        elif "readonly" in reason or "unable to open" in reason:
            advice = "check the permissions of the folder"
        elif "malformed" in reason or "not a database" in reason:
            advice = damaged
        else:
            raise
        raise FormalimgError(f"cannot use {file} ({reason}): {advice}") from error


def address_for_reading(file: Path) -> str:
    """How to open a database for a reader that changes nothing in it.

    Where nobody can write, nothing changes, and the library must be told so: it would look for files beside. Everywhere
    else it has to be allowed to write, or it would leave such files behind.
    """
    settled = not os.access(file.parent, os.W_OK) and not file.with_name(f"{file.name}-wal").exists()
    return f"{file.absolute().as_uri()}?{'immutable=1' if settled else 'mode=rw'}"


def _of_our_schema(connection: sqlite3.Connection, folder: Path) -> sqlite3.Connection:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != SCHEMA:
        connection.close()
        raise FormalimgError(
            f"{folder / RESULTS_FILE} has schema {found}, this version of formalimg reads {SCHEMA}: "
            "use the version that made it, or start a new run"
        )
    return connection
