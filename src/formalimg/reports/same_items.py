"""Items that are the same in several runs: they have the same id and ask for the same."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.runs.database import PlannedItem
from formalimg.runs.reader import StoredRun
from formalimg.types import RunRecord


def is_same_item(run: RunRecord, item: PlannedItem, other: StoredRun) -> bool:
    """Return whether another run has the same item under the same id."""
    there = other.item(item.id)
    return there is not None and (has_same_items(run, other) or _requirement(there) == _requirement(item))


def same_items(runs: Sequence[RunRecord]) -> set[str]:
    """Return the ids that stand for the same item in all runs."""
    first, *others = runs
    same = set(first.items)
    for other in others:
        if has_same_items(first, other):
            continue
        there = other.items
        same = {name for name in same if name in there and _requirement(there[name]) == _requirement(first.items[name])}
    return same


def has_same_items(run: RunRecord, other: RunRecord) -> bool:
    """Return whether two runs are over the same items throughout."""
    return run.manifest.items_digest == other.manifest.items_digest


def _requirement(item: PlannedItem) -> tuple[int, str]:
    return item.level, item.formula or item.prompt
