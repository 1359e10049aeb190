"""Item: one instruction of a suite; FiledItem: one that stays in its file until it is needed; the order of items."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

Spec_co = TypeVar("Spec_co", covariant=True)

_DECODED = 256
"""So many items of one file are kept decoded: those that are being generated and judged."""


@dataclass(frozen=True)
class Item(Generic[Spec_co]):
    """One instruction of a suite.

    Attributes:
        suite: name of the suite it belongs to.
        id: name in the suite; valid as a file name.
        level: difficulty (K for FormalImg).
        prompt: text sent to the image model.
        spec: what the image must show, in the type of the suite's kind.
        tags: labels to select and group items by.
        version: version of the suite; empty for data without one, such as the published folders.
    """

    suite: str
    id: str
    level: int
    prompt: str
    spec: Spec_co
    tags: tuple[str, ...] = ()
    version: str = ""


class ItemRecords(ABC):
    """The records of a suite's items, by number; each is read and decoded when it is asked for."""

    def __init__(self) -> None:
        self.fields = lru_cache(_DECODED)(self._read_fields)
        self.spec = lru_cache(_DECODED)(self.read_spec)

    @abstractmethod
    def line(self, number: int) -> bytes:
        """Return the record of an item as it is stored.

        Raises:
            FormalimgError: if it cannot be read any more, or has changed.
        """

    @abstractmethod
    def read_spec(self, number: int) -> Any:
        """Return the specification in a record; a record that nobody has checked is checked first.

        Raises:
            ItemsError: if it is not valid.
        """

    @abstractmethod
    def is_canonical(self, number: int) -> bool:
        """Return whether a record is known to be valid, and is what `encode_item` would write."""

    def _read_fields(self, number: int) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.line(number))
        return fields


class _InRecord:
    """An attribute that is read from the record, unless the instance has a value of its own (`dataclasses.replace`)."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, item: FiledItem | None, owner: type) -> Any:
        if item is None:
            raise AttributeError(self._name)  # so that it is no default of the field
        if self._name == "prompt":
            return item.records.fields(item.number)["prompt"]
        return item.records.spec(item.number)


class FiledItem(Item[Any]):
    """An item that knows its id, level, tags and version, and reads the rest when it is asked for it.

    It equals the `Item` with the same values, and is pickled as one.
    """

    records: ItemRecords
    number: int
    prompt = _InRecord()
    spec = _InRecord()

    @classmethod
    def of(
        cls, records: ItemRecords, number: int, suite: str, id_: str, level: int, tags: tuple[str, ...], version: str
    ) -> FiledItem:
        """Return the item of a record."""
        item = cls.__new__(cls)
        # In place of the constructor, which would want prompt and spec. Not by `__dict__`, which would take memory.
        put = object.__setattr__
        put(item, "suite", suite)
        put(item, "id", id_)
        put(item, "level", level)
        put(item, "tags", tags)
        put(item, "version", version)
        put(item, "records", records)
        put(item, "number", number)
        return item

    @property
    def is_canonical(self) -> bool:
        """Whether the record is known to be valid, and what `encode_item` would write."""
        records = getattr(self, "records", None)  # copies with other values have none
        return records is not None and records.is_canonical(self.number)

    def _values(self) -> tuple[Any, ...]:
        return self.suite, self.id, self.level, self.prompt, self.spec, self.tags, self.version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        own = self.suite, self.id, self.level, self.tags, self.version
        if own != (other.suite, other.id, other.level, other.tags, other.version):
            return False
        return bool(self.prompt == other.prompt and self.spec == other.spec)

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> tuple[type[Item[Any]], tuple[Any, ...]]:
        return Item, self._values()


def id_order(name: str) -> tuple[bool, int, str]:
    """Return the sort key of an id: numbers first and by value, then names."""
    return (False, int(name), name) if is_number(name) else (True, 0, name)


def is_number(name: str) -> bool:
    """Return whether an id is a plain number, as published ids are; `07` is not."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")


def in_order(items: Iterable[Item[Spec_co]]) -> list[Item[Spec_co]]:
    """Return the items sorted by suite and id."""
    return sorted(items, key=lambda item: (item.suite, id_order(item.id)))
