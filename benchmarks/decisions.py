"""Claims about models that people would reverse: `python benchmarks/decisions.py DSG_FOLDER [REPETITIONS] [ANSWERS …]`.

Real images, judges and people: the released answers of two judges to the DSG questions about TIFA160, and what five
raters said of each image (160 prompts, 5 image models; github.com/j-min/DSG). Prompts are drawn with replacement, so
the people's rates over all prompts are the truth. Each way to decide compares all pairs of models, with Holm's
correction:

- judge alone: the paired differences of the judge, as in a report without labels;
- N labelled: the differences corrected by the labels of N of the drawn prompts, as in `report --human`;
- labels only: the differences of the same labels without the judge.

A claim is reversed where a significant difference has the other sign than people's. Printed: the share of reports with
a claim that people would reverse, the share of 95 % intervals that cover people's difference (mean over pairs, worst
pair in brackets), their mean width, and how many of the true differences are claimed.

Other judges' answers are taken as `formalimg import answers` reads them: a table of model, item, question and answer.
Images without an answer to every question of their item have no verdict; prompts with such images are left out.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np

from formalimg.errors import FormalimgError
from formalimg.human_eval.importing import answers as answer_files
from formalimg.stats.agreement import majority
from formalimg.stats.comparison import PairedDifference, PairedItems
from formalimg.stats.corrected_difference import PairedItem, estimate_corrected_difference
from formalimg.stats.observations import Interval
from formalimg.stats.permutation import holm

LEVEL = 1
SIZES = (159, 500, 2_000)
LABELS = (50, 100)
ACCEPTED = 4
"""Points out of 5 from which a rater accepts an image."""

Verdicts = Mapping[str, Mapping[str, bool]]
"""Whether an image passes, by model and prompt."""


class Difference(NamedTuple):
    """One comparison of two models: estimate, p and 95 % interval."""

    estimate: float
    p: float
    interval: Interval


def read_answers(path: Path) -> Verdicts:
    """Return whether a judge says yes to all questions about an image; images without all answers are left out."""
    table = answer_files.read_answers(path)
    answers: dict[str, dict[str, dict[str, bool | None]]] = {}
    questions: dict[str, set[str]] = {}
    for reply in table.replies():
        if reply is None:
            continue
        if not reply.model:
            raise FormalimgError(f"{path} does not say whose images were judged: give a column t2i_model")
        answer, question = answer_files.read_reply(reply.text), reply.question or reply.words
        is_no = answer is None and table.format.other_answers == "no"
        answers.setdefault(reply.model, {}).setdefault(reply.item, {})[question] = False if is_no else answer
        questions.setdefault(reply.item, set()).add(question)
    return {
        model: {
            item: all(own.values())
            for item, own in items.items()
            if {*own} == questions[item] and None not in own.values()
        }
        for model, items in answers.items()
    }


def read_people(path: Path, rule: Literal["majority", "mean"] = "majority") -> Verdicts:
    """Return whether most raters accept an image, or the mean of their points does."""
    points: dict[str, dict[str, list[int]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            points.setdefault(row["t2i_model"], {}).setdefault(row["item_id"], []).append(int(row["answer"]))

    def label_of(own: Sequence[int]) -> float | None:
        return fmean(own) >= ACCEPTED if rule == "mean" else majority([each >= ACCEPTED for each in own])

    return {
        model: {item: bool(label) for item, own in items.items() if (label := label_of(own)) is not None}
        for model, items in points.items()
    }


class World(NamedTuple):
    """Prompts with the judge's verdict and people's label on every model."""

    judge: Verdicts
    people: Verdicts

    @property
    def models(self) -> list[str]:
        """The models that both have seen."""
        return sorted({*self.judge} & {*self.people})

    @property
    def prompts(self) -> list[str]:
        """The prompts that both have seen for every model."""
        seen = [{*by[model]} for model in self.models for by in (self.judge, self.people)]
        return sorted(set.intersection(*seen)) if seen else []

    def item(self, pair: tuple[str, str], prompt: str, *, is_labelled: bool) -> PairedItem:
        """Return a prompt as an item of two models."""
        judge, people = (float(by[pair[0]][prompt] - by[pair[1]][prompt]) for by in (self.judge, self.people))
        return PairedItem(LEVEL, judge, people if is_labelled else None, judge)

    def truth(self, pair: tuple[str, str]) -> float:
        """Return people's difference over all prompts."""
        return fmean(self.people[pair[0]][prompt] - self.people[pair[1]][prompt] for prompt in self.prompts)


def differences_of(values: Sequence[float]) -> Difference:
    """Return the comparison of a report without labels."""
    named = {str(n): (LEVEL, value) for n, value in enumerate(values)}
    return _known(PairedItems(named, {}).difference())


def _known(paired: PairedDifference | None) -> Difference:
    assert paired is not None
    assert paired.estimate is not None
    assert paired.p is not None
    assert paired.interval is not None
    return Difference(paired.estimate, paired.p, paired.interval)


def by_judge(world: World, pair: tuple[str, str], prompts: Sequence[str], labelled: set[int]) -> Difference:
    """Compare by the judge's verdicts alone."""
    return differences_of([world.item(pair, prompt, is_labelled=False).judge for prompt in prompts])


