"""The SQLite database of a run, `results.sqlite`: opening it, its rows, and errors that say what to do."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import NamedTuple, get_args

from formalimg._util.databases import (
    UntrustedConnection,
    database_errors,
    has_no_schema,
    open_untrusted,
    readers_mode,
    require_our_schema,
)
from formalimg._util.strict_json import MAX_COST, MAX_NAME, MAX_NUMBER, MAX_TEXT, StoredValueError, dumps_storable
from formalimg.benchmarks.items_file import encode_item, formula_text
from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason, part_to_json
from formalimg.models.base import Failed, ImageResult, Refused
from formalimg.runs.manifest import SCHEMA
from formalimg.runs.messages import one_line
from formalimg.types import Item, Unscored, Verdict

RESULTS_FILE = "results.sqlite"
_TIMEOUT = 30
"""Seconds to wait for a reader that blocks the database."""
_DAMAGED = "the file is damaged: restore it, or move the run folder away and start anew"


def open_for_writing(folder: Path) -> UntrustedConnection:
    """Open the results of a run, creating them if necessary. Every statement is committed at once."""
    file = folder / RESULTS_FILE
    with run_database_errors(folder):
        connection = open_untrusted(file, "rwc", timeout=_TIMEOUT)
        try:
            is_new = has_no_schema(connection)
            if not is_new:
                _require_schema(connection, folder)
                _require_plausible(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            # In WAL mode this loses nothing when the process is killed, and never corrupts; see docs/guides/runs.md.
            connection.execute("PRAGMA synchronous = NORMAL")
            if is_new:
                connection.executescript(f"BEGIN; {table_definitions()} PRAGMA user_version = {SCHEMA}; COMMIT;")
        except BaseException:
            connection.close()
            raise
        return connection


def open_for_reading(folder: Path) -> UntrustedConnection:
    """Open the results of a run read-only; the run may be written to meanwhile."""
    file = folder / RESULTS_FILE
    if not os.path.lexists(file):
        raise FormalimgError(f"{folder} is not a run: it has no {RESULTS_FILE}")
    with run_database_errors(folder):
        connection = open_untrusted(file, readers_mode(file), timeout=_TIMEOUT)
        try:
            connection.execute("PRAGMA query_only = ON")
            _require_schema(connection, folder)
        except BaseException:
            connection.close()
            raise
        return connection


def run_database_errors(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Turn database errors of a run into errors that users can act on."""
    return database_errors(
        folder / RESULTS_FILE,
        full="free some space, then run the same command again to resume",
        damaged=_DAMAGED,
    )


def _require_schema(connection: UntrustedConnection, folder: Path) -> None:
    file = folder / RESULTS_FILE
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found != SCHEMA:
        raise FormalimgError(
            f"{file} has schema {found}, this version of formalimg reads {SCHEMA}: "
            "use the version that made it, or start a new run"
        )
    require_our_schema(connection, file, table_definitions(), _DAMAGED)


def table_definitions() -> str:
    """Return the SQL that makes the tables of a run."""
    return (files("formalimg.runs") / "schema.sql").read_text(encoding="utf-8")


def _require_plausible(connection: UntrustedConnection) -> None:
    """Check the values that a writer reads, in one pass: types, ranges, digests, and names of files without a path."""
    for table, conditions in _PLAUSIBLE.items():
        row = connection.execute(f"SELECT rowid FROM {table} WHERE NOT ({' AND '.join(conditions)}) LIMIT 1").fetchone()
        if row is not None:
            raise StoredValueError(f"row {row[0]} of the table {table} holds values that formalimg does not write")


