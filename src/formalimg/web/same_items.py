"""Which items are the same in several runs: those of another collection may be called alike and ask something else."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.runs import PlannedItem, StoredRun


def is_same_item(run: StoredRun, item: PlannedItem, other: StoredRun) -> bool:
    """Does another run ask the same under the same id?"""
    there = other.item(item.id)
    return there is not None and (_ask_the_same(run, other) or _asked(there) == _asked(item))


def same_items(runs: Sequence[StoredRun]) -> set[str]:
    """The ids under which all runs ask the same."""
    first, *others = runs
    same = set(first.items)
    for other in others:
        if _ask_the_same(first, other):
            continue
        there = other.items
        same = {name for name in same if name in there and _asked(there[name]) == _asked(first.items[name])}
    return same


def _ask_the_same(run: StoredRun, other: StoredRun) -> bool:
    return run.manifest.items_digest == other.manifest.items_digest


def _asked(item: PlannedItem) -> tuple[int, str]:
    return item.level, item.formula or item.prompt
