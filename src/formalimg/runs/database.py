"""The SQLite database of a run, `results.sqlite`: opening it, its rows, and errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import NamedTuple, get_args

from formalimg._util.strict_json import dumps_storable
from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, UnscoredReason, Verdict
from formalimg.models import Failed, ImageResult, Refused
from formalimg.runs.manifest import SCHEMA
from formalimg.runs.messages import one_line
from formalimg.suites import FormulaSpec, Item, encode_item

RESULTS_FILE = "results.sqlite"
_TIMEOUT = 30
"""Seconds to wait for a reader that blocks the database."""


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """Open the results of a run, creating them if necessary. Every statement is committed at once."""
    with run_database_errors(folder):
        connection = sqlite3.connect(
            folder / RESULTS_FILE, timeout=_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode this loses nothing when the process is killed, and never corrupts; see docs/runs.md.
        connection.execute("PRAGMA synchronous = NORMAL")
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            tables = (files("formalimg.runs") / "schema.sql").read_text(encoding="utf-8")
            connection.executescript(f"BEGIN; {tables} PRAGMA user_version = {SCHEMA}; COMMIT;")
        return _require_schema(connection, folder)


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """Open the results of a run read-only; the run may be written to meanwhile."""
    if not (folder / RESULTS_FILE).is_file():
        raise FormalimgError(f"{folder} is not a run: it has no {RESULTS_FILE}")
    with run_database_errors(folder):
        connection = sqlite3.connect(
            readonly_uri(folder / RESULTS_FILE),
            uri=True,
            timeout=_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA query_only = ON")
        return _require_schema(connection, folder)


def run_database_errors(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Turn database errors of a run into errors that users can act on."""
    return database_errors(
        folder / RESULTS_FILE,
        full="free some space, then run the same command again to resume",
        damaged="the file is damaged: restore it, or move the run folder away and start anew",
    )


@contextlib.contextmanager
def database_errors(file: Path, *, full: str, damaged: str) -> Iterator[None]:
    """Turn database errors into errors that users can act on.

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


def readonly_uri(file: Path) -> str:
    """Return the SQLite URI to open a database read-only.

    Where the folder is not writable, nothing changes, and SQLite needs `immutable` or it would look for files beside.
    Everywhere else it has to be allowed to write, or it would leave such files behind.
    """
    immutable = not os.access(file.parent, os.W_OK) and not file.with_name(f"{file.name}-wal").exists()
    return f"{file.absolute().as_uri()}?{'immutable=1' if immutable else 'mode=rw'}"


def _require_schema(connection: sqlite3.Connection, folder: Path) -> sqlite3.Connection:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != SCHEMA:
        connection.close()
        raise FormalimgError(
            f"{folder / RESULTS_FILE} has schema {found}, this version of formalimg reads {SCHEMA}: "
            "use the version that made it, or start a new run"
        )
    return connection


# --- rows


class ItemRow(NamedTuple):
    """An item as columns of the table `items`."""

    id: str
    position: int
    level: int
    prompt: str
    formula: str
    tags: str
    question: str
    record: str


def item_row(position: int, item: Item[object], question: str) -> ItemRow:
    """Return the columns of an item, with its position in the suite and the key of what it asks for."""
    formula = str(item.spec.formula) if isinstance(item.spec, FormulaSpec) else ""
    tags = dumps_storable(list(item.tags))
    return ItemRow(item.id, position, item.level, item.prompt, formula, tags, question, encode_item(item))


class ImageRow(NamedTuple):
    """The result of a planned image as columns of the table `pictures`."""

    status: str
    detail: str = ""
    file: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    width: int | None = None
    height: int | None = None
    served: str = "{}"
    cost: float = 0.0
    unpriced: int = 0


def missing_image_row(answer: Refused | Failed | Unscored) -> ImageRow:
    """Return the columns of a planned image without a file, with the reason."""
    if isinstance(answer, Unscored):
        return ImageRow("too large" if answer.reason == "too large" else "unreadable", answer.detail)
    if isinstance(answer, Failed) and answer.absent:
        return ImageRow("absent", one_line(answer.reason))
    return ImageRow("refused" if isinstance(answer, Refused) else "failed", one_line(answer.reason))


def cost_columns(cost: float | None) -> tuple[float, int]:
    """Return a cost as two columns: the known amount, and 1 if the price is unknown.

    Raises:
        ValueError: if it is not a cost: no budget could be kept any more.
    """
    if cost is None:
        return 0.0, 1
    if not (isinstance(cost, int | float) and isfinite(cost) and cost >= 0):
        raise ValueError(f"a cost of {cost!r} US dollars cannot be")
    return cost, 0


def answer_cost(answer: ImageResult) -> tuple[float, int]:
    """Return the cost of an image model's answer as two columns. Refused and failed attempts may be paid for too.

    Raises:
        ValueError: if it is not a cost.
    """
    return cost_columns(answer.cost)


class VerdictRow(NamedTuple):
    """A verdict, or why there is none, as columns of the table `verdicts`."""

    passed: bool | None
    score: float | None
    reason: str
    detail: str
    parts: str
    evidence: str
    cost: float
    unpriced: int


def verdict_row(verdict: Verdict | Unscored) -> VerdictRow:
    """Return the columns of a verdict.

    Raises:
        TypeError: if it is not a verdict, or is not made of plain data.
        ValueError: if it holds NaN or Infinity, or its cost is not a cost.
    """
    if isinstance(verdict, Unscored):
        if verdict.reason not in get_args(UnscoredReason):
            raise TypeError(f"the judge gave the unknown reason {verdict.reason!r}")
        evidence = dumps_storable(dict(verdict.evidence))
        return VerdictRow(
            None, None, verdict.reason, one_line(verdict.detail), "[]", evidence, *cost_columns(verdict.cost)
        )
    if not isinstance(verdict, Verdict):
        raise TypeError(f"the judge gave {type(verdict).__name__} in place of a verdict")
    parts, evidence = dumps_storable([part.to_json() for part in verdict.parts]), dumps_storable(dict(verdict.evidence))
    return VerdictRow(bool(verdict.passed), verdict.score, "", "", parts, evidence, *cost_columns(verdict.cost))