def by_labels(world: World, pair: tuple[str, str], prompts: Sequence[str], labelled: set[int]) -> Difference:
    """Compare by the labels alone."""
    items = (world.item(pair, prompts[n], is_labelled=True) for n in sorted(labelled))
    return differences_of([item.people for item in items if item.people is not None])


def by_both(world: World, pair: tuple[str, str], prompts: Sequence[str], labelled: set[int]) -> Difference:
    """Compare by the judge's verdicts, corrected by the labels."""
    items = [world.item(pair, prompt, is_labelled=n in labelled) for n, prompt in enumerate(prompts)]
    corrected = estimate_corrected_difference(items)
    return _known(corrected)


Decide = Callable[[World, tuple[str, str], Sequence[str], set[int]], Difference]


class Tried(NamedTuple):
    """What a way to decide did over all repetitions."""

    reversed_reports: float
    coverage: float
    worst_coverage: float
    width: float
    power: float


def try_decisions(world: World, decide: Decide, size: int, labels: int, repetitions: int) -> Tried:
    """Draw prompts, decide on all pairs of models, and count what people would say to it."""
    chance = random.Random(f"{size} {labels}")
    pairs = list(combinations(world.models, 2))
    truths = [world.truth(pair) for pair in pairs]
    wrong, claimed, widths = 0, 0, []
    covered = [0] * len(pairs)
    for _ in range(repetitions):
        prompts = chance.choices(world.prompts, k=size)
        labelled = set(chance.sample(range(size), min(labels, size)))
        decided = [decide(world, pair, prompts, labelled) for pair in pairs]
        adjusted = holm([each.p for each in decided])
        claims = [each.estimate if p <= 0.05 else 0.0 for each, p in zip(decided, adjusted, strict=True)]
        wrong += any(claim * truth < 0 for claim, truth in zip(claims, truths, strict=True))
        claimed += sum(claim * truth > 0 for claim, truth in zip(claims, truths, strict=True))
        for n, (each, truth) in enumerate(zip(decided, truths, strict=True)):
            covered[n] += each.interval.low <= truth <= each.interval.high
            widths.append(each.interval.high - each.interval.low)
    shares = [count / repetitions for count in covered]
    return Tried(wrong / repetitions, fmean(shares), min(shares), fmean(widths), claimed / repetitions / len(pairs))


def rows(world: World, size: int, repetitions: int) -> Iterator[tuple[str, Tried]]:
    """Yield each way to decide with what it did."""
    yield "judge alone", try_decisions(world, by_judge, size, 0, repetitions)
    for labels in LABELS:
        yield f"{labels} labelled", try_decisions(world, by_both, size, labels, repetitions)
    for labels in LABELS:
        yield f"labels only, {labels}", try_decisions(world, by_labels, size, labels, repetitions)


def false_rates(world: World) -> str:
    """Return how far the judge's false-pass and false-fail rates are apart between models, and how far by chance."""
    texts = []
    for name, truth in (("false-pass", False), ("false-fail", True)):
        errors = [
            [world.judge[model][prompt] != truth for prompt in world.prompts if world.people[model][prompt] == truth]
            for model in world.models
        ]
        rates = [fmean(own) for own in errors if own]
        if not rates:
            continue
        counts = np.array([len(own) for own in errors if own])
        together = fmean(error for own in errors for error in own)
        equal = np.random.default_rng(0).binomial(counts, together, (10_000, len(counts))) / counts
        texts.append(
            f"{name} rates {100 * min(rates):.0f}-{100 * max(rates):.0f} %, {100 * np.ptp(rates):.0f} points apart "
            f"(equal rates: {100 * np.ptp(equal, axis=1).mean():.0f} by chance)"
        )
    return "; ".join(texts)


def main(folder: Path, repetitions: int, answers: Sequence[Path]) -> None:
    """Print a table for each judge."""
    ratings = folder / "tifa160-likert-anns.csv"
    people, by_mean = read_people(ratings), read_people(ratings, "mean")
    worlds = {
        path: World(read_answers(path), people)
        for path in (folder / "mplug_dsg.csv", folder / "instructblip_dsg.csv", *answers)
    }
    for path, world in worlds.items():
        if len(world.models) < 2 or len(world.prompts) < 2:
            raise FormalimgError(f"{path} has no verdicts on the same prompts for two models of {ratings.name}")
    for path, world in worlds.items():
        print(f"\n{path.stem}: {len(world.prompts)} prompts, {len(world.models)} models; {false_rates(world)}")
        print(f"people by the mean instead of the majority: {false_rates(World(world.judge, by_mean))}")
        print(
            f"{'items':>6} {'decided by':18} {'reversed':>9} {'coverage':>9} {'worst':>6} {'width':>6} {'claimed':>8}"
        )
        for size in SIZES:
            for name, tried in rows(world, size, repetitions):
                print(
                    f"{size:6,} {name:18} {tried.reversed_reports:9.3f} {tried.coverage:9.3f} "
                    f"{tried.worst_coverage:6.3f} {100 * tried.width or nan:6.1f} {tried.power:8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400, [Path(each) for each in sys.argv[3:]])
    except FormalimgError as error:
        sys.exit(f"error: {error}")
