"""Facts: what a sentence says of the places and sizes of things."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A geometric predicate of one or two things, by their numbers."""

    predicate: str
    things: tuple[int, ...]
