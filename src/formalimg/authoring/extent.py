"""How much is written."""

from __future__ import annotations

from typing import NamedTuple


class Extent(NamedTuple):
    """How much is written: which levels, how many items of each, and how often each is tried."""

    levels: tuple[int, ...]
    per_level: int
    attempts: int
