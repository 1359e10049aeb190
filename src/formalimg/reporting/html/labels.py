"""Labels beside a figure that must not run into each other, nor out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from formalimg.reporting.figures import cut


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """Names of so many letters at most; those that are too long lose first what all of them begin with.

    Cut at the end alone, the names of several versions of one model would all look the same.
    """
    long = {name for name in names if len(name) > longest}
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False)) if len(long) > 1 else ()
    whole_words = re.match(r".*[/\-_ ,]", "".join(letters[0] for letters in alike))
    common = len(whole_words[0]) if whole_words else 0
    return [cut(f"…{name[common:]}" if common and name in long else name, longest) for name in names]


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
