"""Statistics of items for the data sheet: levels, tags and contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows
from formalimg.benchmarks.hooks import format_level
from formalimg.benchmarks.loader import instruction_digest
from formalimg.benchmarks.registry import suite
from formalimg.types import Benchmark, Item


class ItemStatistics(NamedTuple):
    """Counts over a set of items."""

    suite: Benchmark  # the benchmark they belong to
    items: int  # how many there are
    version: str  # that of the suite; empty if the items carry none, or several
    digest: str  # of what they ask
    distinct: int  # how many different prompts there are
    levels: MarkdownTable  # items and words of a prompt for each level
    tags: MarkdownTable | None  # items for each set of tags; None if no item has any
    sheet: Datasheet  # what the items ask for, and what is said of them, in the terms of the suite


def count_items(name: str, items: Sequence[Item[Any]]) -> ItemStatistics:
    """Count levels, tags and contents of the items of a suite."""
    about = suite(name)
    versions = {item.version for item in items}
    levels = _levels(about, items)
    return ItemStatistics(
        about,
        len(items),
        versions.pop() if len(versions) == 1 else "",
        instruction_digest(items),
        len({item.prompt for item in items}),
        levels,
        _tags(items),
        about.datasheet(items) or Datasheet(levels),
    )


def _levels(about: Benchmark, items: Sequence[Item[Any]]) -> MarkdownTable:
    words: dict[int, list[int]] = {}
    for item in items:
        words.setdefault(item.level, []).append(len(item.prompt.split()))
    rows = (
        (format_level(about, level), f"{len(found):,}", str(min(found)), f"{median(found):g}", str(max(found)))
        for level, found in sorted(words.items())
    )
    return MarkdownTable(("level", "items", "fewest words", "median", "most words"), tuple(rows))


def _tags(items: Sequence[Item[Any]]) -> MarkdownTable | None:
    counts = Counter(", ".join(item.tags) for item in items)
    if set(counts) == {""}:
        return None
    return MarkdownTable(("tags", "items"), count_rows((tags or "none", counts[tags]) for tags in sorted(counts)))
