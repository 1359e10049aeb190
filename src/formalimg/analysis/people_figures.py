"""What comes of comparing people with each other and with a judge, figure by figure, for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis.cases import JUDGE, MAJORITY
from formalimg.analysis.conduct_in_words import figures_of_conduct
from formalimg.analysis.figure_rows import numbers
from formalimg.analysis.judge_tables import figures_of_judge
from formalimg.analysis.panels import Panel
from formalimg.analysis.people import PeopleStudied
from formalimg.analysis.points_in_words import figures_of_points
from formalimg.stats import RankAgreement


def figures_of_people(study: PeopleStudied) -> Iterator[dict[str, object]]:
    """Every figure of a study of votes or points, by column."""
    for of, panel in (
        ("whole images", study.whole),
        ("all questions", study.all_questions),
        ("questions", study.questions),
    ):
        if panel is not None:
            yield from ({"of": of, **line} for line in figures_of_panel(panel))
    for level, it in [(None, study.divergence), *study.divergence_by_level.items()]:
        if it is not None:
            who = {"of": "whole images and all questions", "level": level}
            yield {"figure": "same in both steps", **who, **numbers(it.agreement)}
            yield {"figure": "yes, then no", **who, **numbers(it.yes_then_no)}
            yield {"figure": "no, then yes", **who, **numbers(it.no_then_yes)}
    for rater, levels in study.divergence_by_rater.items():
        for level, it in levels.items():
            who = {"of": "whole images and all questions", "first": rater, "level": level}
            yield {"figure": "same in both steps", **who, **numbers(it.agreement)}
    if study.points is not None:
        yield from figures_of_points(study.points)
    if study.conduct is not None:
        yield from figures_of_conduct(study.conduct)


def figures_of_panel(panel: Panel) -> Iterator[dict[str, object]]:
    """Every figure of people and a judge over the same cases, by column."""
    for score in panel.scores:
        for figure, who, rate in (
            ("score", MAJORITY, score.people),
            ("score", JUDGE, score.judge),
            ("score on what both decided", MAJORITY, score.people_of_both),
            ("score on what both decided", JUDGE, score.judge_of_both),
        ):
            yield {"figure": figure, "run": score.run, "level": score.level, "first": who, **numbers(rate)}
    both = {"figure": "agreement", "first": MAJORITY, "second": JUDGE}
    for level, it in panel.with_judge_by_level.items():
        yield {**both, "level": level, **numbers(it)}
    for run, it in panel.with_judge_by_run.items():
        yield {**both, "run": run, **numbers(it)}
    for kind, it in panel.with_judge_by_kind.items():
        yield {**both, "kind": kind, **numbers(it)}
    names = list(panel.matrix)
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            yield {"figure": "agreement", "first": first, "second": second, **numbers(panel.matrix[first][second])}
    yield {"figure": "mean agreement of people", **numbers(panel.people)}
    yield {"figure": "Krippendorff's alpha of people", **numbers(panel.alpha)}
    yield {"figure": "Cronbach's alpha of people", **numbers(panel.cronbach)}
    for name, figure_of in figures_of_judge(panel.classified).items():
        whole = {"n": panel.classified.n, "left_out": panel.classified.left_out}
        yield {"figure": name, "first": MAJORITY, "second": JUDGE, **whole, **numbers(figure_of)}
    for run, r in panel.r_by_level.items():
        yield {"figure": "r from level to level", "run": run, "first": MAJORITY, "second": JUDGE, **numbers(r)}
    for level, r in panel.r_by_run.items():
        yield {"figure": "r from run to run", "level": level, "first": MAJORITY, "second": JUDGE, **numbers(r)}
    yield from figures_of_ranks(panel.ranks)
    for own in panel.by_rater:
        yield {"figure": "score", "run": own.run, "level": own.level, "first": own.rater, **numbers(own.rate)}


def figures_of_ranks(ranks: RankAgreement) -> Iterator[dict[str, object]]:
    """How alike people and judge rank runs, level by level and on average, by column."""
    who = {"first": MAJORITY, "second": JUDGE}
    for level, r in ranks.by_level.items():
        yield {"figure": "rank correlation of runs", **who, "level": level, **numbers(r)}
    mean = {"value": ranks.mean, "n": ranks.levels, "left_out": ranks.left_out}
    yield {"figure": "mean rank correlation of runs", **who, **mean}
