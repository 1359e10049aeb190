"""Draw the figure of docs/explanation/trust.md: what two judges say, what people say, and what 100 labels make of it.

    python tools/draw_trust.py docs/images/trust.svg

The counts are those of the released answers and ratings of DSG on 795 images, by the judge's verdict and by people's
(the majority of raters gives 4 or 5 of 5). A hundred labels are drawn from them at random, twenty times for each
judge. It also prints in how many of 2,000 draws each interval covers what people say of all images, and how wide it is.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import NamedTuple

from formalimg.reports.figures.svg import INK, QUIET, RULE, WIDTH, Figure, Markup, draw_line, element, join, text_at
from formalimg.stats.corrected import corrected_rate

LABELS, SHOWN, ROUNDS = 100, 20, 2000
LEFT, RIGHT, TOP, STEP = 8.0, WIDTH - 12, 24.0, 4.5
LOW, HIGH = 0.45, 1.0
RAW, CORRECTED, PEOPLE = "#b3402a", "#2b6cb0", "#1c1e21"


class JudgedByPeople(NamedTuple):
    """How many images a judge and people pass: both, the judge only, people only, neither.

    `raw` is the interval that `formalimg report` prints without labels, clustered by item.
    """

    name: str
    both: int
    judge_only: int
    people_only: int
    neither: int
    raw: tuple[float, float]

    @property
    def pairs(self) -> list[tuple[bool, bool]]:
        """The answer of the judge and of people on each image."""
        counts = ((True, True), self.both), ((True, False), self.judge_only)
        others = ((False, True), self.people_only), ((False, False), self.neither)
        return [pair for pair, count in (*counts, *others) for _ in range(count)]

    @property
    def passes(self) -> int:
        """How many images the judge passes."""
        return self.both + self.judge_only


JUDGES = (
    JudgedByPeople("mPLUG", 449, 141, 78, 127, (0.692, 0.788)),
    JudgedByPeople("InstructBLIP", 482, 154, 45, 114, (0.751, 0.843)),
)


def draw(judges: tuple[JudgedByPeople, ...]) -> Figure:
    """Return the figure."""
    rng = random.Random(0)
    truth = (judges[0].both + judges[0].people_only) / len(judges[0].pairs)
    parts: list[Markup] = []
    y = TOP
    for judge in judges:
        parts.append(text_at(judge.name, LEFT, y + 2))
        parts.append(text_at("judge alone", _x(HIGH), y + 2, "end", color=RAW))
        y += STEP + 4
        parts += _interval(judge.passes / len(judge.pairs), *judge.raw, y, RAW)
        y += STEP + 1
        for _ in range(SHOWN):
            found = corrected_rate(judge.passes, len(judge.pairs), rng.sample(judge.pairs, LABELS))
            parts += _interval(found.estimate, found.low, found.high, y, CORRECTED)
            y += STEP
        parts.append(text_at(f"corrected by {LABELS} labels", _x(HIGH), y - STEP, "end", color=CORRECTED))
        y += 8
    bottom = y
    axis: list[Markup] = []
    for percent in range(50, 101, 10):
        axis.append(draw_line((_x(percent / 100), TOP - 6, _x(percent / 100), bottom), RULE))
        axis.append(text_at(f"{percent} %", _x(percent / 100), bottom + 9, "middle", color=QUIET))
    axis.append(draw_line((_x(truth), TOP - 8, _x(truth), bottom), PEOPLE, 0.9, "3 2"))
    axis.append(text_at(f"people: {100 * truth:.1f} %", _x(truth), TOP - 11, "middle", color=INK))
    title = "The share of images that pass: by the judge alone, corrected by labels, and by people"
    note = (
        f"Dots with 95 % intervals. Judge alone: of all {len(judges[0].pairs)} images. Below it: {SHOWN} times "
        f"{LABELS} labels, drawn at random. Dashed: what people say of all images."
    )
    return Figure("trust", title, note, bottom + 16, join(axis, parts))


def _x(rate: float) -> float:
    return LEFT + (RIGHT - LEFT) * (rate - LOW) / (HIGH - LOW)


def _interval(value: float, low: float, high: float, y: float, color: str) -> list[Markup]:
    dot = element("circle", cx=_x(value), cy=y, r=1.5, fill=color)
    return [draw_line((_x(low), y, _x(high), y), color, 0.9), dot]


def print_coverage(judge: JudgedByPeople) -> None:
    """Print how often each interval covers what people say, and how wide it is."""
    rng, pairs = random.Random(1), judge.pairs
    truth = (judge.both + judge.people_only) / len(pairs)
    found = [corrected_rate(judge.passes, len(pairs), rng.sample(pairs, LABELS)) for _ in range(ROUNDS)]
    covered = sum(one.low <= truth <= one.high for one in found) / ROUNDS
    width = sum(one.high - one.low for one in found) / ROUNDS
    low, high = judge.raw
    print(
        f"{judge.name}: judge alone {100 * judge.passes / len(pairs):.1f} % ({100 * low:.1f} to {100 * high:.1f}), "
        f"people {100 * truth:.1f} %; corrected intervals cover it in {100 * covered:.1f} % of "
        f"{ROUNDS:,} draws, {100 * width:.1f} points wide on average"
    )


def main(path: Path) -> None:
    path.write_text(draw(JUDGES).svg(), encoding="utf-8")
    for judge in JUDGES:
        print_coverage(judge)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
