"""Agreement of two judges over the images of one run: their scores, how often they agree, and where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.run_judges import judge_of, two_judges
from formalimg.human_eval.agreement.score_gap import JudgeScoreDifference, score_difference
from formalimg.runs.manifest import Identity
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.correlation import Correlation, within_level_correlation
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import Interval, Observation, Rate
from formalimg.stats.precision_recall import SensitivitySpecificity, sensitivity_specificity
from formalimg.stats.summary import summarize
from formalimg.types import Part, RunRecord, Verdict


class MeanFraction(NamedTuple):
    """The mean fraction of the requirements that images meet."""

    value: float | None  # the mean over scored images; None if there are none
    # its normal interval, clustered by item, clipped to 0 and 1; None where the spread is unknown
    interval: Interval | None
    n: int  # how many images were scored
    left_out: int  # how many were not


@dataclass(frozen=True)
class JudgeScores:
    """The scores of a run by one judge."""

    judge: Identity  # the judge
    full_mark: Rate  # the pass rate: the share of images that meet all requirements
    full_mark_by_level: Mapping[int, Rate]
    fraction: MeanFraction  # the mean fraction of requirements met
    fraction_by_level: Mapping[int, MeanFraction]


class ScoredCounts(NamedTuple):
    """How many images both judges scored, only one of them, or neither."""

    both: int
    only_first: int
    only_second: int
    neither: int


def count_scored(scored: Iterable[tuple[bool, bool]]) -> ScoredCounts:
    """Count images by whether the first and the second judge scored them."""
    counts = Counter(scored)
    return ScoredCounts(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


class Disagreement(NamedTuple):
    """An image on which two judges disagree."""

    item: str  # which image
    sample: int
    level: int
    question: str  # the text of the question; empty for whether the image passes as a whole
    kind: str  # the kind of question; empty for the whole image
    first: bool  # the answers of the judges
    second: bool
    first_reason: str  # their reasons, if given
    second_reason: str


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of two judges over the same images of one run."""

    run: str  # the name of the run folder
    suite: str  # the benchmark
    first: JudgeScores  # the scores of the run by each judge
    second: JudgeScores
    images: ScoredCounts  # how many images they scored
    passed: Consistency  # how often they agree on whether an image passes
    passed_by_level: Mapping[int, Consistency]
    # how often they agree on single questions. A question of an image that only one of them scored is left out, and
    # counted; of images that neither scored, the questions are unknown here
    questions: Consistency
    questions_by_kind: Mapping[str, Consistency]
    questions_by_level: Mapping[int, Consistency]
    disagreements: tuple[Disagreement, ...]  # where they disagree, in the order of the run
    confidence: float  # of all intervals
    # how often each passes an image, and the first those that the second passes and fails
    direction: SensitivitySpecificity
    within_levels: Correlation  # the correlation of both on whether an image passes, within levels
    # where answers have grades between no and yes, as ratings do: the difference of the scores, by kind
    graded: Mapping[str, JudgeScoreDifference] = field(default_factory=dict)


class ImageName(NamedTuple):
    """An image of a run: its item, and which of the item's images it is."""

    item: str
    sample: int


class QuestionKey(NamedTuple):
    """A question about an image: its text, and its index among questions with the same text."""

    text: str
    occurrence: int


class JudgeAnswer(NamedTuple):
    """A judge's answer to a question: whether the image meets it, the kind of question, the reason, and the score."""

    holds: bool
    kind: str
    reason: str
    score: float


@dataclass(frozen=True)
class ImageJudgment:
    """A judge's verdict on an image."""

    level: int  # the level of the image's item
    passed: bool | None  # whether it meets all requirements; None if unscored
    score: float | None  # the fraction it meets; None if unscored
    answers: Mapping[QuestionKey, JudgeAnswer]  # the answer to each question; none if unscored
    reason: str = ""  # why it is unscored; empty if it is not


def image_judgments(run: RunRecord) -> dict[ImageName, ImageJudgment]:
    """Return the verdict on each image of a run, in the order of items and samples."""
    found = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        parts = verdict.parts if isinstance(verdict, Verdict) else ()
        found[ImageName(outcome.item, outcome.sample)] = ImageJudgment(
            outcome.level, outcome.passed, outcome.score, _answers(parts), outcome.reason
        )
    return found


def question_keys(texts: Iterable[str]) -> list[QuestionKey]:
    """Return the keys of questions with these texts; equal texts get different keys."""
    seen = Counter[str]()
    found = []
    for text in texts:
        found.append(QuestionKey(text, seen[text]))
        seen[text] += 1
    return found


def _answers(parts: Iterable[Part]) -> dict[QuestionKey, JudgeAnswer]:
    questions = list(parts)
    return {
        key: JudgeAnswer(part.score == 1, part.kind, part.reason, part.score)
        for key, part in zip(question_keys(part.name for part in questions), questions, strict=True)
    }


class _AnswerPair(NamedTuple):
    """The answers of two judges to the same question about the same image, or about the image as a whole."""

    image: ImageName
    level: int
    question: str
    kind: str
    first: bool | None
    second: bool | None
    first_reason: str = ""
    second_reason: str = ""
    first_score: float | None = None
    second_score: float | None = None

    @property
    def is_graded(self) -> bool:
        """Whether an answer lies between no and yes."""
        return any(score is not None and 0 < score < 1 for score in (self.first_score, self.second_score))


