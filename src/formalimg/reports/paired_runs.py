"""Runs of a suite compared in pairs, on the items that both have: the same numbers for reports and the viewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from formalimg.reports.comparison_model import HowCounted, SeenRun
from formalimg.reports.labels import level_name
from formalimg.runs.reader import StoredRun
from formalimg.runs.rows import PlannedItem
from formalimg.stats.comparison import (
    ItemMeans,
    PairedDifference,
    PairedItems,
    RankRange,
    adjust_for_all,
    group_means,
    item_rates,
    pair_items,
    rank_ranges,
)
from formalimg.stats.observations import Observation, ScoreObservation
from formalimg.types import Benchmark, RunRecord


class RunPair(NamedTuple):
    """One number of two runs, compared.

    Attributes:
        first, second: the names of the runs; the difference is the first minus the second.
        number: what is compared: a band, a level, or all of them.
        found: the difference. Its adjusted p-value is corrected for all pairs, number by number.
    """

    first: str
    second: str
    number: str
    found: PairedDifference


class PairedRuns(NamedTuple):
    """All comparisons of the runs of a suite.

    Attributes:
        headline: one for each pair: the number that runs are ranked by.
        details: the other bands, and the levels.
        ranks: the rank of each run, from all pairs; none where no pair has items in common.
    """

    headline: tuple[RunPair, ...]
    details: tuple[RunPair, ...]
    ranks: tuple[RankRange, ...]


def compare_in_pairs(suite: Benchmark, runs: Sequence[SeenRun], how: HowCounted, baseline: Path | None) -> PairedRuns:
    """Compare runs in pairs.

    Args:
        suite: the suite.
        runs: its runs.
        how: the rules by which numbers are made; they hold for comparisons too.
        baseline: the folder of the run that the others are compared with; by default all are compared with all.
    """
    reader = _PairReader(runs, how, of_groups=suite.has_scores)
    every = list(combinations(range(len(runs)), 2))
    shown = (baseline and _pairs_with(runs, baseline)) or every
    paired = {pair: reader.pair(*pair) for pair in {*every, *shown}}
    numbers = dict(_numbers(suite, list(paired.values()), how))
    headline, *details = numbers

    def compared(name: str, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], PairedDifference]:
        return dict(zip(pairs, adjust_for_all([numbers[name](paired[pair]) for pair in pairs]), strict=True))

    def named(found: Mapping[str, Mapping[tuple[int, int], PairedDifference]]) -> tuple[RunPair, ...]:
        return tuple(
            RunPair(runs[one].name, runs[other].name, name, found[name][one, other])
            for one, other in shown
            for name in found
        )

    # What is shown is adjusted for all that is shown; ranks need all pairs, and are adjusted for them.
    ranked = compared(headline, every)
    return PairedRuns(
        named({headline: compared(headline, shown)}),
        named({name: found for name in details if _has_any(found := compared(name, shown))}),
        rank_ranges(len(runs), ranked, confidence=how.confidence) if _has_any(ranked) else (),
    )


def _has_any(found: Mapping[tuple[int, int], PairedDifference]) -> bool:
    return any(one.estimate is not None for one in found.values())


def _pairs_with(runs: Sequence[SeenRun], baseline: Path) -> list[tuple[int, int]]:
    """Return each other run with the baseline; of several judges of the baseline, with the one it has itself."""
    of_baseline = [n for n, run in enumerate(runs) if run.record.folder.resolve() == baseline.resolve()]
    return [
        (n, min(of_baseline, key=lambda it: runs[it].record.manifest.judge != run.record.manifest.judge))
        for n, run in enumerate(runs)
        if of_baseline and n not in of_baseline
    ]


def _numbers(
    suite: Benchmark, paired: Sequence[PairedItems], how: HowCounted
) -> Iterator[tuple[str, Callable[[PairedItems], PairedDifference]]]:
    """Yield what is compared, by name: first what runs are ranked by, then the other bands, then the levels."""
    known = [{level for level, _ in pair.differences.values()} for pair in paired if pair.differences]
    levels = sorted(set().union(*known))

    def of(*chosen: int) -> Callable[[PairedItems], PairedDifference]:
        return lambda pair: pair.difference(chosen or None, confidence=how.confidence)

    if suite.has_scores:  # their bands are no means over groups
        yield "all levels", lambda pair: pair.group_difference(confidence=how.confidence)
    else:
        *bands, last = suite.bands or [""]
        if last and all(found.issuperset(suite.bands[last]) for found in known):
            yield last, of(*suite.bands[last])
        else:  # some pair has no item at a level of it
            yield "all items", of()
        for band in bands:
            yield band, of(*suite.bands[band])
    if len(levels) > 1:
        for level in levels:
            yield level_name(suite, level), of(level)


class _PairReader:
    """Reads what is compared of each run once."""

    def __init__(self, runs: Sequence[SeenRun], how: HowCounted, *, of_groups: bool) -> None:
        self._runs, self._how, self._of_groups = runs, how, of_groups
        self._whole: dict[int, ItemMeans] = {}

    def pair(self, one: int, other: int) -> PairedItems:
        first, second = self._runs[one].record, self._runs[other].record
        if has_same_items(first, second):
            return pair_items(self._means(one), self._means(other))
        same = same_items([first, second])
        # An item that asks something else under the same id stays on one side, and is left out for that.
        others = {*second.items} - same - {*first.items}
        return pair_items(self._means(one), self._means(other, {*same, *others}))

    def _means(self, number: int, among: set[str] | None = None) -> ItemMeans:
        """Return the means of a run, of all its items or some of them."""
        if among is None and number in self._whole:
            return self._whole[number]
        run, missing = self._runs[number], self._how.missing
        if self._of_groups:
            graded = (one for one in run.graded if among is None or one.item in among)
            found = group_means(
                (ScoreObservation(one.group, one.level, one.sample, one.counting) for one in graded), missing
            )
        else:
            images = (one for one in run.images if among is None or one.item in among)
            found = item_rates((Observation(one.item, one.level, one.passed) for one in images), missing)
        if among is None:
            self._whole[number] = found
        return found


# --- the same item in several runs


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
