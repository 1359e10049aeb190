"""Adaptive runs: how often the interval of G covers it, and how many images that takes, for published and bad curves.

Each repetition draws the verdicts of a run from the curve and lets the adaptive test look at them. Beside it stands the
interval of a run with all images. Then comparisons of two models: how often equal ones are separated, how often and how
soon different ones are, and how often the interval covers, beside an e-process that bets on the next discordant item.
"""

from __future__ import annotations

import argparse
from math import lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.reports.published import reference_rows
from formalimg.stats.intervals import EffectiveCount
from formalimg.stats.sequential import AdaptiveDesign, look_sizes, passes_to_cross
from formalimg.stats.sequential_pairs import PairedDesign, PairedTest
from formalimg.stats.summary import generalizability, generalizability_interval

EPSILON, PER_LEVEL, CONFIDENCE = 0.7, 200, 0.95

PUBLISHED = (
    ("natural", "Gemini-3-Pro-Image"),
    ("natural", "GPT-Image-1.5"),
    ("natural", "SDXL"),
    ("knolling", "Gemini-3-Pro-Image"),
    ("knolling", "GPT-Image-1.5"),
    ("knolling", "BAGEL"),
)
HOSTILE = {
    "not monotone": (0.9, 0.72, 0.85, 0.71, 0.95, 0.66, 0.9, 0.9, 0.9, 0.9),
    "flat at 0.7": (0.7,) * 10,
    "step after 5": (0.95,) * 5 + (0.3,) * 5,
}
PAIRS = ((0.2, 0.0), (0.4, 0.0), (0.25, 0.03), (0.25, 0.05), (0.3, 0.1), (0.4, 0.2))
"""The share of items that two models differ on, and by how much the first is better."""

FULL_SAMPLE = 200
"""Repetitions for which the interval of the full run is computed too, for its width."""


