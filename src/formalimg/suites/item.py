"""Item: one instruction of a suite, and the order of items."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Spec_co = TypeVar("Spec_co", covariant=True)


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


def id_order(name: str) -> tuple[bool, int, str]:
    """Return the sort key of an id: numbers first and by value, then names."""
    return (False, int(name), name) if is_number(name) else (True, 0, name)


def is_number(name: str) -> bool:
    """Return whether an id is a plain number, as published ids are; `07` is not."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")


def in_order(items: Iterable[Item[Spec_co]]) -> list[Item[Spec_co]]:
    """Return the items sorted by suite and id."""
    return sorted(items, key=lambda item: (item.suite, id_order(item.id)))
