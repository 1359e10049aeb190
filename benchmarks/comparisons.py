"""False alarms and power of comparisons between runs, by simulation: `python benchmarks/comparisons.py [TRIALS]`.

Two models are drawn over the same items; an item is as hard for both as their correlation says. Each way to call a
difference is asked whether it sees one: the sign-flip test of the reports, the sign test on wins and losses, McNemar's
test on the first image of each item, and whether the intervals of the two rates lie apart. Then eleven equal models
are compared with each other, with and without Holm's correction. Last, five models are compared in ten pairs, equal or
not: how often all of their adjusted intervals hold, and how often any difference is false.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.stats.comparison import PairedItems, adjust_for_all
from formalimg.stats.intervals import binomial_interval, item_clustered_interval, log_binomial_tail
from formalimg.stats.observations import PassCount
from formalimg.stats.permutation import holm, sign_flip_test

Array = NDArray[np.float64]
ALPHA = 0.05
LEVELS = 10


class Case(NamedTuple):
    """A kind of runs: how to draw the images of two of them at a difference, and which to compare them at.

    With levels, what is compared is Overall; `left_out` is the share of items without a verdict in one of the runs.
    """

    name: str
    draw: Callable[[np.random.Generator, float], tuple[Array, Array]]
    differences: tuple[float, ...]
    has_levels: bool = False
    left_out: float = 0.0


def passes(items: int, images: int, alike: float) -> Callable[[np.random.Generator, float], tuple[Array, Array]]:
    """Return a way to draw the images of two runs, over ten levels whose rates fall from 0.95 to 0.15."""

    def draw(chance: np.random.Generator, difference: float) -> tuple[Array, Array]:
        rates = np.repeat(np.linspace(0.95, 0.15, LEVELS), items // LEVELS)
        hardness = np.where(chance.random(items) < alike, chance.random(items), np.nan)
        both = []
        for shift in (difference / 2, -difference / 2):
            own = chance.random((items, images))
            # For some items the luck is that of the item, for both models; for the others that of each image.
            luck = np.where(np.isnan(hardness)[:, None], own, 0.8 * hardness[:, None] + 0.2 * own)
            both.append((luck < np.clip(rates + shift, 0, 1)[:, None]).astype(np.float64))
        return both[0], both[1]

    return draw


def scores(groups: int) -> Callable[[np.random.Generator, float], tuple[Array, Array]]:
    """Return a way to draw scores of CF-World: many are 0 or 1, the others in between, in steps of 1/26."""

    def draw(chance: np.random.Generator, difference: float) -> tuple[Array, Array]:
        hardness = chance.random(groups)
        both = []
        for shift in (difference, 0.0):
            raw = np.where(chance.random(groups) < 0.6, hardness, chance.random(groups))
            score = np.clip(np.round((raw * 1.6 - 0.3) * 26) / 26, 0, 1)
            moved = np.where(chance.random(groups) < shift * 2, np.maximum(score, 0.5 + score / 2), score)
            both.append(moved[:, None])
        return both[0], both[1]

    return draw


def uneven(items: int) -> Callable[[np.random.Generator, float], tuple[Array, Array]]:
    """Return a way to draw runs of equal means, one of which is a little better on most items and far worse on few."""

    def draw(chance: np.random.Generator, difference: float) -> tuple[Array, Array]:
        worse = chance.random(items) < 0.25
        rates = np.where(worse, 0.125, 0.625), np.where(worse, 0.5 + 0.375, 0.375 - difference)
        one, other = ((chance.random((items, 4)) < rate[:, None]).astype(np.float64) for rate in rates)
        return one, other

    return draw


CASES = (
    Case("one image, 200 items", passes(200, 1, 0.5), (0.0, 0.06, 0.1), True),
    Case("one image, 200, some missing", passes(200, 1, 0.5), (0.0, 0.1), True, 0.1),
    Case("one image, 2,000 items", passes(2000, 1, 0.5), (0.0, 0.03), True),
    Case("four images, 50 items", passes(50, 4, 0.5), (0.0, 0.1), True),
    Case("four images, 200 items", passes(200, 4, 0.5), (0.0, 0.03, 0.06), True),
    Case("four images, uneven", uneven(200), (0.0,)),
    Case("scores, 20 groups", scores(20), (0.0, 0.3)),
    Case("scores, 270 groups", scores(270), (0.0, 0.1, 0.15)),
)


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{trials} trials each, four times as many without a difference")
    print("share of trials in which a difference is seen (at 0: a false alarm), and coverage of its interval")
    print(f"{'case':32}{'true':>6} {'flip':>6} {'sign':>6} {'McNemar':>8} {'overlap':>8} {'covers':>7} {'agrees':>7}")
    for case in CASES:
        for difference in case.differences:
            # False alarms are rare, and need more trials.
            print_case(case, difference, trials if difference else 4 * trials)
    print_holm(trials)
    print_families(trials)


def print_case(case: Case, difference: float, trials: int) -> None:
    chance = np.random.default_rng(20)
    truth = true_difference(case, difference)
    seen: list[tuple[bool, ...]] = []
    for _ in range(trials):
        one, other = case.draw(chance, difference)
        kept = chance.random(len(one)) >= case.left_out
        apart = [float(each) for each in (one.mean(axis=1) - other.mean(axis=1))[kept]]
        levels = (np.arange(len(one)) * LEVELS // len(one))[kept]
        items = {f"{n:05}": (int(levels[n]), each) for n, each in enumerate(apart)}
        found = PairedItems(items, {}).difference(range(LEVELS) if case.has_levels else None)
        assert found.p is not None
        assert found.interval is not None
        flipped, (low, high) = found.p <= ALPHA, found.interval
        firsts = [float(each) for each in one[:, 0] - other[:, 0]]
        seen.append(
            (
                flipped,
                sign_test(apart) <= ALPHA,
                sign_test(firsts) <= ALPHA,
                intervals_apart(one, other),
                low <= truth <= high,
                flipped == (not low <= 0 <= high),
            )
        )
    shares = np.mean(np.array(seen, dtype=np.float64), axis=0)
    flip, sign, mcnemar, overlap, covers, agrees = (float(share) for share in shares)
    of_first = f"{mcnemar:8.3f}" if "scores" not in case.name else f"{'–':>8}"
    print(
        f"{case.name:32}{truth:6.3f} {flip:6.3f} {sign:6.3f} {of_first} {overlap:8.3f} {covers:7.3f} {agrees:7.3f}",
        flush=True,
    )


def true_difference(case: Case, difference: float) -> float:
    """Return the mean difference of the models, from many runs."""
    if difference == 0:
        return 0.0
    chance = np.random.default_rng(21)
    drawn = [case.draw(chance, difference) for _ in range(1000)]
    return float(np.mean([one.mean() - other.mean() for one, other in drawn]))


def sign_test(apart: Sequence[float]) -> float:
    """Return the p-value of the exact sign test on wins and losses."""
    wins, losses = sum(each > 1e-9 for each in apart), sum(each < -1e-9 for each in apart)
    if wins == losses:
        return 1.0
    return min(1.0, 2 * exp(log_binomial_tail(max(wins, losses), wins + losses, log(0.5))))


def intervals_apart(one: Array, other: Array) -> bool:
    """Return whether the 95 % intervals of the two rates or means do not overlap."""
    found = []
    for run in (one, other):
        if np.all((run == 0) | (run == 1)):
            sums = run.sum(axis=1).astype(int)
            kinds = {
                PassCount(int(k), run.shape[1]): int(n)
                for k, n in zip(*np.unique(sums, return_counts=True), strict=True)
            }
            found.append(item_clustered_interval(kinds, 1 - ALPHA))
        else:
            found.append(binomial_interval(float(run.mean()) * len(run), len(run), 1 - ALPHA))
    return found[0].low > found[1].high or found[1].low > found[0].high


def print_holm(trials: int) -> None:
    """Print how often eleven equal models show any difference."""
    print("\neleven equal runs: share of reports that show any difference")
    for name, images, items in (("one image, 200 items", 1, 200), ("four images, 50 items", 4, 50)):
        chance = np.random.default_rng(22)
        plain = corrected = 0
        for _ in range(max(trials // 2, 1)):
            hardness = chance.random(items)
            rates = np.repeat(np.linspace(0.95, 0.15, LEVELS), items // LEVELS)
            luck = np.where(chance.random(items) < 0.5, hardness, np.nan)
            own = chance.random((11, items, images))
            mixed = np.where(np.isnan(luck)[None, :, None], own, 0.8 * luck[None, :, None] + 0.2 * own)
            means = (mixed < rates[None, :, None]).mean(axis=2)
            found = [sign_flip_test(list(map(float, means[a] - means[b]))) for a in range(11) for b in range(a)]
            plain += min(found) <= ALPHA
            corrected += min(holm(found)) <= ALPHA
        total = max(trials // 2, 1)
        print(f"{name:32} as they are {plain / total:.3f}, by Holm {corrected / total:.3f}", flush=True)


FAMILIES = {
    "all equal": (0.0,) * 5,
    "two equal, others far apart": (0.0, 0.0, 0.25, 0.5, 0.75),
    "two equal, others near": (0.0, 0.0, 0.08, 0.16, 0.24),
    "all far apart": (0.0, 0.18, 0.36, 0.54, 0.72),
    "all near": (0.0, 0.04, 0.08, 0.12, 0.16),
}
"""How much better each of five models is than the first."""


def print_families(trials: int) -> None:
    """Print how often the adjusted intervals of ten pairs hold all at once."""
    print("\nfive runs, ten pairs: share of reports in which all intervals hold the truth, at 95 % and adjusted; in")
    print("which any difference is significant that is none; and mean width of the adjusted intervals in points")
    print(
        f"{'models':30}{'images':>7}{'items':>6} {'single':>7} {'all hold':>9} {'false':>6} {'agree':>6} {'width':>6}"
    )
    for name, shifts in FAMILIES.items():
        for images, items in ((1, 200), (4, 50), (4, 200)):
            print_family(name, shifts, images, items, trials)


def print_family(name: str, shifts: Sequence[float], images: int, items: int, trials: int) -> None:
    chance = np.random.default_rng(23)
    pairs = [(one, other) for one in range(len(shifts)) for other in range(one)]
    rates = [true_rate(0.1 + shift) for shift in shifts]
    truths = [rates[one] - rates[other] for one, other in pairs]
    seen: list[tuple[float, ...]] = []
    for _ in range(trials):
        hardness, own = chance.random(items), chance.random((len(shifts), items, images))
        # Half of the luck of an image is that of its item, for all models.
        luck = np.where((chance.random(items) < 0.5)[None, :, None], 0.8 * hardness[None, :, None] + 0.2 * own, own)
        means = (luck < 0.1 + np.array(shifts)[:, None, None]).mean(axis=2)
        differences = [
            PairedItems({str(n): (1, float(each)) for n, each in enumerate(means[one] - means[other])}, {}).difference()
            for one, other in pairs
        ]
        adjusted = adjust_for_all(differences)
        intervals = [found.interval for found in adjusted if found.interval is not None]
        significant = [found.adjusted_p is not None and found.adjusted_p <= ALPHA for found in adjusted]
        seen.append(
            (
                all(
                    found.interval is not None and found.interval.low <= truth <= found.interval.high
                    for found, truth in zip(differences, truths, strict=True)
                ),
                all(low <= truth <= high for (low, high), truth in zip(intervals, truths, strict=True)),
                any(is_found and not truth for is_found, truth in zip(significant, truths, strict=True)),
                all(
                    is_found != (low <= 0 <= high) for is_found, (low, high) in zip(significant, intervals, strict=True)
                ),
                100 * sum(high - low for low, high in intervals) / len(intervals),
            )
        )
    single, hold, false, agree, width = np.mean(np.array(seen), axis=0)
    print(f"{name:30}{images:7}{items:6} {single:7.3f} {hold:9.3f} {false:6.3f} {agree:6.3f} {width:6.1f}", flush=True)


def true_rate(threshold: float) -> float:
    """Return the chance that an image passes whose luck is that of `print_family`."""
    mixed = (
        np.add.outer(0.8 * (np.arange(2000) + 0.5) / 2000, 0.2 * (np.arange(2000) + 0.5) / 2000) < threshold
    ).mean()
    return float(0.5 * mixed + 0.5 * threshold)


if __name__ == "__main__":
    main()
