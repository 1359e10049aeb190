"""Tables and CSV rows of the agreement of two judges, on answers and on scores."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.benchmarks.registry import suite
from formalimg.human_eval.agreement.headline_tables import answers_headline, scores_headline
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement, ScoredCounts
from formalimg.human_eval.agreement.score_agreement import JudgeScoreAgreement, ScoreDisagreement
from formalimg.human_eval.agreement.score_gap import NEAR, JudgeScoreDifference
from formalimg.human_eval.agreement.study_tables import (
    build_agreement_table,
    build_table,
    by_level,
    count_columns,
    estimate_columns,
    interval_note,
    number,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.runs.manifest import judge_names
from formalimg.stats.observations import PASS_THRESHOLD
from formalimg.types import Table

_MAX_SHOWN = 10


def judge_agreement_tables(found: JudgeAgreement) -> Iterator[Table]:
    """Yield the scores of a run by two judges, how often they agree, and where they do not."""
    first, second = judge_names([found.first.judge, found.second.judge])
    names = f"1 is {first}, 2 is {second}."
    level, intervals = suite(found.suite).level, interval_note(found.confidence)
    if found.passed.n:
        yield answers_headline(
            f"{found.run}: two judges",
            f"{names} Intervals are {100 * found.confidence:g} %, for other items of the same kind.",
            found.passed,
            found.direction,
            found.within_levels,
            who=("1", "2"),
            unit="image",
            name="judges",
        )
    scores = (found.first, found.second)
    heads = ("full mark 1", "full mark 2", "fraction 1", "fraction 2")
    yield build_table(
        f"{found.run}: scores by each judge",
        f"{names} In percent, {intervals}. Fraction: the mean fraction of the requirements that are met. "
        f"{_coverage(found.images)}",
        (level, *(Column(head, "percent") for head in heads)),
        (
            (
                "all" if at is None else str(at),
                *(number(it.full_mark if at is None else it.full_mark_by_level[at]) for it in scores),
                *(number(it.fraction if at is None else it.fraction_by_level[at]) for it in scores),
            )
            for at in [*found.passed_by_level, None]
        ),
        name="judges",
    )
    note = f"{names} In percent, {intervals}."
    passed = [*by_level(found.passed_by_level, level), ("all", found.passed)]
    yield build_agreement_table(f"{found.run}: agreement on whole images", note, passed, name="judges")
    questions = [*found.questions_by_kind.items(), *by_level(found.questions_by_level, level), ("all", found.questions)]
    yield build_agreement_table(f"{found.run}: agreement on questions", note, questions, name="judges")
    if found.graded:
        yield _graded_table(found, names)
    if found.disagreements:
        more = f" The first {_MAX_SHOWN} of {len(found.disagreements):,}; the JSON holds all of them."
        yield build_table(
            f"{found.run}: where they disagree",
            names + (more if len(found.disagreements) > _MAX_SHOWN else ""),
            ("item", "sample", level, "question", "1", "2"),
            (
                (
                    it.item,
                    str(it.sample),
                    str(it.level),
                    it.question or "(the whole image)",
                    *("yes" if answer else "no" for answer in (it.first, it.second)),
                )
                for it in found.disagreements[:_MAX_SHOWN]
            ),
            name="judges",
        )


def _graded_table(found: JudgeAgreement, names: str) -> Table:
    heads = (*(Column(head, "score") for head in ("score 1", "score 2")), Column("difference", "difference"))
    rows = [
        (
            *(kind, it.first, it.second, Number(it.difference, it.interval)),
            *(number(it.near), number(it.r), it.n, it.left_out),
        )
        for kind, it in found.graded.items()
    ]
    return build_table(
        f"{found.run}: graded answers by each judge",
        f"{names} Mean scores, from 0 to 1, of the answers that both gave; difference: 1 minus 2, "
        f"{interval_note(found.confidence)}. near: no more than {NEAR:g} apart, in percent.",
        ("", *heads, Column("near", "percent"), Column("r", "number"), *count_columns("n", "left out")),
        rows,
        name="judges",
    )


def judge_agreement_rows(study: JudgeAgreement) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of two judges compared."""
    names = judge_names([study.first.judge, study.second.judge])
    for name, scores in zip(names, (study.first, study.second), strict=True):
        who = {"run": study.run, "first": name, "of": "pictures"}
        yield {"figure": "full mark", **who, **estimate_columns(scores.full_mark)}
        for level, rate in scores.full_mark_by_level.items():
            yield {"figure": "full mark", **who, "level": level, **estimate_columns(rate)}
        yield {"figure": "fraction", **who, **estimate_columns(scores.fraction)}
        for level, fraction in scores.fraction_by_level.items():
            yield {"figure": "fraction", **who, "level": level, **estimate_columns(fraction)}
    who = {"run": study.run, "figure": "agreement", "first": names[0], "second": names[1]}
    yield {**who, "of": "pictures", **estimate_columns(study.passed)}
    yield {**who, "figure": "r within levels", "of": "pictures", **estimate_columns(study.within_levels)}
    for level, it in study.passed_by_level.items():
        yield {**who, "of": "pictures", "level": level, **estimate_columns(it)}
    yield {**who, "of": "questions", **estimate_columns(study.questions)}
    for level, it in study.questions_by_level.items():
        yield {**who, "of": "questions", "level": level, **estimate_columns(it)}
    for kind, it in study.questions_by_kind.items():
        yield {**who, "of": "questions", "kind": kind, **estimate_columns(it)}
    for kind, gap in study.graded.items():
        of = {**who, "of": "questions", "kind": kind, "n": gap.n, "left_out": gap.left_out}
        yield {**of, "figure": "difference", "value": gap.difference, **_bounds(gap.interval)}
        yield {**of, "figure": f"within {NEAR:g}", "value": gap.near.value, **_bounds(gap.near.interval)}
        yield {**of, "figure": "r", "value": gap.r.value, **_bounds(gap.r.interval)}


