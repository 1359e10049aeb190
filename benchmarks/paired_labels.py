"""Coverage of studies that label the same items in several runs: `python benchmarks/paired_labels.py [TIMES] [DSG]`.

Each repetition makes new items, three runs and a judge that errs more often in favour of some of them; draws items as
`formalimg annotate RUN RUN RUN --for-correction` does, labels them, adds items as `--more` does, and computes what a
report shows: the corrected differences of all pairs and the corrected rate of each run. Printed, before and after the
growth: the share of 95 % intervals that hold the truth (mean, and the worst pair or run), the mean half width beside
the one that was announced, and the share of pairs that are certain.

With the folder of DSG's released answers and ratings (see `decisions.py`), prompts are drawn from there with
replacement instead: real images, judges and people.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from itertools import combinations
from math import exp
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from decisions import World, read_answers, read_people

from formalimg.benchmarks.registry import suite
from formalimg.human_eval.assignment import Candidate
from formalimg.human_eval.correction import ImageLabels, ItemDraw, ItemFrame, draw_items, draw_more_items
from formalimg.stats.comparison import PairedDifference, adjust_for_all, is_significant
from formalimg.stats.corrected_difference import estimate_corrected_difference
from formalimg.stats.corrected_summary import LabelledObservation, summarize_corrected

Images = Mapping[Candidate, tuple[bool, bool]]
"""What judge and people say of each image."""

RUNS = ("a", "b", "c")
SKILL = {"a": 0.6, "b": 0.5, "c": 0.0}
FALSE_PASS = {"a": 0.15, "b": 0.35, "c": 0.25}
FALSE_FAIL = 0.1


class Source(NamedTuple):
    """Where items come from: a suite, its runs, new images of so many items, and the true rate of each run."""

    suite: str
    runs: tuple[str, ...]
    make: Callable[[random.Random], Images]
    rates: Mapping[str, float]


def model_source(name: str, per_level: int, samples: int) -> Source:
    """Return runs whose images get worse with the level, alike for the same item."""
    levels = suite(name).bands["Overall"] if suite(name).bands else (1,)

    def chance(run: str, level: int, item: float) -> float:
        return 1 / (1 + exp(-(SKILL[run] + 1.0 - 0.25 * level + item)))

    def make(rng: random.Random) -> Images:
        images = {}
        for level in levels:
            for number in range(per_level):
                item, blindness = rng.gauss(0, 1), rng.random() < 0.3
                for run in RUNS:
                    for sample in range(samples):
                        is_right = rng.random() < chance(run, level, item)
                        wrong = FALSE_FAIL if is_right else min(1.0, FALSE_PASS[run] * (2 if blindness else 0.57))
                        said = is_right != (rng.random() < wrong)
                        images[Candidate(run, f"{level}-{number}", sample, level)] = (said, is_right)
        return images

    rng = random.Random("truth")
    items = [rng.gauss(0, 1) for _ in range(20_000)]
    return Source(
        name, RUNS, make, {run: fmean(chance(run, level, item) for level in levels for item in items) for run in RUNS}
    )


def dsg_source(folder: Path, answers: str, size: int) -> Source:
    """Return prompts drawn from DSG's, with what its judge and people say of the images of five models."""
    world = World(read_answers(folder / answers), read_people(folder / "tifa160-likert-anns.csv"))
    rates = {run: fmean(world.people[run][prompt] for prompt in world.prompts) for run in world.models}

    def make(rng: random.Random) -> Images:
        prompts = rng.choices(world.prompts, k=size)
        return {
            Candidate(run, f"{number}", 0, 1): (world.judge[run][prompt], world.people[run][prompt])
            for number, prompt in enumerate(prompts)
            for run in world.models
        }

    return Source("knolling", tuple(world.models), make, rates)


class Shown(NamedTuple):
    """What a report shows of one repetition: differences by themselves and for all pairs at once, and rates."""

    single: dict[tuple[str, str], PairedDifference]
    pairs: dict[tuple[str, str], PairedDifference]
    rates: dict[str, tuple[float, float]]
    announced: dict[tuple[str, str], float]


