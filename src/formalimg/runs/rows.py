"""Rows of a run's database as checked values: a database may come from anywhere, and hold anything."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, NamedTuple, get_args

from formalimg._util.strict_json import (
    MAX_NAME,
    StoredValueError,
    stored_digest,
    stored_integer,
    stored_json,
    stored_number,
    stored_text,
    wrong_value,
)
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges.base import UnscoredReason, part_from_json
from formalimg.runs.manifest import Identity
from formalimg.runs.queries import MAX_SCORE, RunQuery
from formalimg.types import Part


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
    """An image that exists: its content key, and the digest of its file."""

    key: str
    sha256: str


class PlannedItems(Mapping[str, PlannedItem]):
    """The items of a run by id, in the order of the suite; read from the database whenever they are needed."""

    _COLUMNS = "SELECT id, level, prompt, formula, tags FROM items"

    def __init__(self, query: RunQuery) -> None:
        self._query = query

    def __getitem__(self, id_: str) -> PlannedItem:
        for item in self._query(planned_item, f"{self._COLUMNS} WHERE id = :item", item=id_):
            return item
        raise KeyError(id_)

    def __iter__(self) -> Iterator[str]:
        return (item.id for item in self.stream())

    def __len__(self) -> int:
        (count,) = self._query(lambda row: int(row[0]), "SELECT count(*) FROM items")
        return count

    def stream(self) -> Iterator[PlannedItem]:
        """Yield the items in their order, by one query."""
        return self._query(planned_item, f"{self._COLUMNS} ORDER BY position")

    def values(self) -> ValuesView[PlannedItem]:
        """Return a view of the items."""
        return _StreamedValues(self)

    def items(self) -> ItemsView[str, PlannedItem]:
        """Return a view of ids and items."""
        return _StreamedItems(self)


class _StreamedValues(ValuesView[PlannedItem]):
    _mapping: PlannedItems

    def __iter__(self) -> Iterator[PlannedItem]:
        return self._mapping.stream()


class _StreamedItems(ItemsView[str, PlannedItem]):
    _mapping: PlannedItems

    def __iter__(self) -> Iterator[tuple[str, PlannedItem]]:
        return ((item.id, item) for item in self._mapping.stream())


def planned_item(row: tuple[Any, ...]) -> PlannedItem:
    """Return the row of an item."""
    id_, level, prompt, formula, tags = row
    return PlannedItem(
        stored_text(id_, "id", MAX_NAME),
        stored_integer(level, "level"),
        stored_text(prompt, "prompt"),
        stored_text(formula, "formula"),
        tuple(stored_text(tag, "tags", MAX_NAME) for tag in stored_json(tags, "tags", list)),
    )


def item_record(row: tuple[Any, ...]) -> tuple[str, int, str]:
    """Return id, level and record of an item."""
    id_, level, record = row
    return stored_text(id_, "id", MAX_NAME), stored_integer(level, "level"), stored_text(record, "record")


def run_cost(row: tuple[Any, ...]) -> RunCost:
    """Return the cost of a run; raise if a row holds what no cost can be."""
    dollars, unpriced, impossible = row
    if impossible:
        raise StoredValueError("a cost cannot be that")
    return RunCost(stored_number(dollars, "cost"), stored_integer(unpriced, "unpriced"))


def row_seconds(row: tuple[Any, ...]) -> float:
    """Return how many seconds an image took."""
    return stored_number(row[0], "seconds")


def match_count(row: tuple[Any, ...]) -> tuple[str, int]:
    """Return a way in which premade images were matched, and how many; of images that were made, an empty text."""
    way, count = row
    return way if isinstance(way, str) else "", stored_integer(count, "count")


def judge_identity(row: tuple[Any, ...]) -> Identity:
    """Return name and settings of a judge."""
    name, settings = row
    found = stored_json(settings, "settings", dict)
    for value in found.values():
        if value is not None and not isinstance(value, str | int | float):
            raise wrong_value("settings", value)
    return Identity(stored_text(name, "name", MAX_NAME), found)


def existing_image(row: tuple[Any, ...]) -> tuple[tuple[str, int], ExistingImage]:
    """Return item and sample of an image that exists, with its key and digest."""
    item, sample, key, sha256 = row
    place = stored_text(item, "item", MAX_NAME), stored_integer(sample, "sample")
    return place, ExistingImage(stored_text(key, "key", MAX_NAME), stored_digest(sha256, "sha256"))


def question_and_image(row: tuple[Any, ...]) -> tuple[str, str]:
    """Return the question of a verdict, and the digest of its image."""
    question, image = row
    return stored_text(question, "question", MAX_NAME), stored_text(image, "picture", MAX_NAME)


def verdict_part(found: object) -> Part:
    """Return a part of a verdict."""
    try:
        part = part_from_json(found)  # type: ignore[arg-type]  # what is not an object is caught here
    except (FormalimgError, LookupError, TypeError):
        raise wrong_value("parts", found) from None
    if not (abs(part.score) <= MAX_SCORE and 0 <= part.weight <= MAX_SCORE):
        raise wrong_value("parts", found)
    return part


def unscored_reason(text: str) -> UnscoredReason:
    """Return why an image has no verdict."""
    if text not in get_args(UnscoredReason):
        shown = truncate(ascii(text), 60, 20)
        raise FormalimgError(f"an image is unscored for the unknown reason {shown}: use the version that made the run")
    return text  # type: ignore[return-value]
