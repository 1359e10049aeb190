"""Labels beside a figure that must not run into each other."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wanted: Sequence[float], apart: float, top: float, bottom: float) -> list[float]:
    """Heights as near as possible to those wanted, which are sorted, at least `apart` from each other.

    Heights that are too near are moved together, as a block around their common middle, until no two blocks
    overlap. Where there is not room enough between top and bottom, the labels stand closer.
    """
    if not wanted:
        return []
    apart = min(apart, (bottom - top) / max(1, len(wanted) - 1))
    blocks: list[list[float]] = []  # of heights wanted
    for height in wanted:
        blocks.append([height])
        while (
            len(blocks) > 1 and _first(blocks[-1], apart, top, bottom) < _last(blocks[-2], apart, top, bottom) + apart
        ):
            later = blocks.pop()
            blocks[-1].extend(later)
    return [_first(block, apart, top, bottom) + number * apart for block in blocks for number, _ in enumerate(block)]


def _first(block: Sequence[float], apart: float, top: float, bottom: float) -> float:
    extent = apart * (len(block) - 1)
    middle = sum(block) / len(block)
    return min(max(middle - extent / 2, top), bottom - extent)


def _last(block: Sequence[float], apart: float, top: float, bottom: float) -> float:
    return _first(block, apart, top, bottom) + apart * (len(block) - 1)
