"""The SQLite database of a run, `results.sqlite`: connections, rows and error messages."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, get_args

from formalimg._util.databases import (
    UntrustedConnection,
    database_errors,
    has_no_schema,
    open_untrusted,
    readers_mode,
    require_our_schema,
)
from formalimg._util.strict_json import (
    MAX_COST,
    MAX_NAME,
    MAX_NUMBER,
    MAX_TEXT,
    StoredValueError,
    dumps_storable,
    stored_integer,
    stored_json,
    stored_text,
    wrong_value,
)
from formalimg._util.text import truncate
from formalimg.benchmarks.items_file import encode_item, formula_text
from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason, part_from_json, part_to_json
from formalimg.models.base import Failed, Refused
from formalimg.runs.manifest import SCHEMA, Identity
from formalimg.runs.messages import one_line
from formalimg.runs.queries import MAX_SCORE, ImageQueries
from formalimg.types import Item, Part, Unscored, Verdict

RESULTS_FILE = "results.sqlite"
_TIMEOUT = 30  # Seconds to wait for a reader that blocks the database
_DAMAGED = "the file is damaged: restore it, or move the run folder away and start a new run"


def open_for_writing(folder: Path) -> UntrustedConnection:
    """Open the results of a run for writing in autocommit mode, creating the database if necessary."""
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
    """Open the results of a run read-only, even while another process writes to them."""
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
    """Convert database errors into actionable error messages."""
    return database_errors(
        folder / RESULTS_FILE, full="free some space, then run the same command again to resume", damaged=_DAMAGED
    )


def _require_schema(connection: UntrustedConnection, folder: Path) -> None:
    file = folder / RESULTS_FILE
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema != SCHEMA:
        raise FormalimgError(
            f"{file} has schema {schema}, this version of formalimg reads {SCHEMA}: "
            "use the version that made it, or start a new run"
        )
    require_our_schema(connection, file, table_definitions(), _DAMAGED)


def table_definitions() -> str:
    """Return the SQL that creates the tables of a run."""
    return (files("formalimg.runs") / "schema.sql").read_text(encoding="utf-8")


def _require_plausible(connection: UntrustedConnection) -> None:
    """Check the types, ranges, digests and file names of stored values in one pass."""
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
    """An item as a row of the `items` table."""

    id: str
    position: int
    level: int
    prompt: str
    formula: str
    tags: str
    question: str
    record: str


def item_row(position: int, item: Item[object], question: str) -> ItemRow:
    """Convert an item to a row of the `items` table."""
    tags = dumps_storable(list(item.tags))
    return ItemRow(item.id, position, item.level, item.prompt, formula_text(item), tags, question, encode_item(item))


class ImageRow(NamedTuple):
    """The result of a planned image as a row of the `pictures` table."""

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
    """Build the row for a planned image that has no file, including the reason."""
    if isinstance(answer, Unscored):
        # One line without keys: the detail quotes what came in place of an image.
        return ImageRow("too large" if answer.reason == "too large" else "unreadable", one_line(answer.detail))
    if isinstance(answer, Failed) and answer.absent:
        return ImageRow("absent", one_line(answer.reason))
    return ImageRow("refused" if isinstance(answer, Refused) else "failed", one_line(answer.reason))


def cost_columns(cost: float | None) -> tuple[float, int]:
    """Convert a cost to two columns: the known amount, and 1 if the price is unknown."""
    if cost is None:
        return 0.0, 1
    if not (isinstance(cost, int | float) and isfinite(cost) and cost >= 0):
        raise ValueError(f"a cost of {cost!r} US dollars is not valid")
    return cost, 0


class VerdictRow(NamedTuple):
    """A verdict, or the reason for its absence, as a row of the `verdicts` table."""

    passed: bool | None
    score: float | None
    reason: str
    detail: str
    parts: str
    evidence: str
    cost: float
    unpriced: int


def verdict_row(verdict: Verdict | Unscored) -> VerdictRow:
    """Convert a verdict to a row of the `verdicts` table."""
    if isinstance(verdict, Unscored):
        if verdict.reason not in get_args(UnscoredReason):
            raise TypeError(f"the judge gave the unknown reason {verdict.reason!r}")
        detail, evidence = one_line(verdict.detail), dumps_storable(dict(verdict.evidence))
        return VerdictRow(None, None, verdict.reason, detail, "[]", evidence, *cost_columns(verdict.cost))
    if not isinstance(verdict, Verdict):
        raise TypeError(f"the judge gave {type(verdict).__name__} instead of a verdict")
    parts = dumps_storable([part_to_json(part) for part in verdict.parts])
    evidence = dumps_storable(dict(verdict.evidence))
    return VerdictRow(bool(verdict.passed), verdict.score, "", "", parts, evidence, *cost_columns(verdict.cost))


# --- rows as checked values: a database may come from anywhere, and hold anything


class PlannedItem(NamedTuple):
    """An item of a run."""

    id: str  # its id in the suite
    level: int  # its level
    prompt: str  # the prompt sent to the model
    formula: str  # its formula as text; empty for suites without
    tags: tuple[str, ...]  # words to group items by


class RunCost(NamedTuple):
    """The cost of a run."""

    dollars: float  # in US dollars, as far as prices are known
    unpriced: int  # number of images and verdicts with an unknown price


class ExistingImage(NamedTuple):
    """An existing image, identified by its content key and file digest."""

    key: str
    sha256: str


class PlannedItems(Mapping[str, PlannedItem]):
    """A mapping from item id to planned item, in suite order, read from the database on access."""

    _COLUMNS = "SELECT id, level, prompt, formula, tags FROM items"

    def __init__(self, run: ImageQueries) -> None:
        self._run = run

    def __getitem__(self, id_: str) -> PlannedItem:
        for item in self._run.query(_read_item, f"{self._COLUMNS} WHERE id = :item", item=id_):
            return item
        raise KeyError(id_)

    def __iter__(self) -> Iterator[str]:
        return (item.id for item in self.stream())

    def __len__(self) -> int:
        ((count,),) = self._run.query(tuple, "SELECT count(*) FROM items")
        return int(count)

    def stream(self) -> Iterator[PlannedItem]:
        """Yield the items in suite order with a single query."""
        return self._run.query(_read_item, f"{self._COLUMNS} ORDER BY position")

    def values(self) -> ValuesView[PlannedItem]:
        """Return a view of the planned items."""
        return _StreamedValues(self)

    def items(self) -> ItemsView[str, PlannedItem]:
        """Return a view of the item ids and planned items."""
        return _StreamedItems(self)


class _StreamedValues(ValuesView[PlannedItem]):
    _mapping: PlannedItems

    def __iter__(self) -> Iterator[PlannedItem]:
        return self._mapping.stream()


class _StreamedItems(ItemsView[str, PlannedItem]):
    _mapping: PlannedItems

    def __iter__(self) -> Iterator[tuple[str, PlannedItem]]:
        return ((item.id, item) for item in self._mapping.stream())


def stored_name(value: object, name: str) -> str:
    """Return a stored identifier after validating it."""
    return stored_text(value, name, MAX_NAME)


def row_reader(**columns: Callable[[Any, str], Any]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that validates each value of a row with the reader for its column."""

    def read(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(check(value, name) for (name, check), value in zip(columns.items(), row, strict=True))

    return read


def _read_item(row: tuple[Any, ...]) -> PlannedItem:
    id_, level, prompt, formula, tags = row
    return PlannedItem(
        stored_name(id_, "id"),
        stored_integer(level, "level"),
        stored_text(prompt, "prompt"),
        stored_text(formula, "formula"),
        tuple(stored_name(tag, "tags") for tag in stored_json(tags, "tags", list)),
    )


def read_identity(row: tuple[Any, ...]) -> Identity:
    """Read the name and settings of a judge from a row."""
    name, text = row
    settings = stored_json(text, "settings", dict)
    for value in settings.values():
        if value is not None and not isinstance(value, str | int | float):
            raise wrong_value("settings", value)
    return Identity(stored_name(name, "name"), settings)


def read_part(value: object) -> Part:
    """Read one part of a verdict."""
    try:
        part = part_from_json(value)  # type: ignore[arg-type]  # what is not an object is caught here
    except (FormalimgError, LookupError, TypeError):
        raise wrong_value("parts", value) from None
    if not (abs(part.score) <= MAX_SCORE and 0 <= part.weight <= MAX_SCORE):
        raise wrong_value("parts", value)
    return part


def read_reason(text: str) -> UnscoredReason:
    """Parse the reason for an unscored image."""
    if text not in get_args(UnscoredReason):
        quoted = truncate(ascii(text), 60, 20)
        raise FormalimgError(f"an image is unscored for the unknown reason {quoted}: use the version that made the run")
    return text  # type: ignore[return-value]
