"""How often 95 % intervals hold the truth when the judge errs: raw, Rogan-Gladen, labels alone, corrected by labels.

Simulated runs with a known true rate, and a random sample of their images labelled by people. All is seeded.
docs/explanation/numbers.md has some rows of the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from formalimg.stats.corrected import (
    AnswerCell,
    CorrectedRate,
    LabelledLevel,
    corrected_rate,
    estimate_corrected_mean,
    rate_of_levels,
)
from formalimg.stats.corrected_summary import LabelledObservation, summarize_corrected
from formalimg.stats.intervals import clopper_pearson, fraction_interval, mean_interval
from formalimg.stats.judge_error import rogan_gladen
from formalimg.stats.planning import allocate_labels

Counts = NDArray[np.int64]
"""Images by judge yes and human yes, yes and no, no and yes, no and no; over several levels, one row each."""

LABELS = (25, 50, 100, 200, 400)
JUDGES = {".85/.80": (0.45, 0.85, 0.80), ".91/.45": (428 / 795, 388 / 428, 165 / 367)}
"""True rate, sensitivity and specificity; the second are those of mPLUG with DSG's questions against people."""

MODELS = {
    "weak": (0.80, 0.70),
    "middling": (0.93, 0.85),
    "good": (0.97, 0.93),
    "steep": (0.98, 0.80),
    "strong": (0.99, 0.975),
    "flat": (0.90, 0.95),
}
"""How often a model gets a clause right, at K = 1 and at K = 10; between them on a line."""

LEVELS, PER_LEVEL = 10, 200
MISSED_CLAUSE, INVENTED_FAULT = 0.25, 0.01
"""How often the judge passes a clause that fails, and fails one that holds."""


class Coverage:
    """How often intervals held the truth, and their mean width."""

    def __init__(self) -> None:
        self.held: list[bool] = []
        self.widths: list[float] = []

    def add(self, interval: tuple[float, float], truth: float) -> None:
        low, high = max(0.0, interval[0]), min(1.0, interval[1])
        self.held.append(low - 1e-12 <= truth <= high + 1e-12)
        self.widths.append(high - low)

    def __str__(self) -> str:
        return f"{np.mean(self.held):.3f}"

    @property
    def width(self) -> str:
        return f"{np.mean(self.widths):.3f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repetitions", type=int, default=1000, help="simulated runs for each line (default 1000)")
    options.add_argument("--quick", action="store_true", help="100 runs for each line")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    repetitions = 100 if given.quick else given.repetitions
    print(f"coverage of 95 % intervals, {repetitions} simulated runs for each line\n")
    for show in (one_rate, any_rate, clause_errors, several_images, means, fractions):
        show(repetitions, np.random.default_rng(given.seed))
        print()


def one_rate(repetitions: int, chance: np.random.Generator) -> None:
    """2,000 images; Rogan-Gladen by as many labels of another run with the same errors."""
    print("(a) 2,000 images, of which people pass 45.0 % and 53.8 %")
    header()
    for name, (rate, sensitivity, specificity) in JUDGES.items():
        cells = answers(rate, sensitivity, specificity)
        for labels in LABELS:
            found = [Coverage() for _ in range(4)]
            for _ in range(repetitions):
                images = chance.multinomial(2000, cells)
                elsewhere = chance.multinomial(labels, cells)
                compare(found, images, draw(images, labels, chance), elsewhere, rate)
            line(name, labels, found)


def any_rate(repetitions: int, chance: np.random.Generator) -> None:
    """Corrected rates from rare to nearly certain passes."""
    print("(b) corrected rates, by the true rate: lowest and highest coverage over 25, 50, 100, 200 and 400 labels")
    print(f"    {'judge':>10} {'images':>8} {'rate':>6} {'lowest':>8} {'highest':>8}")
    for name, (_, sensitivity, specificity) in JUDGES.items():
        for total in (200, 2000):
            for rate in (0.02, 0.1, 0.3, 0.7, 0.9, 0.98):
                found = []
                for labels in LABELS:
                    coverage = Coverage()
                    for _ in range(repetitions if labels <= total else 0):
                        images = chance.multinomial(total, answers(rate, sensitivity, specificity))
                        result = corrected(images, draw(images, labels, chance))
                        coverage.add((result.low, result.high), rate)
                    if coverage.held:
                        found.append(float(np.mean(coverage.held)))
                print(f"    {name:>10} {total:>8} {rate:>6} {min(found):>8.3f} {max(found):>8.3f}")