def compare_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None, *, confidence: float = 0.95
) -> JudgeAgreement:
    """Compare two judges over the images of one run. Scores are compared by `Benchmark.study`."""
    with two_judges(folder, first, second) as (one, other):
        return compare_records(one, other, confidence=confidence)


def compare_records(first: RunRecord, second: RunRecord, *, confidence: float = 0.95) -> JudgeAgreement:
    """Compare the judges of one run that was opened twice, each time with another judge."""
    if first.folder != second.folder:
        raise FormalimgError(
            f"{first.folder} and {second.folder} hold different images: compare judges over the images of one run"
        )
    by_first, by_second = image_judgments(first), image_judgments(second)
    if by_first.keys() != by_second.keys():
        raise FormalimgError(f"{first.folder} has grown meanwhile: compare the judges again")
    wholes = [
        _AnswerPair(image, one.level, "", "", one.passed, by_second[image].passed) for image, one in by_first.items()
    ]
    questions = [pair for image, one in by_first.items() for pair in _question_pairs(image, one, by_second[image])]

    def agreement(pairs: Iterable[_AnswerPair]) -> Consistency:
        chosen = list(pairs)
        answers = [(pair.first, pair.second) for pair in chosen]
        return consistency(answers, items=[pair.image.item for pair in chosen], confidence=confidence)

    def by_level(pairs: list[_AnswerPair]) -> dict[int, Consistency]:
        levels = sorted({pair.level for pair in pairs})
        return {level: agreement(pair for pair in pairs if pair.level == level) for level in levels}

    kinds = sorted({pair.kind for pair in questions})
    return JudgeAgreement(
        first.folder.name,
        first.manifest.suite,
        _judge_scores(first, by_first, confidence),
        _judge_scores(second, by_second, confidence),
        count_scored((pair.first is not None, pair.second is not None) for pair in wholes),
        agreement(wholes),
        by_level(wholes),
        agreement(questions),
        {kind: agreement(pair for pair in questions if pair.kind == kind) for kind in kinds},
        by_level(questions),
        tuple(_disagreements(wholes, questions)),
        confidence,
        sensitivity_specificity(
            [(pair.second, pair.first) for pair in wholes],
            items=[pair.image.item for pair in wholes],
            confidence=confidence,
        ),
        within_level_correlation(
            [(pair.first, pair.second) for pair in wholes],
            [pair.level for pair in wholes],
            items=[pair.image.item for pair in wholes],
            confidence=confidence,
        ),
        _graded_differences(questions, confidence),
    )


def _graded_differences(questions: Iterable[_AnswerPair], confidence: float) -> dict[str, JudgeScoreDifference]:
    """Return the differences of the scores of graded answers, by kind; a kind is graded if one of its answers is."""
    by_kind: dict[str, list[_AnswerPair]] = {}
    for pair in questions:
        by_kind.setdefault(pair.kind, []).append(pair)
    return {
        kind: score_difference([(it.first_score, it.second_score, it.image.item) for it in pairs], confidence)
        for kind, pairs in by_kind.items()
        if any(it.is_graded for it in pairs)
    }


def _question_pairs(image: ImageName, one: ImageJudgment, other: ImageJudgment) -> Iterable[_AnswerPair]:
    for key in dict.fromkeys([*one.answers, *other.answers]):
        first, second = one.answers.get(key), other.answers.get(key)
        yield _AnswerPair(
            image,
            one.level,
            key.text,
            first.kind if first else second.kind if second else "",
            first.holds if first else None,
            second.holds if second else None,
            first.reason if first else "",
            second.reason if second else "",
            first.score if first else None,
            second.score if second else None,
        )


def _judge_scores(run: RunRecord, judgments: Mapping[ImageName, ImageJudgment], confidence: float) -> JudgeScores:
    judge = judge_of(run)
    observed = [Observation(image.item, judgment.level, judgment.passed) for image, judgment in judgments.items()]
    summary = summarize(observed, bands={}, epsilon=None, confidence=confidence)

    def fraction(level: int | None = None) -> MeanFraction:
        chosen = {image: it for image, it in judgments.items() if level in (None, it.level)}
        known = {image: it.score for image, it in chosen.items() if it.score is not None}
        interval = mean_interval(known.values(), confidence, items=[image.item for image in known])
        if interval is not None:  # a normal interval may reach beyond what fractions can be
            interval = Interval(max(0.0, interval.low), min(1.0, interval.high))
        mean = sum(known.values()) / len(known) if known else None
        return MeanFraction(mean, interval, len(known), len(chosen) - len(known))

    by_level = {level: fraction(level) for level in summary.levels}
    return JudgeScores(judge, summary.overall, summary.levels, fraction(), by_level)


def _disagreements(wholes: list[_AnswerPair], questions: list[_AnswerPair]) -> Iterable[Disagreement]:
    by_image: dict[ImageName, list[_AnswerPair]] = {pair.image: [pair] for pair in wholes}
    for pair in questions:
        by_image[pair.image].append(pair)
    for pairs in by_image.values():
        for image, level, question, kind, first, second, first_reason, second_reason, *_ in pairs:
            if first is not None and second is not None and first != second:
                yield Disagreement(*image, level, question, kind, first, second, first_reason, second_reason)
