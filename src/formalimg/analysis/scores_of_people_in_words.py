"""What scores of several people amount to, as tables of words and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.analysis.agreement_tables import AgreementTable, intervals_told
from formalimg.analysis.conduct_in_words import figures_of_conduct, table_of_conduct
from formalimg.analysis.consistency_gaps import ScoreGap
from formalimg.analysis.consistency_study import ScoresStudied
from formalimg.analysis.figure_rows import numbers
from formalimg.analysis.judge_tables import table_of_judge
from formalimg.analysis.people_figures import figures_of_panel, figures_of_ranks
from formalimg.analysis.rater_tables import table_of_pairs, table_of_ranks, table_of_reliability
from formalimg.suites import PASS_MARK, suite


def tables_of_scores_of_people(found: ScoresStudied) -> Iterator[AgreementTable]:
    """How alike people score, what passes by them and by the judge, and how they rank runs."""
    intervals = intervals_told(found.confidence)
    passing = {} if found.passing is None else {f"images with {PASS_MARK:g} or more": found.passing}
    if (judge := table_of_judge(passing, "mean", intervals)) is not None:
        yield judge
    alphas = {"Cronbach's, single scores": found.cronbach, "Krippendorff's, single scores": found.alpha}
    alphas |= {f"Krippendorff's, {name}": panel.alpha for name, panel in passing.items()}
    yield table_of_reliability(alphas, not found.one_rater_per_column, intervals)
    ranks = {"mean scores": found.ranks, **{name: panel.ranks for name, panel in passing.items()}}
    if (ranked := table_of_ranks(ranks, suite(found.suite).level, intervals)) is not None:
        yield ranked
    for name, panel in passing.items():
        yield table_of_pairs(name, panel, "mean")
    if found.conduct is not None:
        yield table_of_conduct(found.conduct)


def figures_of_scores_of_people(found: ScoresStudied) -> Iterator[dict[str, object]]:
    """Every figure of a study of scores, by column."""
    for of, gaps in (("questions, summed up", found.questions), ("whole images", found.whole)):
        if gaps is not None:
            yield from _gap(gaps.overall, {"of": of})
            for level, gap in gaps.by_level.items():
                yield from _gap(gap, {"of": of, "level": level})
            for run, gap in gaps.by_run.items():
                yield from _gap(gap, {"of": of, "run": run})
    for kind, gap in [*found.by_dimension.items(), *found.by_tag.items()]:
        yield from _gap(gap, {"of": "dimensions" if kind in found.by_dimension else "fields", "kind": kind})
    yield {"figure": "Cronbach's alpha of people", "of": "single scores", **numbers(found.cronbach)}
    yield {"figure": "Krippendorff's alpha of people", "of": "single scores", **numbers(found.alpha)}
    if found.passing is not None:
        yield from ({"of": "passing images", **row} for row in figures_of_panel(found.passing))
    yield from ({"of": "mean scores", **row} for row in figures_of_ranks(found.ranks))
    if found.conduct is not None:
        yield from figures_of_conduct(found.conduct)


def _gap(gap: ScoreGap, part: Mapping[str, object]) -> Iterator[dict[str, object]]:
    counts = {"n": gap.n, "left_out": gap.left_out}
    bounds = {"low": gap.interval.low, "high": gap.interval.high} if gap.interval else {}
    yield {"figure": "judge minus people", **part, "value": gap.mean, **bounds, **counts}
    yield {"figure": "score", **part, "first": "people", "value": gap.people, **counts}
    yield {"figure": "score", **part, "first": "judge", "value": gap.judge, **counts}
    yield {"figure": "near", **part, **numbers(gap.near)}
    yield {"figure": "r", **part, **numbers(gap.r)}
