"""What comes of comparing the scores of two judges, as tables of words and figure by figure."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis.counterfactual_scores import NEAR
from formalimg.analysis.judge_agreement import JudgesCompared
from formalimg.analysis.run_judges import judge_names
from formalimg.analysis.score_agreement import ScoreDisagreement, ScoresApart, ScoresCompared
from formalimg.analysis.study_tables import (
    NOTHING,
    AgreementTable,
    agreements,
    by_level,
    counted,
    intervals_told,
    numbers,
    percent_with_interval,
)
from formalimg.stats import Consistency
from formalimg.suites import PASS_MARK, suite

_SHOWN = 10


def tables_of_two_scores(found: ScoresCompared) -> Iterator[AgreementTable]:
    """How far the scores of two judges lie apart, how often they agree on passing, and where they differ most."""
    first, second = judge_names([found.first, found.second])
    both, level, scored = f"1 is {first}, 2 is {second}.", suite(found.suite).level, found.images
    covered = f"Scored by both: {counted(scored.both, 'image')}; by 1 alone: {scored.only_first}; by 2 alone: "
    covered += f"{scored.only_second}; by neither: {scored.neither}."
    weights = " Each question has its full weight, as in the published code." * (found.profile == "official-code")
    intervals = intervals_told(found.confidence)
    yield AgreementTable(
        f"{found.run}: scores by each judge",
        f"{both} Mean scores of the images that both scored, before any gate; difference: 1 minus 2, {intervals}. "
        f"near: no more than {NEAR:g} apart, in percent.{weights} {covered}",
        ("", "score 1", "score 2", "difference", "sd", "near", "r", "n", "left out"),
        tuple(
            (
                name,
                _score(it.first),
                _score(it.second),
                _difference(it),
                _score(it.sd),
                percent_with_interval(it.near),
                _score(it.r.value),
                str(it.n),
                str(it.left_out),
            )
            for name, it in (
                *found.scores_by_dimension.items(),
                *((f"{level}{at}", it) for at, it in found.scores_by_level.items()),
                ("all", found.scores),
            )
        ),
    )
    yield agreements(
        f"{found.run}: agreement on passing",
        f"{both} An image passes with a score of {PASS_MARK:g} or more. In percent, {intervals}.",
        [*((f"{level}{at}", it) for at, it in found.passed_by_level.items()), ("all", found.passed)],
    )
    if found.disagreements:
        more = f" The first {_SHOWN} of {len(found.disagreements):,}; the JSON holds all of them, with their questions."
        yield AgreementTable(
            f"{found.run}: where they differ most",
            both + (more if len(found.disagreements) > _SHOWN else ""),
            ("item", "sample", level, "score 1", "score 2", "difference", "most apart on"),
            tuple(map(_row, found.disagreements[:_SHOWN])),
        )


def figures_of_scores(found: ScoresCompared) -> Iterator[dict[str, object]]:
    """One row for each figure, for spreadsheets."""
    first, second = judge_names([found.first, found.second])
    parts: list[tuple[dict[str, object], ScoresApart]] = [({}, found.scores)]
    parts += [({"level": level}, it) for level, it in found.scores_by_level.items()]
    parts += [({"kind": dimension}, it) for dimension, it in found.scores_by_dimension.items()]
    for part, it in parts:
        counts = {"run": found.run, "of": "pictures", "n": it.n, "left_out": it.left_out, **part}
        yield {"figure": "score", "first": first, "value": it.first, **counts}
        yield {"figure": "score", "first": second, "value": it.second, **counts}
        counts |= {"first": first, "second": second}
        yield {"figure": "difference", "value": it.difference, **_ends(it.interval), **counts}
        yield {"figure": "sd of differences", "value": it.sd, **counts}
        yield {"figure": f"within {NEAR:g}", "value": it.near.value, **_ends(it.near.interval), **counts}
        yield {"figure": "r", "value": it.r.value, **_ends(it.r.interval), **counts}
    for level, agreement in [(None, found.passed), *found.passed_by_level.items()]:
        who = {"figure": "agreement on passing", "run": found.run, "first": first, "second": second, "of": "pictures"}
        yield {**who, "level": level, **_agreement(agreement)}


def _agreement(it: Consistency) -> dict[str, object]:
    return {"value": it.value, **_ends(it.interval), "n": it.n, "left_out": it.left_out, "kappa": it.kappa}


def _ends(interval: tuple[float, float] | None) -> dict[str, object]:
    return {} if interval is None else dict(zip(("low", "high"), interval, strict=True))


def _score(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _difference(it: ScoresApart) -> str:
    if it.difference is None:
        return NOTHING
    text = f"{it.difference:+.2f}"
    return text if it.interval is None else f"{text} ({it.interval.low:+.2f} to {it.interval.high:+.2f})"


def _row(it: ScoreDisagreement) -> tuple[str, ...]:
    most = it.most_apart
    where = NOTHING if most is None else f"{most.dimension}: {_score(most.first)}, {_score(most.second)}"
    scores = _score(it.first), _score(it.second), f"{it.first - it.second:+.2f}"
    return it.item, str(it.sample), str(it.level), *scores, where


def tables_of_judges(found: JudgesCompared) -> Iterator[AgreementTable]:
    """How two judges score a run, how often they agree, and where they do not."""
    names = judge_names([found.first.judge, found.second.judge])
    both = f"1 is {names[0]}, 2 is {names[1]}."
    level, intervals = suite(found.suite).level, intervals_told(found.confidence)
    scores, scored = (found.first, found.second), found.images
    covered = f"Scored by both: {counted(scored.both, 'image')}; by 1 alone: {scored.only_first}; by 2 alone: "
    covered += f"{scored.only_second}; by neither: {scored.neither}."
    yield AgreementTable(
        f"{found.run}: scores by each judge",
        f"{both} In percent, {intervals}. Fraction: the mean share of what is asked for that is shown. {covered}",
        (level, "full mark 1", "full mark 2", "fraction 1", "fraction 2"),
        tuple(
            (
                "all" if at is None else str(at),
                *(percent_with_interval(it.full_mark if at is None else it.full_mark_by_level[at]) for it in scores),
                *(percent_with_interval(it.fraction if at is None else it.fraction_by_level[at]) for it in scores),
            )
            for at in [*found.passed_by_level, None]
        ),
    )
    yield agreements(
        f"{found.run}: agreement on whole images",
        f"{both} In percent, {intervals}.",
        [*by_level(found.passed_by_level, level), ("all", found.passed)],
    )
    yield agreements(
        f"{found.run}: agreement on questions",
        f"{both} In percent, {intervals}.",
        [
            *found.questions_by_kind.items(),
            *by_level(found.questions_by_level, level),
            ("all", found.questions),
        ],
    )
    if found.disagreements:
        more = f" The first {_SHOWN} of {len(found.disagreements):,}; the JSON holds all of them."
        yield AgreementTable(
            f"{found.run}: where they disagree",
            both + (more if len(found.disagreements) > _SHOWN else ""),
            ("item", "sample", level, "question", "1", "2"),
            tuple(
                (
                    it.item,
                    str(it.sample),
                    str(it.level),
                    it.question or "(the whole image)",
                    _yes(it.first),
                    _yes(it.second),
                )
                for it in found.disagreements[:_SHOWN]
            ),
        )


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def figures_of_judges(study: JudgesCompared) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of two judges compared."""
    names = judge_names([study.first.judge, study.second.judge])
    for name, scores in zip(names, (study.first, study.second), strict=True):
        who = {"run": study.run, "first": name, "of": "pictures"}
        for figure, whole, levels in (
            ("full mark", scores.full_mark, scores.full_mark_by_level),
            ("fraction", scores.fraction, scores.fraction_by_level),
        ):
            yield {"figure": figure, **who, **numbers(whole)}
            for level, part in levels.items():
                yield {"figure": figure, **who, "level": level, **numbers(part)}
    who = {"run": study.run, "figure": "agreement", "first": names[0], "second": names[1]}
    yield {**who, "of": "pictures", **numbers(study.passed)}
    for level, it in study.passed_by_level.items():
        yield {**who, "of": "pictures", "level": level, **numbers(it)}
    yield {**who, "of": "questions", **numbers(study.questions)}
    for level, it in study.questions_by_level.items():
        yield {**who, "of": "questions", "level": level, **numbers(it)}
    for kind, it in study.questions_by_kind.items():
        yield {**who, "of": "questions", "kind": kind, **numbers(it)}
