"""Facts: what a sentence says of the places and sizes of objects."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A geometric predicate of one or two objects, by their numbers."""

    predicate: str
    objects: tuple[int, ...]