def clause_errors(repetitions: int, chance: np.random.Generator) -> None:
    """Ten levels; Rogan-Gladen by labels of the next model, for which the judge errs differently."""
    print(f"(c) {LEVELS} levels of {PER_LEVEL} images, a judge that misjudges clauses; labels by level and answer")
    header()
    names = list(MODELS)
    for number, name in enumerate(names):
        cells, other = clause_cells(name), clause_cells(names[(number + 1) % len(names)])
        truth = float(np.mean(cells[:, 0] + cells[:, 2]))
        for labels in LABELS:
            found = [Coverage() for _ in range(4)]
            for _ in range(repetitions):
                images = np.array([chance.multinomial(PER_LEVEL, row) for row in cells])
                elsewhere = chance.multinomial(labels, other.mean(axis=0))
                at_random = draw(images.sum(axis=0), labels, chance)
                compare(found[:3], images.sum(axis=0), at_random, elsewhere, truth)
                result = rate_of_levels(by_level(images, draw_by_cell(images, labels, chance)), 0.95)
                found[3].add((result.low, result.high), truth)
            line(f"{name} {truth:.2f}", labels, found)


def several_images(repetitions: int, chance: np.random.Generator) -> None:
    """Four images for each of 200 items; see tests/stats for levels and G."""
    print("(d) 200 items with 4 images each that are alike, 100 labels: corrected, clustered by item or not")
    clustered, plain = Coverage(), Coverage()
    for _ in range(repetitions // 2):
        good = chance.random((200, 4)) < chance.beta(0.6, 0.5, 200)[:, None]
        passed = chance.random((200, 4)) < np.where(good, 0.85, 0.2)
        labelled = np.zeros(800, dtype=bool)
        labelled[chance.choice(800, 100, replace=False)] = True
        for coverage, images in ((clustered, 4), (plain, 1)):
            seen = [
                LabelledObservation(str(n // images), 1, bool(p), bool(g) if is_labelled else None)
                for n, (p, g, is_labelled) in enumerate(zip(passed.flat, good.flat, labelled, strict=True))
            ]
            result = summarize_corrected(seen, bands={}, epsilon=None).overall
            assert result is not None
            coverage.add((result.low, result.high), 0.6 / 1.1)
    print(f"    clustered {clustered} (width {clustered.width}), not clustered {plain} (width {plain.width})")


def means(repetitions: int, chance: np.random.Generator) -> None:
    """Scores in quarters, by a judge that is right in 70 % of cases and guesses otherwise."""
    print("(e) mean scores of 1,000 images (0, 1/4, .. 1): raw, labels alone (normal), corrected (PPI++)")
    print(f"    {'mean':>10} {'labels':>8} {'raw':>8} {'labels only':>12} {'corrected':>10} {'width':>7}")
    for mean in (0.5, 0.8, 0.95):
        for labels in (25, 100, 400):
            raw, alone, both = Coverage(), Coverage(), Coverage()
            for _ in range(repetitions // 2):
                true = chance.binomial(4, chance.beta(mean * 2, (1 - mean) * 2, 1000)) / 4
                judged = np.where(chance.random(1000) < 0.7, true, chance.integers(0, 5, 1000) / 4)
                raw.add(mean_interval(judged) or (0.0, 1.0), mean)
                alone.add(mean_interval(true[:labels]) or (mean, mean), mean)
                pairs = list(zip(judged[:labels].tolist(), true[:labels].tolist(), strict=True))
                result = estimate_corrected_mean(judged.tolist(), pairs)
                both.add((result.low, result.high), mean)
            print(f"    {mean:>10} {labels:>8} {raw!s:>8} {alone!s:>12} {both!s:>10} {both.width:>7}")


def fractions(repetitions: int, chance: np.random.Generator) -> None:
    """The share of six concepts: independent, alike within images, or lost together with the whole image."""
    print("(f) mean share of 6 concepts: normal interval, and the exact one of as many trials (fraction_interval)")
    print(f"    {'concepts':>12} {'mean':>6} {'images':>7} {'normal':>8} {'exact':>8} {'widths':>14}")
    kinds: dict[str, Callable[[float, int], NDArray[np.float64]]] = {
        "independent": lambda mean, n: chance.binomial(6, mean, n) / 6,
        "alike": lambda mean, n: chance.binomial(6, chance.beta(mean * 2, (1 - mean) * 2, n)) / 6,
        "lost together": lambda mean, n: np.where(
            chance.random(n) < (1 - mean) / 2, 0, chance.binomial(6, 1 - (1 - mean) / (1 + mean), n) / 6
        ),
    }
    for name, values in kinds.items():
        for mean in (0.8, 0.95, 0.995):
            for images in (20, 300):
                normal, exact = Coverage(), Coverage()
                for _ in range(repetitions):
                    shares = values(mean, images).tolist()
                    average = sum(shares) / images
                    normal.add(mean_interval(shares) or (average, average), mean)
                    exact.add(fraction_interval(shares) or (0.0, 1.0), mean)
                widths = f"{normal.width} {exact.width}"
                print(f"    {name:>13} {mean:>5} {images:>7} {normal!s:>8} {exact!s:>8} {widths:>14}")


def answers(rate: float, sensitivity: float, specificity: float) -> NDArray[np.float64]:
    """Return the probabilities of the four cells of `Counts`."""
    good, bad = rate * sensitivity, (1 - rate) * (1 - specificity)
    return np.array([good, bad, rate - good, 1 - rate - bad])


def clause_cells(model: str) -> NDArray[np.float64]:
    """Return the probabilities by level; an instruction of K has 2 K + 1 clauses, all of which must hold."""
    clauses = 2 * np.arange(1, LEVELS + 1) + 1
    right = np.linspace(*MODELS[model], LEVELS)
    true = right**clauses
    passed = (right * (1 - INVENTED_FAULT) + (1 - right) * MISSED_CLAUSE) ** clauses
    both = true * (1 - INVENTED_FAULT) ** clauses
    return np.stack([both, passed - both, true - both, 1 - true - passed + both], axis=1)


def draw(images: Counts, labels: int, chance: np.random.Generator) -> Counts:
    """Return the labelled ones of these images, drawn at random."""
    return np.asarray(chance.multivariate_hypergeometric(images, labels))


def draw_by_cell(images: Counts, labels: int, chance: np.random.Generator) -> Counts:
    """Return the labelled images of each level, as many of each answer as `allocate_labels` says."""
    cells = {
        (level, answer): int(row[first] + row[first + 1])
        for level, row in enumerate(images)
        for answer, first in ((True, 0), (False, 2))
    }
    drawn = np.zeros_like(images)
    for (level, answer), number in allocate_labels(cells, labels).cells.items():
        first = 0 if answer else 2
        good, bad = images[level, first : first + 2].tolist()
        drawn[level, first] = chance.hypergeometric(good, bad, number) if number else 0
        drawn[level, first + 1] = number - drawn[level, first]
    return drawn


def by_level(images: Counts, labelled: Counts) -> list[LabelledLevel]:
    levels = []
    for row, drawn in zip(images.tolist(), labelled.tolist(), strict=True):
        yes, no = (AnswerCell(row[n] + row[n + 1], drawn[n] + drawn[n + 1], drawn[n]) for n in (0, 2))
        levels.append(LabelledLevel(1 / len(images), yes, no))
    return levels


def corrected(images: Counts, labelled: Counts) -> CorrectedRate:
    pairs = [pair for pair, times in zip(PAIRS, labelled.tolist(), strict=True) for _ in range(times)]
    return corrected_rate(int(images[0] + images[1]), int(images.sum()), pairs)


PAIRS = ((True, True), (True, False), (False, True), (False, False))


def compare(found: Sequence[Coverage], images: Counts, labelled: Counts, elsewhere: Counts, truth: float) -> None:
    """Add the intervals of one run: raw, Rogan-Gladen, labels only and, if asked for, corrected."""
    passed, total = int(images[0] + images[1]), int(images.sum())
    found[0].add(clopper_pearson(passed, total), truth)
    found[1].add(by_rates(passed / total, total, elsewhere), truth)
    found[2].add(clopper_pearson(int(labelled[0] + labelled[2]), int(labelled.sum())), truth)
    if len(found) > 3:
        result = corrected(images, labelled)
        found[3].add((result.low, result.high), truth)


def by_rates(rate: float, images: int, elsewhere: Counts) -> tuple[float, float]:
    good, bad = int(elsewhere[0] + elsewhere[2]), int(elsewhere[1] + elsewhere[3])
    if not good or not bad or elsewhere[0] / good + elsewhere[3] / bad <= 1:
        return 0.0, 1.0
    result = rogan_gladen(rate, elsewhere[0] / good, elsewhere[3] / bad, images=images, positives=good, negatives=bad)
    return (result.low or 0.0, 1.0 if result.high is None else result.high)


def header() -> None:
    columns = f"{'raw':>7} {'Rogan-Gladen':>13} {'labels only':>12} {'corrected':>10}"
    print(f"    {'judge':>14} {'labels':>7} {columns}  widths of the last three")


def line(name: str, labels: int, found: Sequence[Coverage]) -> None:
    raw, rates, alone, both = found
    widths = f"{rates.width} {alone.width} {both.width}"
    print(f"    {name:>14} {labels:>7} {raw!s:>7} {rates!s:>13} {alone!s:>12} {both!s:>10}  {widths}", flush=True)


if __name__ == "__main__":
    main()
