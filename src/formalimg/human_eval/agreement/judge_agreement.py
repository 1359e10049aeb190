"""Agreement of two judges over the images of one run, by answers or by scores, with its tables and CSV rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import (
    ImageJudgment,
    ImageName,
    JudgeAnswer,
    image_judgments,
    judge_of,
    two_judges,
)
from formalimg.human_eval.agreement.score_agreement import (
    NEAR,
    JudgeScoreAgreement,
    JudgeScoreDifference,
    ScoredCounts,
    ScoreDisagreement,
    count_scored,
    score_difference,
)
from formalimg.human_eval.agreement.study_tables import (
    MeanFraction,
    Row,
    answers_headline,
    build_agreement_table,
    build_table,
    by_level,
    count_columns,
    figure_row,
    figure_rows,
    interval_note,
    number,
    scores_headline,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.runs.manifest import Identity, judge_names
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation, within_level_correlation
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import PASS_THRESHOLD, Interval, Observation, Rate
from formalimg.stats.precision_recall import SensitivitySpecificity, sensitivity_specificity
from formalimg.stats.summary import summarize
from formalimg.types import RunRecord, Table

_MAX_SHOWN = 10


@dataclass(frozen=True)
class JudgeScores:
    """The scores that one judge assigned to a run."""

    judge: Identity  # the judge
    full_mark: Rate  # the pass rate: the share of images that meet all requirements
    full_mark_by_level: Mapping[int, Rate]
    fraction: MeanFraction  # the mean fraction of requirements met
    fraction_by_level: Mapping[int, MeanFraction]


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
    # counted; of images that neither scored, the questions are unscored here
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


class _AnswerPair(NamedTuple):
    """The answers of two judges to the same question about an image, or to the image as a whole."""

    image: ImageName
    level: int
    question: str
    kind: str
    first: bool | None
    second: bool | None
    first_reason: str = ""
    second_reason: str = ""
    scores: tuple[float | None, float | None] = (None, None)


def compare_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None, *, confidence: float = 0.95
) -> JudgeAgreement:
    """Compare two judges over the images of one run; score suites are compared with `Benchmark.study` instead."""
    with two_judges(folder, first, second) as runs:
        return compare_records(*runs, confidence=confidence)


def compare_records(first: RunRecord, second: RunRecord, *, confidence: float = 0.95) -> JudgeAgreement:
    """Compare two judges of a run, given one record of the run per judge."""
    if first.folder != second.folder:
        raise FormalimgError(
            f"{first.folder} and {second.folder} hold different images: compare judges over the images of one run"
        )
    by_first, by_second = image_judgments(first), image_judgments(second)
    if by_first.keys() != by_second.keys():
        raise FormalimgError(f"{first.folder} has new images: compare the judges again")
    wholes = [
        _AnswerPair(image, judgment.level, "", "", judgment.passed, by_second[image].passed)
        for image, judgment in by_first.items()
    ]
    questions = [
        pair for image, judgment in by_first.items() for pair in _pair_questions(image, judgment, by_second[image])
    ]
    items = [pair.image.item for pair in wholes]
    by_kind: dict[str, list[_AnswerPair]] = {}
    for pair in questions:
        by_kind.setdefault(pair.kind, []).append(pair)

    def agreement(pairs: Iterable[_AnswerPair]) -> Consistency:
        pairs = list(pairs)
        answers = [(pair.first, pair.second) for pair in pairs]
        return consistency(answers, items=[pair.image.item for pair in pairs], confidence=confidence)

    def agreement_by_level(pairs: list[_AnswerPair]) -> dict[int, Consistency]:
        levels = sorted({pair.level for pair in pairs})
        return {level: agreement(pair for pair in pairs if pair.level == level) for level in levels}

    return JudgeAgreement(
        first.folder.name,
        first.manifest.suite,
        _score_judge(first, by_first, confidence),
        _score_judge(second, by_second, confidence),
        count_scored((pair.first is not None, pair.second is not None) for pair in wholes),
        agreement(wholes),
        agreement_by_level(wholes),
        agreement(questions),
        {kind: agreement(by_kind[kind]) for kind in sorted(by_kind)},
        agreement_by_level(questions),
        tuple(_find_disagreements(wholes, questions)),
        confidence,
        sensitivity_specificity([(pair.second, pair.first) for pair in wholes], items=items, confidence=confidence),
        within_level_correlation(
            [(pair.first, pair.second) for pair in wholes],
            [pair.level for pair in wholes],
            items=items,
            confidence=confidence,
        ),
        {
            kind: score_difference([(*pair.scores, pair.image.item) for pair in pairs], confidence)
            for kind, pairs in by_kind.items()
            if any(score is not None and 0 < score < 1 for pair in pairs for score in pair.scores)
        },
    )


def _pair_questions(image: ImageName, first: ImageJudgment, second: ImageJudgment) -> Iterator[_AnswerPair]:
    for key in dict.fromkeys([*first.answers, *second.answers]):
        missing = JudgeAnswer(None, "", "", None)
        answer, second_answer = first.answers.get(key, missing), second.answers.get(key, missing)
        yield _AnswerPair(
            *(image, first.level, key.text, answer.kind or second_answer.kind),
            *(answer.holds, second_answer.holds, answer.reason, second_answer.reason),
            (answer.score, second_answer.score),
        )


def _score_judge(run: RunRecord, judgments: Mapping[ImageName, ImageJudgment], confidence: float) -> JudgeScores:
    values = [Observation(image.item, judgment.level, judgment.passed) for image, judgment in judgments.items()]
    summary = summarize(values, bands={}, epsilon=None, confidence=confidence)

    def fraction(level: int | None = None) -> MeanFraction:
        scores = {image: judgment.score for image, judgment in judgments.items() if level in (None, judgment.level)}
        scored = {image: score for image, score in scores.items() if score is not None}
        interval = mean_interval(scored.values(), confidence, items=[image.item for image in scored])
        if interval is not None:  # a normal interval may reach beyond what fractions can be
            interval = Interval(max(0.0, interval.low), min(1.0, interval.high))
        mean = sum(scored.values()) / len(scored) if scored else None
        return MeanFraction(mean, interval, len(scored), len(scores) - len(scored))

    fractions = {level: fraction(level) for level in summary.levels}
    return JudgeScores(judge_of(run), summary.overall, summary.levels, fraction(), fractions)


def _find_disagreements(wholes: list[_AnswerPair], questions: list[_AnswerPair]) -> Iterator[Disagreement]:
    by_image: dict[ImageName, list[_AnswerPair]] = {pair.image: [pair] for pair in wholes}
    for pair in questions:
        by_image[pair.image].append(pair)
    for pairs in by_image.values():
        for image, level, question, kind, first, second, first_reason, second_reason, _ in pairs:
            if first is not None and second is not None and first != second:
                yield Disagreement(*image, level, question, kind, first, second, first_reason, second_reason)


def judge_agreement_tables(study: JudgeAgreement) -> Iterator[Table]:
    """Yield the tables of a judge comparison: scores, agreement and disagreements."""
    scores = (study.first, study.second)
    names, level, intervals = _describe_study(study, [judge.judge for judge in scores])
    if study.passed.n:
        yield answers_headline(
            f"{study.run}: two judges",
            f"{names} Intervals are {100 * study.confidence:g} %, for other items of the same kind.",
            study.passed,
            study.direction,
            study.within_levels,
            names=("1", "2"),
            unit="image",
            table="judges",
        )
    yield build_table(
        f"{study.run}: scores by each judge",
        f"{names} In percent, {intervals}. Fraction: the mean fraction of the requirements that are met. "
        f"{_describe_coverage(study.images)}",
        (level, *(Column(head, "percent") for head in ("full mark 1", "full mark 2", "fraction 1", "fraction 2"))),
        (
            (
                "all" if at is None else str(at),
                *(number(judge.full_mark if at is None else judge.full_mark_by_level[at]) for judge in scores),
                *(number(judge.fraction if at is None else judge.fraction_by_level[at]) for judge in scores),
            )
            for at in [*study.passed_by_level, None]
        ),
        name="judges",
    )
    note = f"{names} In percent, {intervals}."
    passed = [*by_level(study.passed_by_level, level), ("all", study.passed)]
    yield build_agreement_table(f"{study.run}: agreement on whole images", note, passed, name="judges")
    questions = [*study.questions_by_kind.items(), *by_level(study.questions_by_level, level), ("all", study.questions)]
    yield build_agreement_table(f"{study.run}: agreement on questions", note, questions, name="judges")
    if study.graded:
        note = (
            f"{names} Mean scores, from 0 to 1, of the answers that both gave; difference: 1 minus 2, {intervals}. "
            f"near: no more than {NEAR:g} apart, in percent."
        )
        yield _build_difference_table(f"{study.run}: graded answers by each judge", note, [*study.graded.items()])
    if study.disagreements:
        more = f" The first {_MAX_SHOWN} of {len(study.disagreements):,}; the JSON holds all of them."
        yield build_table(
            f"{study.run}: where they disagree",
            names + (more if len(study.disagreements) > _MAX_SHOWN else ""),
            ("item", "sample", level, "question", "1", "2"),
            (
                (
                    *(case.item, str(case.sample), str(case.level), case.question or "(the whole image)"),
                    *("yes" if answer else "no" for answer in (case.first, case.second)),
                )
                for case in study.disagreements[:_MAX_SHOWN]
            ),
            name="judges",
        )


def score_agreement_tables(study: JudgeScoreAgreement) -> Iterator[Table]:
    """Yield the tables of a score comparison: differences, agreement on passing, and the largest disagreements."""
    names, level, intervals = _describe_study(study, [study.first, study.second])
    weights = " Each question has its full weight, as in the published code." * (study.profile == "official-code")
    scores = study.scores
    if scores.n:
        yield scores_headline(
            f"{study.run}: two judges",
            f"{names} Intervals are {100 * study.confidence:g} %, for other items of the same kind.",
            scores.near,
            (scores.first, scores.second),
            Estimate(scores.difference, scores.interval),
            study.within_levels,
            names=("1", "2"),
            distance=NEAR,
            table="judges",
        )
    note = (
        f"{names} Mean scores of the images that both scored, before any gate; difference: 1 minus 2, {intervals}. "
        f"near: no more than {NEAR:g} apart, in percent.{weights} {_describe_coverage(study.images)}"
    )
    levels = [(f"{level}{at}", part) for at, part in study.scores_by_level.items()]
    parts = [*study.scores_by_dimension.items(), *levels, ("all", scores)]
    yield _build_difference_table(f"{study.run}: scores by each judge", note, parts, with_sd=True)
    yield build_agreement_table(
        f"{study.run}: agreement on passing",
        f"{names} An image passes with a score of {PASS_THRESHOLD:g} or more. In percent, {intervals}.",
        [*((f"{level}{at}", part) for at, part in study.passed_by_level.items()), ("all", study.passed)],
        name="judges",
    )
    if study.disagreements:
        more = f" The first {_MAX_SHOWN} of {len(study.disagreements):,}; the JSON holds all, with their questions."
        yield build_table(
            f"{study.run}: where they differ most",
            names + (more if len(study.disagreements) > _MAX_SHOWN else ""),
            (
                *("item", "sample", level, Column("score 1", "score"), Column("score 2", "score")),
                *(Column("difference", "difference"), "largest on"),
            ),
            map(_disagreement_row, study.disagreements[:_MAX_SHOWN]),
            name="judges",
        )


def _describe_study(study: JudgeAgreement | JudgeScoreAgreement, judges: Sequence[Identity]) -> tuple[str, str, str]:
    first, second = judge_names(judges)
    return f"1 is {first}, 2 is {second}.", get_suite(study.suite).level, interval_note(study.confidence)


def _build_difference_table(
    title: str, note: str, parts: Sequence[tuple[str, JudgeScoreDifference]], *, with_sd: bool = False
) -> Table:
    columns: list[Column | str] = [
        *("", Column("score 1", "score"), Column("score 2", "score"), Column("difference", "difference")),
        *([Column("sd", "score")] if with_sd else []),
        *(Column("near", "percent"), Column("r", "number"), *count_columns("n", "left out")),
    ]
    rows = (
        (
            *(name, part.first, part.second, Number(part.difference, part.interval)),
            *([part.sd] if with_sd else []),
            *(number(part.near), number(part.r), part.n, part.left_out),
        )
        for name, part in parts
    )
    return build_table(title, note, columns, rows, name="judges")


def _disagreement_row(case: ScoreDisagreement) -> tuple[Cell, ...]:
    largest, text = case.largest, "–"
    if largest is not None and largest.first is not None and largest.second is not None:
        text = f"{largest.dimension}: {largest.first:.2f}, {largest.second:.2f}"
    return case.item, str(case.sample), str(case.level), case.first, case.second, case.first - case.second, text


def _describe_coverage(images: ScoredCounts) -> str:
    return (
        f"Scored by both: {count_noun(images.both, 'image')}; by 1 alone: {images.only_first}; by 2 alone: "
        f"{images.only_second}; by neither: {images.neither}."
    )


def judge_agreement_rows(study: JudgeAgreement) -> Iterator[Row]:
    """Yield the CSV rows of a comparison of two judges."""
    names = judge_names([study.first.judge, study.second.judge])
    for name, scores in zip(names, (study.first, study.second), strict=True):
        figures = (
            *(("full mark", "full_mark", ""), ("full mark", "full_mark_by_level", "level")),
            *(("fraction", "fraction", ""), ("fraction", "fraction_by_level", "level")),
        )
        yield from figure_rows(scores, figures, run=study.run, first=name, of="pictures")
    pair = {"run": study.run, "first": names[0], "second": names[1]}
    passed = (
        *(("agreement", "passed", ""), ("r within levels", "within_levels", "")),
        ("agreement", "passed_by_level", "level"),
    )
    yield from figure_rows(study, passed, **pair, of="pictures")
    parts = (("questions", ""), ("questions_by_level", "level"), ("questions_by_kind", "kind"))
    yield from figure_rows(study, [("agreement", *part) for part in parts], **pair, of="questions")
    for kind, difference in study.graded.items():
        yield from _difference_rows(difference, {**pair, "of": "questions", "kind": kind})


def score_agreement_rows(study: JudgeScoreAgreement) -> Iterator[Row]:
    """Yield the CSV rows of a score comparison of two judges."""
    first, second = judge_names([study.first, study.second])
    pair = {"run": study.run, "of": "pictures", "first": first, "second": second}
    parts: list[tuple[Row, JudgeScoreDifference]] = [({}, study.scores)]
    parts += [({"level": level}, part) for level, part in study.scores_by_level.items()]
    parts += [({"kind": dimension}, part) for dimension, part in study.scores_by_dimension.items()]
    for columns, part in parts:
        counts = {"run": study.run, "of": "pictures", "n": part.n, "left_out": part.left_out, **columns}
        yield figure_row("score", part.first, first=first, **counts)
        yield figure_row("score", part.second, first=second, **counts)
        yield from _difference_rows(part, {**pair, **columns}, with_sd=True)
    figures = (
        *(("r within levels", "within_levels", ""), ("agreement on passing", "passed", "")),
        ("agreement on passing", "passed_by_level", "level"),
    )
    yield from figure_rows(study, figures, **pair)


def _difference_rows(difference: JudgeScoreDifference, part: Row, *, with_sd: bool = False) -> Iterator[Row]:
    part = {**part, "n": difference.n, "left_out": difference.left_out}
    yield figure_row("difference", Estimate(difference.difference, difference.interval), **part)
    if with_sd:
        yield figure_row("sd of differences", difference.sd, **part)
    yield figure_row(f"within {NEAR:g}", Estimate(difference.near.value, difference.near.interval), **part)
    yield figure_row("r", Estimate(difference.r.value, difference.r.interval), **part)