def score_agreement_tables(found: JudgeScoreAgreement) -> Iterator[Table]:
    """Yield the differences of the scores of two judges, their agreement on passing, and the largest differences."""
    first, second = judge_names([found.first, found.second])
    names, level = f"1 is {first}, 2 is {second}.", suite(found.suite).level
    weights = " Each question has its full weight, as in the published code." * (found.profile == "official-code")
    intervals = interval_note(found.confidence)
    parts = [
        *found.scores_by_dimension.items(),
        *((f"{level}{at}", it) for at, it in found.scores_by_level.items()),
        ("all", found.scores),
    ]
    if found.scores.n:
        yield scores_headline(
            f"{found.run}: two judges",
            f"{names} Intervals are {100 * found.confidence:g} %, for other items of the same kind.",
            found.scores.near,
            (found.scores.first, found.scores.second),
            (found.scores.difference, found.scores.interval),
            found.within_levels,
            who=("1", "2"),
            distance=NEAR,
            name="judges",
        )
    yield build_table(
        f"{found.run}: scores by each judge",
        f"{names} Mean scores of the images that both scored, before any gate; difference: 1 minus 2, {intervals}. "
        f"near: no more than {NEAR:g} apart, in percent.{weights} {_coverage(found.images)}",
        (
            "",
            *(Column(head, "score") for head in ("score 1", "score 2")),
            Column("difference", "difference"),
            Column("sd", "score"),
            Column("near", "percent"),
            Column("r", "number"),
            *count_columns("n", "left out"),
        ),
        (
            (
                name,
                it.first,
                it.second,
                Number(it.difference, it.interval),
                it.sd,
                number(it.near),
                number(it.r),
                it.n,
                it.left_out,
            )
            for name, it in parts
        ),
        name="judges",
    )
    yield build_agreement_table(
        f"{found.run}: agreement on passing",
        f"{names} An image passes with a score of {PASS_THRESHOLD:g} or more. In percent, {intervals}.",
        [*((f"{level}{at}", it) for at, it in found.passed_by_level.items()), ("all", found.passed)],
        name="judges",
    )
    if found.disagreements:
        more = f" The first {_MAX_SHOWN} of {len(found.disagreements):,}; the JSON holds all, with their questions."
        yield build_table(
            f"{found.run}: where they differ most",
            names + (more if len(found.disagreements) > _MAX_SHOWN else ""),
            (
                *("item", "sample", level),
                *(Column(head, "score") for head in ("score 1", "score 2")),
                Column("difference", "difference"),
                "largest on",
            ),
            map(_disagreement_row, found.disagreements[:_MAX_SHOWN]),
            name="judges",
        )


def score_agreement_rows(found: JudgeScoreAgreement) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of the scores of two judges."""
    first, second = judge_names([found.first, found.second])
    parts: list[tuple[dict[str, object], JudgeScoreDifference]] = [({}, found.scores)]
    parts += [({"level": level}, it) for level, it in found.scores_by_level.items()]
    parts += [({"kind": dimension}, it) for dimension, it in found.scores_by_dimension.items()]
    for part, it in parts:
        counts = {"run": found.run, "of": "pictures", "n": it.n, "left_out": it.left_out, **part}
        yield {"figure": "score", "first": first, "value": it.first, **counts}
        yield {"figure": "score", "first": second, "value": it.second, **counts}
        counts |= {"first": first, "second": second}
        yield {"figure": "difference", "value": it.difference, **_bounds(it.interval), **counts}
        yield {"figure": "sd of differences", "value": it.sd, **counts}
        yield {"figure": f"within {NEAR:g}", "value": it.near.value, **_bounds(it.near.interval), **counts}
        yield {"figure": "r", "value": it.r.value, **_bounds(it.r.interval), **counts}
    both = {"run": found.run, "first": first, "second": second, "of": "pictures"}
    yield {"figure": "r within levels", **both, **estimate_columns(found.within_levels)}
    for level, agreement in [(None, found.passed), *found.passed_by_level.items()]:
        who = {"figure": "agreement on passing", "run": found.run, "first": first, "second": second, "of": "pictures"}
        yield {**who, "level": level, **estimate_columns(agreement)}


def _coverage(images: ScoredCounts) -> str:
    return (
        f"Scored by both: {count_noun(images.both, 'image')}; by 1 alone: {images.only_first}; by 2 alone: "
        f"{images.only_second}; by neither: {images.neither}."
    )


def _bounds(interval: tuple[float, float] | None) -> dict[str, object]:
    return {} if interval is None else dict(zip(("low", "high"), interval, strict=True))


def _disagreement_row(it: ScoreDisagreement) -> tuple[Cell, ...]:
    largest, where = it.largest, "–"
    if largest is not None and largest.first is not None and largest.second is not None:
        where = f"{largest.dimension}: {largest.first:.2f}, {largest.second:.2f}"
    return it.item, str(it.sample), str(it.level), it.first, it.second, it.first - it.second, where
