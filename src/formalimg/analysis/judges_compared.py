"""What comes out when two judges are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.runs import Identity
from formalimg.stats import Consistency, Interval, Rate


class Fraction(NamedTuple):
    """The mean share of what is asked for that images show.

    Attributes:
        value: the mean over scored images; None if there are none.
        interval: its normal interval, clustered by item, cut off at 0 and 1; None where the spread cannot be told.
        n: how many images were scored.
        left_out: how many were not.
    """

    value: float | None
    interval: Interval | None
    n: int
    left_out: int


@dataclass(frozen=True)
class JudgeScores:
    """What a run scores by one judge.

    Attributes:
        judge: who judged.
        full_mark, full_mark_by_level: the share of images that show all that is asked for.
        fraction, fraction_by_level: how much of it they show.
    """

    judge: Identity
    full_mark: Rate
    full_mark_by_level: Mapping[int, Rate]
    fraction: Fraction
    fraction_by_level: Mapping[int, Fraction]


class Scored(NamedTuple):
    """How many images both judges scored, only one of them, or neither."""

    both: int
    only_first: int
    only_second: int
    neither: int


class Disagreement(NamedTuple):
    """An image on which two judges disagree.

    Attributes:
        item, sample, level: which image.
        question: the words of the question; empty for whether the image shows all that is asked for.
        kind: what sort of question; empty for the whole image.
        first, second: what the judges say.
        first_reason, second_reason: why, as far as they say.
    """

    item: str
    sample: int
    level: int
    question: str
    kind: str
    first: bool
    second: bool
    first_reason: str
    second_reason: str


@dataclass(frozen=True)
class JudgesCompared:
    """Two judges over the same images of one run.

    Attributes:
        run: the name of the run folder.
        suite: the benchmark.
        first, second: what the run scores by each of them.
        images: how many images they scored.
        passed, passed_by_level: how often they agree on whether an image shows all that is asked for.
        questions, questions_by_kind, questions_by_level: how often they agree on single questions. A question of a
            image that only one of them scored is left out, and counted; of images that neither scored, the
            questions are not known here.
        disagreements: where they do not agree, in the order of the run.
        confidence: of all intervals.
    """

    run: str
    suite: str
    first: JudgeScores
    second: JudgeScores
    images: Scored
    passed: Consistency
    passed_by_level: Mapping[int, Consistency]
    questions: Consistency
    questions_by_kind: Mapping[str, Consistency]
    questions_by_level: Mapping[int, Consistency]
    disagreements: tuple[Disagreement, ...]
    confidence: float