class Found(NamedTuple):
    """What the repetitions gave: ends of the intervals, and images looked at."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    images: NDArray[np.int64]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20_000, help="repetitions per curve (default 20,000)")
    options.add_argument("--pairs", type=int, default=1000, help="repetitions per comparison (default 1,000)")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    draw = np.random.default_rng(given.seed)
    curves = {f"{model}, {suite}": _published(suite, model) for suite, model in PUBLISHED} | HOSTILE
    print(f"G at {EPSILON:g}, 10 levels of {PER_LEVEL} images, {given.runs:,} runs per curve, interval of 95 %\n")
    print("| curve | G | coverage | images | of 2,000 | 90 % of runs | levels in the interval | with all images |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, rates in curves.items():
        true = generalizability(dict(enumerate(rates, 1)), EPSILON)
        found = simulate(np.array(rates), given.runs, draw)
        covered = np.mean((found.low <= true) & (true <= found.high))
        images = found.images
        print(
            f"| {name} | {true} | {covered:.4f} | {images.mean():.0f} | {images.mean() / (10 * PER_LEVEL):.0%} | "
            f"{np.quantile(images, 0.9):.0f} | {np.mean(found.high - found.low + 1):.2f} | "
            f"{full_width(np.array(rates), draw):.2f} |"
        )
    compare_models(given.pairs, draw)


def _published(suite: str, model: str) -> tuple[float, ...]:
    row = next(row for row in reference_rows(suite) if row.model == model and row.source == "FormalImg, Table 1")
    return tuple(row.rates[level] for level in sorted(row.rates))


def simulate(rates: NDArray[np.float64], runs: int, draw: np.random.Generator) -> Found:
    """Let the test of `formalimg run --adaptive` look at so many runs with these true rates."""
    design = AdaptiveDesign(dict.fromkeys(range(1, len(rates) + 1), PER_LEVEL), EPSILON)
    looks = look_sizes(PER_LEVEL, design.every)
    enough = np.array(passes_to_cross(looks, PER_LEVEL, EPSILON, (1 - design.confidence) / 2))
    too_many = np.array(
        passes_to_cross(looks, PER_LEVEL, 1 - EPSILON, (1 - design.confidence) / 2 / len(design.images))
    )
    sizes = np.array(looks)
    low, high = np.zeros(runs, int), np.full(runs, len(rates))
    images, climbing, all_held = np.zeros(runs, int), np.ones(runs, bool), np.ones(runs, bool)
    for level, rate in enumerate(rates, 1):
        passed = draw.binomial(np.diff(sizes, prepend=0), rate, (runs, len(looks))).cumsum(axis=1)
        held, lost = passed >= enough, sizes - passed >= too_many
        decided = held | lost
        last = np.where(decided.any(axis=1), decided.argmax(axis=1), len(looks) - 1)
        each = np.arange(runs)
        images[climbing] += sizes[last[climbing]]
        all_held &= climbing & held[each, last]
        low[all_held] = level
        is_lost = climbing & lost[each, last] & ~held[each, last]
        high[is_lost] = level - 1
        climbing &= ~is_lost
    return Found(low, high, images)


def full_width(rates: NDArray[np.float64], draw: np.random.Generator) -> float:
    """Return the mean number of levels in the interval of G of runs with all images."""
    widths = []
    for _ in range(FULL_SAMPLE):
        passed = draw.binomial(PER_LEVEL, rates)
        counts = {level: EffectiveCount(float(n), PER_LEVEL) for level, n in enumerate(passed, 1)}
        low, high = generalizability_interval(counts, EPSILON, CONFIDENCE)
        widths.append(high - low + 1)
    return float(np.mean(widths))


def compare_models(runs: int, draw: np.random.Generator) -> None:
    """Print type-I error, power, items and coverage of `--adaptive --against` over the items of a suite."""
    items = 10 * PER_LEVEL
    print(f"\ntwo models on {items:,} items, {runs:,} comparisons each, 95 %\n")
    print("| differ on | difference | separated | items | given up | coverage | separated by bets | items |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for differ, better in PAIRS:
        separated, given_up, covered, used, by_bets, bets = [], [], [], [], [], []
        for _ in range(runs):
            seen = draw.choice((1, -1, 0), items, p=((differ + better) / 2, (differ - better) / 2, 1 - differ))
            wins, losses = (seen == 1).cumsum(), (seen == -1).cumsum()
            test = PairedTest(PairedDesign(items))
            while (needs := test.needs) is not None:
                test.look(int(wins[needs - 1]), int(losses[needs - 1]), needs)
            found = test.result()
            separated.append(found.decision in ("better", "worse"))
            given_up.append(found.decision == "hopeless")
            used.append(found.counted)
            if found.interval is not None:
                covered.append(found.interval.low <= better <= found.interval.high)
            stopped = bet(wins, losses)
            by_bets.append(stopped is not None)
            bets.append(stopped or items)
        print(
            f"| {differ:.0%} | {100 * better:+.0f} | {np.mean(separated):.3f} | {np.mean(used):.0f} | "
            f"{np.mean(given_up):.3f} | {np.mean(covered):.3f} | {np.mean(by_bets):.3f} | {np.mean(bets):.0f} |"
        )


_LOG_FACTORIALS = np.array([lgamma(n + 1) for n in range(10 * PER_LEVEL + 2)])


def bet(wins: NDArray[np.int64], losses: NDArray[np.int64]) -> int | None:
    """Return after how many items bets on the next discordant one have won 20-fold; None if they never do.

    Each bet follows the share of wins so far (the mixture over all shares), as always-valid tests do.
    """
    trials = wins + losses
    capital = trials * log(2) + _LOG_FACTORIALS[wins] + _LOG_FACTORIALS[losses] - _LOG_FACTORIALS[trials + 1]
    reached = capital >= log(1 / (1 - CONFIDENCE))
    return int(reached.argmax()) + 1 if reached.any() else None


if __name__ == "__main__":
    main()