def report(source: Source, frame: ItemFrame, images: Images, draw: ItemDraw) -> tuple[Shown, ImageLabels]:
    """Return the corrected numbers once all drawn items are labelled, and the labels."""
    labels = {
        (image.run, image.item, image.sample): images[image][1]
        for item in draw.sample.items
        for image in frame.items[item.item]
    }
    found = {pair: estimate_corrected_difference(items, frame.levels) for pair, items in frame.pairs(labels).items()}
    known = {pair: difference for pair, difference in found.items() if difference is not None}
    adjusted = dict(zip(known, adjust_for_all([*known.values()]), strict=True))
    rates = {}
    for run in source.runs:
        seen = [
            LabelledObservation(image.item, image.level, said, labels.get((run, image.item, image.sample)))
            for image, (said, _) in images.items()
            if image.run == run
        ]
        bands = {"all": frame.levels} if frame.levels else {}
        summary = summarize_corrected(seen, bands=bands, epsilon=None)
        rate = summary.bands["all"] if bands else summary.overall
        assert rate is not None
        rates[run] = (rate.low, rate.high)
    announced = {(each.first, each.second): each.half_width for each in draw.outlooks}
    return Shown(known, adjusted, rates, announced), labels


def simulate(source: Source, labels: int, more: int, repetitions: int) -> None:
    """Print coverage and widths before and after the growth."""
    stages: tuple[list[Shown], list[Shown]] = ([], [])
    for number in range(repetitions):
        rng = random.Random(f"{labels} {more} {number}")
        images = source.make(rng)
        verdicts = {image: said for image, (said, _) in images.items()}
        frame = ItemFrame.of(source.runs, suite(source.suite), verdicts, number)
        draw = draw_items(frame, labels, rng)
        shown, so_far = report(source, frame, images, draw)
        stages[0].append(shown)
        grown = draw_more_items(frame, draw.sample, so_far, more, (), rng)
        stages[1].append(report(source, frame, images, grown)[0])
    for title, all_shown in zip((f"{labels} items", f"+ {more} more"), stages, strict=True):
        by_pair, widths, announced, certain = [], [], [], 0
        holds: dict[tuple[str, str], list[bool]] = {}
        for pair in combinations(source.runs, 2):
            truth = source.rates[pair[0]] - source.rates[pair[1]]
            holds[pair] = [_holds(shown.pairs[pair], truth) for shown in all_shown]
            by_pair.append(fmean(_holds(shown.single[pair], truth) for shown in all_shown))
            widths += [_half_width(shown.pairs[pair]) for shown in all_shown]
            announced += [shown.announced[pair] for shown in all_shown]
            certain += sum(is_significant(shown.pairs[pair]) for shown in all_shown)
        by_run = [
            fmean(shown.rates[run][0] <= source.rates[run] <= shown.rates[run][1] for shown in all_shown)
            for run in source.runs
        ]
        print(
            f"  {title:>12}: differences {fmean(by_pair):.3f} (worst {min(by_pair):.3f}, "
            f"all at once {fmean(map(all, zip(*holds.values(), strict=True))):.3f}), rates {fmean(by_run):.3f} "
            f"(worst {min(by_run):.3f}); half width {100 * fmean(widths):.1f}, announced {100 * fmean(announced):.1f}; "
            f"certain {certain / repetitions / len(by_pair):.2f}",
            flush=True,
        )


def _holds(difference: PairedDifference, truth: float) -> bool:
    assert difference.interval is not None
    return difference.interval.low <= truth <= difference.interval.high


def _half_width(difference: PairedDifference) -> float:
    assert difference.interval is not None
    return (difference.interval.high - difference.interval.low) / 2


def main(repetitions: int, folder: Path | None) -> None:
    """Print each setting."""
    for per_level, samples, labels, more in ((50, 1, 50, 50), (50, 1, 100, 100), (25, 1, 30, 60), (50, 4, 100, 60)):
        print(f"10 levels of {per_level} items, {samples} images an item")
        simulate(model_source("knolling", per_level, samples), labels, more, repetitions)
    for answers in ("mplug_dsg.csv", "instructblip_dsg.csv") if folder else ():
        for size in (159, 500):
            print(f"DSG, {answers}, {size} prompts")
            assert folder is not None
            simulate(dsg_source(folder, answers, size), 50, 50, repetitions)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
