"""Tables and CSV rows for the agreement of two judges, on answers and on scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement
from formalimg.human_eval.agreement.score_agreement import (
    NEAR,
    JudgeScoreAgreement,
    JudgeScoreDifference,
    ScoredCounts,
    ScoreDisagreement,
)
from formalimg.human_eval.agreement.study_tables import (
    answers_headline,
    build_agreement_table,
    build_table,
    by_level,
    count_columns,
    figure_row,
    interval_note,
    number,
    scores_headline,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.runs.manifest import judge_names
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.observations import PASS_THRESHOLD
from formalimg.types import Table

_MAX_SHOWN = 10


def judge_agreement_tables(study: JudgeAgreement) -> Iterator[Table]:
    """Yield the tables of a judge comparison: scores, agreement and disagreements."""
    first, second = judge_names([study.first.judge, study.second.judge])
    names = f"1 is {first}, 2 is {second}."
    level, intervals = get_suite(study.suite).level, interval_note(study.confidence)
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
    scores = (study.first, study.second)
    heads = ("full mark 1", "full mark 2", "fraction 1", "fraction 2")
    yield build_table(
        f"{study.run}: scores by each judge",
        f"{names} In percent, {intervals}. Fraction: the mean fraction of the requirements that are met. "
        f"{_describe_coverage(study.images)}",
        (level, *(Column(head, "percent") for head in heads)),
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
    first, second = judge_names([study.first, study.second])
    names, level = f"1 is {first}, 2 is {second}.", get_suite(study.suite).level
    weights = " Each question has its full weight, as in the published code." * (study.profile == "official-code")
    intervals = interval_note(study.confidence)
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
    scores = (case.first, case.second, case.first - case.second)
    return (case.item, str(case.sample), str(case.level), *scores, text)


def _describe_coverage(images: ScoredCounts) -> str:
    return (
        f"Scored by both: {count_noun(images.both, 'image')}; by 1 alone: {images.only_first}; by 2 alone: "
        f"{images.only_second}; by neither: {images.neither}."
    )


def judge_agreement_rows(study: JudgeAgreement) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a comparison of two judges."""
    names = judge_names([study.first.judge, study.second.judge])
    for name, scores in zip(names, (study.first, study.second), strict=True):
        judge = {"run": study.run, "first": name, "of": "pictures"}
        yield figure_row("full mark", scores.full_mark, **judge)
        for level, rate in scores.full_mark_by_level.items():
            yield figure_row("full mark", rate, **judge, level=level)
        yield figure_row("fraction", scores.fraction, **judge)
        for level, fraction in scores.fraction_by_level.items():
            yield figure_row("fraction", fraction, **judge, level=level)
    pair = {"run": study.run, "first": names[0], "second": names[1]}
    yield figure_row("agreement", study.passed, **pair, of="pictures")
    yield figure_row("r within levels", study.within_levels, **pair, of="pictures")
    for level, agreement in study.passed_by_level.items():
        yield figure_row("agreement", agreement, **pair, of="pictures", level=level)
    yield figure_row("agreement", study.questions, **pair, of="questions")
    for level, agreement in study.questions_by_level.items():
        yield figure_row("agreement", agreement, **pair, of="questions", level=level)
    for kind, agreement in study.questions_by_kind.items():
        yield figure_row("agreement", agreement, **pair, of="questions", kind=kind)
    for kind, difference in study.graded.items():
        yield from _difference_rows(difference, {**pair, "of": "questions", "kind": kind})


def score_agreement_rows(study: JudgeScoreAgreement) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a score comparison of two judges."""
    first, second = judge_names([study.first, study.second])
    pair = {"run": study.run, "of": "pictures", "first": first, "second": second}
    parts: list[tuple[dict[str, object], JudgeScoreDifference]] = [({}, study.scores)]
    parts += [({"level": level}, part) for level, part in study.scores_by_level.items()]
    parts += [({"kind": dimension}, part) for dimension, part in study.scores_by_dimension.items()]
    for columns, part in parts:
        counts = {"run": study.run, "of": "pictures", "n": part.n, "left_out": part.left_out, **columns}
        yield {"figure": "score", "first": first, "value": part.first, **counts}
        yield {"figure": "score", "first": second, "value": part.second, **counts}
        yield from _difference_rows(part, {**pair, **columns}, with_sd=True)
    yield figure_row("r within levels", study.within_levels, **pair)
    for level, agreement in [(None, study.passed), *study.passed_by_level.items()]:
        yield figure_row("agreement on passing", agreement, **pair, level=level)


def _difference_rows(
    difference: JudgeScoreDifference, part: Mapping[str, object], *, with_sd: bool = False
) -> Iterator[dict[str, object]]:
    part = {**part, "n": difference.n, "left_out": difference.left_out}
    yield figure_row("difference", Estimate(difference.difference, difference.interval), **part)
    if with_sd:
        yield {"figure": "sd of differences", **part, "value": difference.sd}
    yield figure_row(f"within {NEAR:g}", Estimate(difference.near.value, difference.near.interval), **part)
    yield figure_row("r", Estimate(difference.r.value, difference.r.interval), **part)
