"""`results.sqlite`: opening it, with errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs.card import SCHEMA

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
            f"{(folder / RESULTS_FILE).absolute().as_uri()}?{_how_to_read(folder)}",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA query_only = ON")
        return _of_our_schema(connection, folder)


@contextlib.contextmanager
def told(folder: Path) -> Iterator[None]:
    """Errors of the database, as errors that users can act on."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        reason = str(error)
        if "full" in reason or "disk I/O" in reason:
            advice = "make room, then give the same command again to go on"
        elif "readonly" in reason or "unable to open" in reason:
            advice = "check the permissions of the folder"
        elif "malformed" in reason or "not a database" in reason:
            advice = "the file is damaged: restore it, or move the run folder away and start anew"
        else:
            raise
        raise FormalimgError(f"cannot use {folder / RESULTS_FILE} ({reason}): {advice}") from error


def _how_to_read(folder: Path) -> str:
    """How to open the results for a reader that changes none of them.

    Where nobody can write, nothing changes, and the library must be told so: it would look for files beside. Everywhere
    else it has to be allowed to write, or it would leave such files behind.
    """
    settled = not os.access(folder, os.W_OK) and not (folder / f"{RESULTS_FILE}-wal").exists()
    return "immutable=1" if settled else "mode=rw"


def _of_our_schema(connection: sqlite3.Connection, folder: Path) -> sqlite3.Connection:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != SCHEMA:
        connection.close()
        raise FormalimgError(
            f"{folder / RESULTS_FILE} has schema {found}, this version of formalimg reads {SCHEMA}: "
            "use the version that made it, or start a new run"
        )
    return connection
