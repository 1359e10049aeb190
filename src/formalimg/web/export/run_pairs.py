"""Pairs of runs to compare in an export: those of the same suite, up to a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple, TypeAlias

from formalimg.web.viewer.site import READ_ERRORS, Site

Pair: TypeAlias = tuple[str, ...]  # The names of two runs
MAX_PAIRS = 60  # An export compares at most this many pairs of runs


class RunPairs(NamedTuple):
    """The pairs to compare, in order, and the number of pairs left out."""

    pairs: dict[Pair, None]
    left_out: int


def suites_of_runs(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the name and the suite of each readable run."""
    for found in site.runs():
        try:
            with site.open_found(found) as run:
                yield found.name, run.manifest.suite
        except READ_ERRORS:
            continue  # the first page shows why


def choose_pairs(suites: Mapping[str, str]) -> RunPairs:
    """Return the pairs of runs to compare, distributed evenly over the suites up to a limit."""
    queues = [
        list(combinations([run for run, of in suites.items() if of == suite], 2))
        for suite in dict.fromkeys(suites.values())
    ]
    longest = max(map(len, queues), default=0)
    turns = [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
    chosen = {*turns[:MAX_PAIRS]}
    ordered: dict[Pair, None] = {pair: None for queue in queues for pair in queue if pair in chosen}
    return RunPairs(ordered, len(turns) - len(ordered))
