"""`ratings.sqlite`: opening it, with errors that say what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from importlib.resources import files
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.human_eval.manifest import SCHEMA
from formalimg.runs import address_for_reading, told_of

RATINGS_FILE = "ratings.sqlite"
_PATIENCE = 30
"""Seconds to wait for a reader that is in the way."""


def make_database(folder: Path) -> sqlite3.Connection:
    """The database of a new study."""
    with told(folder):
        connection = _connected(f"{(folder / RATINGS_FILE).absolute().as_uri()}?mode=rwc")
        connection.execute("PRAGMA journal_mode = WAL")
        tables = (files("formalimg.human_eval") / "schema.sql").read_text(encoding="utf-8")
        connection.executescript(f"BEGIN; {tables} PRAGMA user_version = {SCHEMA}; COMMIT;")
        return connection


def open_for_answers(folder: Path) -> sqlite3.Connection:
    """The ratings of a study. Every statement is on the disk before it returns: nobody likes to answer again."""
    _require_there(folder)
    with told(folder):
        connection = _connected(f"{(folder / RATINGS_FILE).absolute().as_uri()}?mode=rw")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return _of_our_schema(connection, folder)


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """The ratings of a study, for reading only; people may go on answering meanwhile."""
    _require_there(folder)
    with told(folder):
        connection = _connected(address_for_reading(folder / RATINGS_FILE))
        connection.execute("PRAGMA query_only = ON")
        return _of_our_schema(connection, folder)


def told(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Errors of the database, as errors that users can act on."""
    return told_of(
        folder / RATINGS_FILE,
        full="make room, then go on; nothing that was answered is lost",
        damaged="the file is damaged: restore it from a copy",
    )


def _connected(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _require_there(folder: Path) -> None:
    if not (folder / RATINGS_FILE).is_file():
        raise FormalimgError(f"{folder} is no study: it has no {RATINGS_FILE}")


def _of_our_schema(connection: sqlite3.Connection, folder: Path) -> sqlite3.Connection:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != SCHEMA:
        connection.close()
        raise FormalimgError(
            f"{folder / RATINGS_FILE} has schema {found}, this version of formalimg reads {SCHEMA}: use the version "
            "that made it, or make a new study"
        )
    return connection