_COSTS = (
    f"typeof(cost) = 'real' AND cost BETWEEN 0 AND {MAX_COST}",
    f"typeof(unpriced) = 'integer' AND unpriced BETWEEN 0 AND {MAX_NUMBER}",
    f"typeof(attempts) = 'integer' AND attempts BETWEEN 0 AND {MAX_NUMBER}",
)
_PLAUSIBLE: Mapping[str, tuple[str, ...]] = {
    "items": (
        "typeof(id) = 'text' AND typeof(question) = 'text' AND typeof(prompt) = 'text'",
        f"length(id) <= {MAX_NAME} AND length(question) <= {MAX_NAME} AND length(prompt) <= {MAX_TEXT}",
        "typeof(position) = 'integer' AND typeof(level) = 'integer'",
    ),
    "pictures": (
        "typeof(item) = 'text' AND typeof(key) = 'text' AND typeof(status) = 'text' AND typeof(seed) = 'integer'",
        f"item IN (SELECT id FROM items) AND length(key) <= {MAX_NAME}",
        f"typeof(sample) = 'integer' AND sample BETWEEN 0 AND {MAX_NUMBER}",
        "status IN ('planned', 'made', 'refused', 'failed', 'unreadable', 'too large', 'absent')",
        "(file IS NULL OR typeof(file) = 'text' AND length(file) BETWEEN 1 AND 255"
        " AND file NOT IN ('.', '..') AND file NOT GLOB '*[/\\]*' AND NOT instr(file, char(0)))",
        "(sha256 IS NULL OR typeof(sha256) = 'text' AND length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*')",
        "(status <> 'made' OR file IS NOT NULL AND sha256 IS NOT NULL AND typeof(bytes) = 'integer')",
        *_COSTS,
    ),
    "judges": ("typeof(key) = 'text' AND typeof(name) = 'text' AND typeof(settings) = 'text'",),
    "verdicts": (
        "typeof(judge) = 'text' AND typeof(question) = 'text' AND typeof(picture) = 'text' AND typeof(item) = 'text'",
        f"length(question) <= {MAX_NAME} AND length(picture) <= {MAX_NAME}",
        "(passed IS NULL OR typeof(passed) = 'integer' AND passed IN (0, 1))",
        *_COSTS,
    ),
}
"""What holds for every row that we write, as SQL."""


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
    tags = dumps_storable(list(item.tags))
    return ItemRow(item.id, position, item.level, item.prompt, formula_text(item), tags, question, encode_item(item))


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
        # One line without keys: the detail quotes what came in place of an image.
        return ImageRow("too large" if answer.reason == "too large" else "unreadable", one_line(answer.detail))
    if isinstance(answer, Failed) and answer.absent:
        return ImageRow("absent", one_line(answer.reason))
    return ImageRow("refused" if isinstance(answer, Refused) else "failed", one_line(answer.reason))


def cost_columns(cost: float | None) -> tuple[float, int]:
    """Return a cost as two columns: the known amount, and 1 if the price is unknown."""
    if cost is None:
        return 0.0, 1
    if not (isinstance(cost, int | float) and isfinite(cost) and cost >= 0):
        raise ValueError(f"a cost of {cost!r} US dollars cannot be")
    return cost, 0


def answer_cost(answer: ImageResult) -> tuple[float, int]:
    """Return the cost of an image model's answer as two columns. Refused and failed attempts may be paid for too."""
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
    """Return the columns of a verdict."""
    if isinstance(verdict, Unscored):
        if verdict.reason not in get_args(UnscoredReason):
            raise TypeError(f"the judge gave the unknown reason {verdict.reason!r}")
        evidence = dumps_storable(dict(verdict.evidence))
        return VerdictRow(
            None, None, verdict.reason, one_line(verdict.detail), "[]", evidence, *cost_columns(verdict.cost)
        )
    if not isinstance(verdict, Verdict):
        raise TypeError(f"the judge gave {type(verdict).__name__} in place of a verdict")
    parts, evidence = (
        dumps_storable([part_to_json(part) for part in verdict.parts]),
        dumps_storable(dict(verdict.evidence)),
    )
    return VerdictRow(bool(verdict.passed), verdict.score, "", "", parts, evidence, *cost_columns(verdict.cost))
