"""What comes out when two judges are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg.analysis.run_judges import judge_of, two_judges
from formalimg.errors import FormalimgError
from formalimg.judges import Part, Verdict
from formalimg.runs import Identity, RunRecord
from formalimg.stats import Consistency, Interval, Observation, Rate, consistency, mean_interval, summarize


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


class ImageName(NamedTuple):
    """An image of a run: its item, and which of the item's images it is."""

    item: str
    sample: int


class Question(NamedTuple):
    """A question about an image, by its words; `again` tells questions of the same words apart, from 0."""

    words: str
    again: int


class Answer(NamedTuple):
    """What a judge says to a question: whether the image shows it, what sort of question it is, and why."""

    holds: bool
    kind: str
    reason: str


@dataclass(frozen=True)
class Opinion:
    """What a judge says about an image.

    Attributes:
        level: the level of the image's item.
        passed: whether it shows all that is asked for; None if unscored.
        score: how much of it; None if unscored.
        answers: what is said to each question; none if unscored.
        reason: why it is unscored; empty if it is not.
    """

    level: int
    passed: bool | None
    score: float | None
    answers: Mapping[Question, Answer]
    reason: str = ""


def opinions(run: RunRecord) -> dict[ImageName, Opinion]:
    """What the judge of a run says about each of its images, in the order of items and samples."""
    found = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        parts = verdict.parts if isinstance(verdict, Verdict) else ()
        found[ImageName(outcome.item, outcome.sample)] = Opinion(
            outcome.level, outcome.passed, outcome.score, _answers(parts), outcome.reason
        )
    return found


def numbered(words: Iterable[str]) -> list[Question]:
    """The questions of these words; those of the same words are told apart."""
    seen = Counter[str]()
    found = []
    for each in words:
        found.append(Question(each, seen[each]))
        seen[each] += 1
    return found


def _answers(parts: Iterable[Part]) -> dict[Question, Answer]:
    asked = list(parts)
    return {
        question: Answer(part.score == 1, part.kind, part.reason)
        for question, part in zip(numbered(part.name for part in asked), asked, strict=True)
    }


class _Pair(NamedTuple):
    """What two judges say to the same question about the same image, or about the image as a whole."""

    image: ImageName
    level: int
    question: str
    kind: str
    first: bool | None
    second: bool | None
    first_reason: str = ""
    second_reason: str = ""


def compare_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None, *, confidence: float = 0.95
) -> JudgesCompared:
    """Compares two judges over the images of one run. Scores of CF-World are compared by `compare_scores`.

    Args:
        folder: the run folder.
        first: one of those who judged it, as `StoredRun.judges()` names them; None for the last but one.
        second: another of them; None for the last.
        confidence: of all intervals.

    Raises:
        FormalimgError: if it is no run, or fewer than two have judged it.
    """
    with two_judges(folder, first, second) as (one, other):
        return compare_records(one, other, confidence=confidence)


def compare_records(first: RunRecord, second: RunRecord, *, confidence: float = 0.95) -> JudgesCompared:
    """Compares the judges of one run that was opened twice, each time with another judge.

    Raises:
        FormalimgError: if these are two runs, or nobody has judged one of them.
    """
    if first.folder != second.folder:
        raise FormalimgError(
            f"{first.folder} and {second.folder} hold different images: compare judges over the images of one run"
        )
    here, there = opinions(first), opinions(second)
    if here.keys() != there.keys():
        raise FormalimgError(f"{first.folder} has grown meanwhile: compare the judges again")
    wholes = [_Pair(image, one.level, "", "", one.passed, there[image].passed) for image, one in here.items()]
    questions = [pair for image, one in here.items() for pair in _questions(image, one, there[image])]

    def agreement(pairs: Iterable[_Pair]) -> Consistency:
        chosen = list(pairs)
        answers = [(pair.first, pair.second) for pair in chosen]
        return consistency(answers, items=[pair.image.item for pair in chosen], confidence=confidence)

    def by_level(pairs: list[_Pair]) -> dict[int, Consistency]:
        levels = sorted({pair.level for pair in pairs})
        return {level: agreement(pair for pair in pairs if pair.level == level) for level in levels}

    kinds = sorted({pair.kind for pair in questions})
    scored = [(pair.first is not None, pair.second is not None) for pair in wholes]
    return JudgesCompared(
        first.folder.name,
        first.manifest.suite,
        _scores(first, here, confidence),
        _scores(second, there, confidence),
        Scored(*(scored.count(which) for which in ((True, True), (True, False), (False, True), (False, False)))),
        agreement(wholes),
        by_level(wholes),
        agreement(questions),
        {kind: agreement(pair for pair in questions if pair.kind == kind) for kind in kinds},
        by_level(questions),
        tuple(_disagreements(wholes, questions)),
        confidence,
    )


def _questions(image: ImageName, one: Opinion, other: Opinion) -> Iterable[_Pair]:
    asked: dict[Question, None] = dict.fromkeys([*one.answers, *other.answers])
    for question in asked:
        here, there = one.answers.get(question), other.answers.get(question)
        kind = here.kind if here else there.kind if there else ""
        yield _Pair(
            image,
            one.level,
            question.words,
            kind,
            here.holds if here else None,
            there.holds if there else None,
            here.reason if here else "",
            there.reason if there else "",
        )


def _scores(run: RunRecord, said: Mapping[ImageName, Opinion], confidence: float) -> JudgeScores:
    judge = judge_of(run)
    seen = [Observation(image.item, opinion.level, opinion.passed) for image, opinion in said.items()]
    summary = summarize(seen, bands={}, epsilon=None, confidence=confidence)

    def fraction(level: int | None = None) -> Fraction:
        chosen = {image: it for image, it in said.items() if level in (None, it.level)}
        known = {image: it.score for image, it in chosen.items() if it.score is not None}
        interval = mean_interval(known.values(), confidence, items=[image.item for image in known])
        mean = sum(known.values()) / len(known) if known else None
        return Fraction(mean, _within_0_and_1(interval), len(known), len(chosen) - len(known))

    return JudgeScores(
        judge,
        summary.overall,
        summary.levels,
        fraction(),
        {level: fraction(level) for level in summary.levels},
    )


def _within_0_and_1(interval: Interval | None) -> Interval | None:
    """The interval of a share: a normal one may reach beyond what shares can be."""
    return None if interval is None else Interval(max(0.0, interval.low), min(1.0, interval.high))


def _disagreements(wholes: list[_Pair], questions: list[_Pair]) -> Iterable[Disagreement]:
    by_image: dict[ImageName, list[_Pair]] = {pair.image: [pair] for pair in wholes}
    for pair in questions:
        by_image[pair.image].append(pair)
    for pairs in by_image.values():
        for image, level, question, kind, first, second, *reasons in pairs:
            if first is not None and second is not None and first != second:
                yield Disagreement(*image, level, question, kind, first, second, *reasons)
