"""Power of planned designs: `python benchmarks/plan_power.py [REPETITIONS]`, claimed by `plan` against simulated.

Two models differ by 5 points. Answers are simulated from a latent normal model (a threshold on the sum of effects of
prompt, prompt x model, image, rater and rest), with latent correlations that give the variance components of the plan:
at a rate of 50 %, a covariance c of two answers comes from the correlation sin(2 pi c). Each rater is one of forty, who
are drawn anew for each image. Labels are the majority of the raters of an image. Each simulated comparison is analysed
by the tests of the package: `compare_paired` and `corrected_difference`.

`python benchmarks/plan_power.py components DSG_FOLDER [ANNOTATIONS.csv ANNOTATIONS.csv]` prints the variance components
that `plan` takes by default: of the released ratings and answers of DSG (github.com/j-min/DSG), and, of the annotations
that GenEval released (github.com/djghosh13/geneval, annotations/), how much of the difference of two models lies
between images of a prompt.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from itertools import combinations
from math import pi, sin, sqrt
from pathlib import Path
from statistics import NormalDist, fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from decisions import ACCEPTED, read_answers

from formalimg.stats.comparison import compare_paired
from formalimg.stats.corrected_difference import PairedItem, estimate_corrected_difference
from formalimg.stats.observations import Observation
from formalimg.stats.planning import Design, Goal, power_of
from formalimg.stats.variance_components import (
    DEFAULT_SPREAD,
    AnswerSpread,
    BinaryAnswer,
    Components,
    ItemAnswers,
    estimate_components,
    estimate_correlation,
)

RATERS = 40
ALPHA = 0.05
PROMPT_CORRELATION = 0.8
"""Of what is hard for the judge and for people; it cancels in differences."""

STRONG_JUDGE = DEFAULT_SPREAD._replace(correlation=0.5)
SHARED_IMAGES = AnswerSpread(Components(0.08, 0.05, 0.04, 0.0, 0.08), Components(0.09, 0.09, 0.07), 0.4)
"""What a pilot may find: hard prompts for one model matter more than images."""

Latent = NDArray[np.float64]
Labels = NDArray[np.bool_]


class Answers(NamedTuple):
    """Simulated answers, by model, item and image: the judge's verdicts and people's labels."""

    judge: Labels
    people: Labels


class Effects(NamedTuple):
    """Latent variances of prompt, prompt x model, image and rater; the rest makes 1."""

    prompt: float
    prompt_model: float
    image: float
    rater: float

    @classmethod
    def of(cls, components: Components) -> Effects:
        """Return the latent variances that give these components at a rate of 50 %."""
        prompt = _latent(components.prompt)
        cell = _latent(components.prompt + components.prompt_model)
        image = _latent(components.prompt + components.prompt_model + components.image)
        return cls(prompt, cell - prompt, image - cell, _latent(components.rater))


def _latent(covariance: float) -> float:
    return sin(2 * pi * min(0.25, covariance))


def simulate(spread: AnswerSpread, design: Design, difference: float, chance: np.random.Generator) -> Answers:
    """Draw the answers about the images of two models."""
    people, judge = Effects.of(spread.people), Effects.of(spread.judge)
    items, images = design.items, design.images
    prompts = PROMPT_CORRELATION * sqrt(people.prompt * judge.prompt)
    base = _observed(prompts)
    of_model = _latent(base + spread.correlation * sqrt(spread.people.prompt_model * spread.judge.prompt_model))
    whole = spread.correlation * sqrt(spread.people.image * spread.judge.image)
    of_image = _latent(_observed(of_model) + whole) - of_model
    shift = np.array([1, -1])[:, None, None] * NormalDist().inv_cdf(0.5 + difference / 2)

    seen, verdict = (
        sum(parts)
        for parts in zip(
            _effect(chance, people.prompt, judge.prompt, prompts, (1, items, 1)),
            _effect(chance, people.prompt_model, judge.prompt_model, of_model - prompts, (2, items, 1)),
            _effect(chance, people.image, judge.image, of_image, (2, items, images)),
            strict=True,
        )
    )
    yes = np.zeros((2, items, images), dtype=int)
    leniency = chance.normal(0, sqrt(people.rater), RATERS)
    rest = sqrt(max(0.0, 1 - sum(people)))
    for _ in range(design.raters):
        who = chance.integers(0, RATERS, yes.shape)
        yes += seen + shift + leniency[who] + rest * chance.normal(size=yes.shape) > 0
    return Answers(verdict + shift > 0, 2 * yes > design.raters)


def _observed(latent: float) -> float:
    return float(np.arcsin(latent) / (2 * pi))


def _effect(
    chance: np.random.Generator, people: float, judge: float, covariance: float, shape: tuple[int, ...]
) -> tuple[Latent, Latent]:
    """Draw one effect on people and judge, with this covariance."""
    first, second = chance.normal(size=(2, *shape))
    correlation = covariance / sqrt(people * judge)
    if not -1 <= correlation <= 1:
        raise ValueError(f"judge and people cannot agree so much: {correlation:.2f}")
    return sqrt(people) * first, sqrt(judge) * (correlation * first + sqrt(1 - correlation**2) * second)


def is_significant(answers: Answers, design: Design) -> bool:
    """Return whether the test of the design finds a difference."""
    if design.labelled and design.has_judge:
        judge, people = (side.mean(axis=2)[0] - side.mean(axis=2)[1] for side in answers)
        pairs = [
            PairedItem(1, float(judge[n]), float(people[n]) if n < design.labelled else None, float(judge[n]))
            for n in range(design.items)
        ]
        paired = estimate_corrected_difference(pairs)
    else:
        side = answers.people if design.labelled else answers.judge
        runs = [
            [Observation(str(n), 1, bool(passed)) for n, images in enumerate(model) for passed in images]
            for model in side
        ]
        paired = compare_paired(*runs)
    assert paired is not None
    assert paired.p is not None
    return paired.p <= ALPHA


def simulated_power(spread: AnswerSpread, design: Design, difference: float, repetitions: int, seed: int = 0) -> float:
    """Return the share of simulated comparisons that find the difference."""
    chance = np.random.default_rng(seed)
    return fmean(is_significant(simulate(spread, design, difference, chance), design) for _ in range(repetitions))


DESIGNS: Sequence[tuple[str, AnswerSpread, Design]] = (
    ("judge alone", DEFAULT_SPREAD, Design(1_000)),
    ("judge alone, 4 images an item", DEFAULT_SPREAD, Design(400, 4)),
    ("people, 1 rater", DEFAULT_SPREAD, Design(1_100, 1, 1_100, 1, False)),
    ("people, 3 raters", DEFAULT_SPREAD, Design(650, 1, 650, 3, False)),
    ("people, 5 raters", DEFAULT_SPREAD, Design(550, 1, 550, 5, False)),
    ("people, 4 images an item", DEFAULT_SPREAD, Design(400, 4, 400, 1, False)),
    ("judge + labels, 1 rater", DEFAULT_SPREAD, Design(2_000, 1, 1_000, 1)),
    ("judge + labels, few", DEFAULT_SPREAD, Design(1_000, 1, 200, 1)),
    ("judge + labels, strong judge", STRONG_JUDGE, Design(2_000, 1, 800, 1)),
    ("judge + labels, strong, 3 raters", STRONG_JUDGE, Design(2_000, 1, 400, 3)),
    ("judge + labels, strong, 4 images", STRONG_JUDGE, Design(600, 4, 250, 1)),
    ("pilot: judge alone, 4 images", SHARED_IMAGES, Design(700, 4)),
    ("pilot: people, 3 raters", SHARED_IMAGES, Design(800, 1, 800, 3, False)),
    ("pilot: judge + labels", SHARED_IMAGES, Design(1_500, 2, 400, 1)),
)


def print_power(repetitions: int) -> None:
    """Print claimed and simulated power of each design."""
    difference = 0.05
    print(f"{'design':34} {'items':>6} {'images':>6} {'labelled':>8} {'raters':>6} {'claimed':>8} {'simulated':>9}")
    for number, (name, spread, design) in enumerate(DESIGNS):
        claimed = power_of(design, Goal(difference), spread)
        simulated = simulated_power(spread, design, difference, repetitions, number)
        print(
            f"{name:34} {design.items:6,} {design.images:6} {design.labelled:8,} {design.raters:6} "
            f"{claimed:8.3f} {simulated:9.3f}",
            flush=True,
        )


def read_ratings(path: Path) -> dict[str, ItemAnswers]:
    """Return whether each rater of DSG accepts each image, by model."""
    models: dict[str, dict[str, list[list[BinaryAnswer]]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            (image,) = models.setdefault(row["t2i_model"], {}).setdefault(row["item_id"], [[]])
            image.append(BinaryAnswer(row["worker_id"], float(int(row["answer"]) >= ACCEPTED)))
    return {model: models[model] for model in sorted(models)}


def read_annotations(path: Path, accepted: int) -> ItemAnswers:
    """Return whether each rater of GenEval gives so many points of 4 to each image of a model."""
    images: dict[str, dict[str, list[BinaryAnswer]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if points := row["Answer.task-quality"]:
                image = images.setdefault(row["Input.prompt_id"], {}).setdefault(row["Input.image_id"], [])
                image.append(BinaryAnswer("", float(int(points) >= accepted)))
    return {prompt: list(by_image.values()) for prompt, by_image in images.items()}


def print_components(folder: Path, annotations: Sequence[Path]) -> None:
    """Print the variance components of people and judges, as shares, and their correlation."""
    prior = DEFAULT_SPREAD
    people = read_ratings(folder / "tifa160-likert-anns.csv")
    rated = estimate_components([*people.values()], prior.people)
    print(_shares("DSG: people", rated))
    for name in ("mplug_dsg", "instructblip_dsg"):
        answers = read_answers(folder / f"{name}.csv")
        models: list[ItemAnswers] = [
            {item: [[BinaryAnswer("", float(by_item[item]))]] for item in items if item in by_item}
            for model, items in people.items()
            for by_item in (answers[model],)
        ]
        judge = estimate_components(models, prior.judge)
        spread = AnswerSpread(rated, judge, 1.0)
        pairs = combinations(range(len(models)), 2)
        ratings = [
            {item: items[item] for item in verdicts} for verdicts, items in zip(models, people.values(), strict=True)
        ]
        correlation = fmean(
            estimate_correlation([models[a], models[b]], [ratings[a], ratings[b]], spread) for a, b in pairs
        )
        observed = spread._replace(correlation=correlation).observed_correlation()
        print(f"{_shares(f'DSG: {name}', judge)}, correlation {correlation:.2f}, with one rater {observed:.2f}")
    for points in (4, 3) if annotations else ():
        found = estimate_components([read_annotations(path, points) for path in annotations], prior.people)
        share = found.image / found.model_variance()
        print(f"{_shares(f'GenEval: {points} points or more', found)}, image of the difference {share:.2f}")


def _shares(name: str, components: Components) -> str:
    total = sum(components)
    shares = ", ".join(
        f"{part.replace('_', ' x ')} {value / total:.3f}" for part, value in components._asdict().items()
    )
    return f"{name}: total {total:.4f}: {shares}"


def main(arguments: Sequence[str]) -> None:
    """Print components or powers."""
    if arguments[:1] == ["components"]:
        folder, *annotations = map(Path, arguments[1:])
        print_components(folder, annotations)
    else:
        print_power(int(arguments[0]) if arguments else 1_000)


if __name__ == "__main__":
    main(sys.argv[1:])
