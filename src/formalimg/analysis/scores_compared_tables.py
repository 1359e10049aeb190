"""What comes of comparing the scores of two judges, as tables of words and figure by figure."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis.agreement_tables import AgreementTable, agreements, intervals_told
from formalimg.analysis.consistency_gaps import NEAR
from formalimg.analysis.figures_in_words import NOTHING, counted, percent_with_interval
from formalimg.analysis.naming_judges import judge_names
from formalimg.analysis.scores_compared import ScoreDisagreement, ScoresApart, ScoresCompared
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
