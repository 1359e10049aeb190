"""Errors and power of `formalimg gate`, beside a threshold on the rate: `python benchmarks/gate.py [--runs N]`.

Each simulated pipeline compares a new model with its baseline on the same items, one image each, ten levels of equal
weight. Both pass or both fail most items; on the share `--differ` one of them passes alone. The gate decides once with
all items (fixed), or after each of five equal batches (looks), by the functions of the command. Printed for each true
difference and number of items: how often it passes and says worse (the rest: it cannot tell), and the images that the
looks made. Beside it stands the rule that teams write themselves: alarm if the rate dropped by more than the margin.

The last table has a judge that treats the new model better than people do, and labels of some items in both runs.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.stats.comparison import MeanError, PairedDifference, PairedItems
from formalimg.stats.corrected_difference import PairedItem, estimate_corrected_difference
from formalimg.stats.sequential_pairs import GateDecision, decide_gate, look_alpha

LEVELS = tuple(range(1, 11))
ITEMS = (200, 500, 1_000, 2_000, 4_000)
LOOKS = 5
MARGIN = 0.02
DIFFERENCES = (0.0, -0.02, -0.05, -0.1)
LENIENCY = 0.06
"""By how many points more the judge's rate of the new model is too high than that of the baseline."""

Signs = NDArray[np.int64]


class Shares(NamedTuple):
    """How often each outcome came, and the mean number of images made."""

    outcomes: Counter[str]
    runs: int
    images: float

    def cells(self) -> str:
        return " | ".join(f"{self.outcomes[outcome] / self.runs:.3f}" for outcome in ("pass", "worse"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000, help="simulated pipelines for each row (default 2,000)")
    parser.add_argument("--differ", type=float, default=0.25, help="share of items on which the models differ")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = np.random.default_rng(options.seed)
    require_same(generator)

    print(f"margin {100 * MARGIN:g} points, {options.runs:,} pipelines a row, models differ on {options.differ:.0%}\n")
    print("| true | items | pass | worse | looks: pass | worse | images | threshold alarms |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = [(mean, max(options.differ, abs(mean))) for mean in DIFFERENCES] + [(-MARGIN, MARGIN)]
    for mean, differ in rows:
        for items in ITEMS:
            signs = draw_signs(generator, mean, differ, items, options.runs)
            fixed = tally(signs, lambda row: [decide_gate(difference(row), MARGIN)])
            looks = tally(signs, look_again)
            alarms = float(np.mean(signs.mean(axis=1) < -MARGIN))
            only = ", losses alone" if differ == abs(mean) else ""
            print(
                f"| {100 * mean:+.0f}{only} | {items:,} | {fixed.cells()} | {looks.cells()} | {looks.images:,.0f} | "
                f"{alarms:.3f} |",
                flush=True,
            )
    compare_labels(generator, max(1, options.runs // 4), options.differ)


def draw_signs(generator: np.random.Generator, mean: float, differ: float, items: int, runs: int) -> Signs:
    """Return for each pipeline and item which model alone passes: 1 for the new one, -1 for the baseline, or 0."""
    chances = ((differ + mean) / 2, (differ - mean) / 2, 1 - differ)
    return generator.choice(np.array([1, -1, 0]), (runs, items), p=chances)


def difference(signs: Signs) -> PairedDifference:
    """Return the difference of the two runs: that of `as_reported` for levels of equal size, from the counts alone."""
    items, mean = len(signs), float(signs.mean())
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    spread = (wins + losses) / items - mean**2
    farthest = max((abs(sign - mean) for sign in (1, -1, 0) if (signs == sign).any()), default=0.0) if spread else 1.0
    error = MeanError(sqrt((items * spread + 2 * farthest**2) / (items * (items + 1))), items - 1)
    return PairedDifference(mean, None, None, None, items, (), wins, losses, error=error)


def as_reported(signs: Signs) -> PairedDifference:
    """Return the same as reports and the command compute it, which takes a hundred times as long."""
    pairs = {str(number): (LEVELS[number % len(LEVELS)], float(sign)) for number, sign in enumerate(signs)}
    return PairedItems(pairs, {}).difference(LEVELS)


def require_same(generator: np.random.Generator) -> None:
    """Make sure that the short way gives what is reported."""
    for signs in draw_signs(generator, -MARGIN, 0.2, 300, 20):
        short, reported = (decide_gate(each, MARGIN) for each in (difference(signs), as_reported(signs)))
        if not np.allclose(short[1:4], reported[1:4], atol=1e-9):
            raise SystemExit(f"{short} is not {reported}")


@cache
def cached_alpha(sizes: tuple[int, ...]) -> float:
    return look_alpha(sizes, LOOKS)


def look_again(signs: Signs) -> list[GateDecision]:
    """Return the decisions after each batch, until one tells."""
    sizes = [len(signs) * number // LOOKS for number in range(1, LOOKS + 1)]
    decisions: list[GateDecision] = []
    for number, size in enumerate(sizes, 1):
        alpha = cached_alpha(tuple(sizes[:number]))
        decisions.append(decide_gate(difference(signs[:size]), MARGIN, alpha=alpha))
        if decisions[-1].outcome != "cannot tell":
            break
    return decisions


def tally(signs: Signs, decide: Callable[[Signs], list[GateDecision]]) -> Shares:
    last = [decide(row)[-1] for row in signs]
    return Shares(Counter(each.outcome for each in last), len(last), float(np.mean([each.items for each in last])))


def compare_labels(generator: np.random.Generator, runs: int, differ: float) -> None:
    """Print how often a model that loses as much as the margin passes, if the judge favours it."""
    items = 2_000
    print(
        f"\na judge that favours the new model by {100 * LENIENCY:g} points; true loss: the margin; {items:,} items\n"
    )
    print("| decided by | pass | worse |")
    print("| --- | ---: | ---: |")
    people = draw_signs(generator, -MARGIN, differ, items, runs)
    # The judge turns a failure of the new model into a pass: a loss into a tie, a tie into a win.
    judge = np.where(
        (people < 1) & (generator.random(people.shape) < LENIENCY / (1 - (differ - MARGIN) / 2)), people + 1, people
    )
    print(f"| judge alone | {tally(judge, lambda row: [decide_gate(difference(row), MARGIN)]).cells()} |", flush=True)
    for labels in (200, 500, 1_000):
        outcomes: Counter[str] = Counter()
        for by_judge, by_people in zip(judge, people, strict=True):
            corrected = estimate_corrected_difference(label_items(by_judge, by_people, labels), LEVELS)
            if corrected is not None:
                outcomes[decide_gate(corrected, MARGIN).outcome] += 1
        print(f"| {labels:,} items labelled in both runs | {Shares(outcomes, runs, 0).cells()} |", flush=True)


def label_items(judge: Signs, people: Signs, labels: int) -> list[PairedItem]:
    """Return the items, the first ones with labels: they are in random order, level by level."""
    return [
        PairedItem(
            LEVELS[number % len(LEVELS)],
            float(by_judge),
            float(by_people) if number < labels else None,
            float(by_judge) if number < labels else 0.0,
            labels / len(judge),
        )
        for number, (by_judge, by_people) in enumerate(zip(judge, people, strict=True))
    ]


if __name__ == "__main__":
    main()
