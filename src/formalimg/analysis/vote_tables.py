"""Ratings on five points, as tables of words and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.analysis.attention import figures_of_conduct, table_of_conduct
from formalimg.analysis.rater_agreement import JUDGE, MAJORITY, Panel, Score
from formalimg.analysis.rater_tables import (
    figures_of_judge,
    table_of_judge,
    table_of_pairs,
    table_of_ranks,
    table_of_reliability,
)
from formalimg.analysis.study_tables import (
    NOTHING,
    AgreementTable,
    agreements,
    alike_told,
    by_level,
    counted,
    intervals_told,
    number_with_interval,
    numbers,
    percent,
    percent_with_interval,
)
from formalimg.analysis.vote_study import MeanPoints, PeopleStudied, PointsStudied
from formalimg.stats import Correlation, RankAgreement, Rate
from formalimg.suites import suite


def tables_of_points(points: PointsStudied, level: str, intervals: str) -> Iterator[AgreementTable]:
    """What people gave, run by run and in all.

    Args:
        points: the ratings.
        level: what levels are called.
        intervals: what is said of the intervals.
    """
    waiting = sum(it.passed is None for it in points.images)
    open_told = f" Not yet decided, because ratings are missing: {counted(waiting, 'image')}." if waiting else ""
    yield AgreementTable(
        "Five points: means",
        f"Mean over images of their mean rating from 1 to 5, {intervals}. A mean of 4 or more passes.{open_told}",
        ("run", level, "mean", "ratings"),
        tuple(
            (it.run, "all" if it.level is None else str(it.level), _mean(it), str(it.ratings)) for it in points.means
        ),
        "detail",
    )
    ratings = sum(points.histogram.values())
    yield AgreementTable(
        "Five points: how often each was given",
        f"{counted(ratings, 'rating')}, in percent.",
        tuple(map(str, points.histogram)),
        (tuple(percent(count / ratings) for count in points.histogram.values()),),
        "detail",
    )


def figures_of_points(points: PointsStudied) -> Iterator[dict[str, object]]:
    """The same for spreadsheets."""
    yield {"figure": "Cronbach's alpha of people", "of": "five points", **numbers(points.cronbach)}
    yield {"figure": "Krippendorff's alpha of people", "of": "five points", **numbers(points.alpha)}
    for it in points.means:
        row: dict[str, object] = {"figure": "mean rating", "of": "five points", "run": it.run, "level": it.level}
        row |= {"value": it.mean, "n": it.ratings}
        yield row | ({"low": it.interval.low, "high": it.interval.high} if it.interval else {})
    ratings = sum(points.histogram.values())
    for rating, count in points.histogram.items():
        share = {"value": count / ratings, "n": ratings}
        yield {"figure": "share of ratings", "of": "five points", "kind": str(rating), **share}


def _mean(it: MeanPoints) -> str:
    if it.mean is None:
        return NOTHING
    return f"{it.mean:.2f}" + (f" ({it.interval.low:.2f} to {it.interval.high:.2f})" if it.interval else "")


def tables_of_people(found: PeopleStudied) -> Iterator[AgreementTable]:
    """What people and the judge say: first what the study was made for, then part by part, then what is looked up."""
    first, *others = _tables(found)
    yield first._replace(note=f"{_told(found)} {first.note}")
    yield from others


def _tables(found: PeopleStudied) -> Iterator[AgreementTable]:
    level, intervals = suite(found.suite).level, intervals_told(found.confidence)
    panels = {"whole images": found.whole, "all questions": found.all_questions, "questions": found.questions}
    there = {name: panel for name, panel in panels.items() if panel is not None}
    if (judge := table_of_judge(there, found.together, intervals)) is not None:
        yield judge
    yield _reliability(found, there, intervals)
    if (ranks := table_of_ranks({name: it.ranks for name, it in there.items()}, level, intervals)) is not None:
        yield ranks
    for name, panel in there.items():
        if panel.with_judge.n:
            yield _with_judge(name, panel, found, level)
    for name, panel in there.items():
        yield _scores(name, panel, found, level)
    for name, panel in there.items():
        yield table_of_pairs(name, panel, found.together)
    if found.divergence:
        yield _divergence(found, level)
    if found.conduct is not None:
        yield table_of_conduct(found.conduct)
    for name, panel in there.items():
        yield from _scores_on_the_same(name, panel, found, level)
    if correlations := [row for name, panel in there.items() for row in _correlations(name, panel, level)]:
        heads = ("scores on", "from", "r", "points", "left out")
        note = f"Pearson's r of the scores of people and judge on what both decided, {intervals} from four points on."
        yield AgreementTable("Do scores go together?", note, heads, tuple(correlations), "detail")
    if found.points is not None:
        yield from tables_of_points(found.points, level, intervals)


def _told(found: PeopleStudied) -> str:
    judges = ", ".join(sorted({judge.name if judge else "nobody" for judge in found.judges.values()}))
    said = counted(found.votes, "vote" if found.points is None else "rating")
    told = f"{counted(len(found.raters), 'rater')}, {said}; the judge is {judges}."
    if found.points is not None:
        told += " A rater's 4 or 5 points are a yes, and together they say yes with a mean of 4 or more."
    if found.unscored:
        reasons = ", ".join(f"{reason} {images}" for reason, images in found.unscored.items())
        told += f" Images without a verdict of the judge: {sum(found.unscored.values())} ({reasons})."
    for run in found.without_votes:
        told += f" Nobody voted on {run}."
    return told + alike_told(found.raters)


def _reliability(found: PeopleStudied, there: Mapping[str, Panel], intervals: str) -> AgreementTable:
    alphas = {}
    if found.points is not None:
        alphas = {"Cronbach's, five points": found.points.cronbach, "Krippendorff's, five points": found.points.alpha}
    for name, panel in there.items():
        alphas |= {f"Cronbach's, {name}": panel.cronbach, f"Krippendorff's, {name}": panel.alpha}
    by_turns = not all(panel.one_rater_per_column for panel in there.values())
    return table_of_reliability(alphas, by_turns, intervals)


def _with_judge(name: str, panel: Panel, found: PeopleStudied, level: str) -> AgreementTable:
    return agreements(
        f"People and judge: {name}",
        f"How often {found.together} and judge say the same, in percent, {intervals_told(found.confidence)}.",
        [
            *panel.with_judge_by_kind.items(),
            *by_level(panel.with_judge_by_level, level),
            *(panel.with_judge_by_run.items() if len(panel.with_judge_by_run) > 1 else ()),
            ("all", panel.with_judge),
        ],
    )


def _scores(name: str, panel: Panel, found: PeopleStudied, level: str) -> AgreementTable:
    """The scores of people and judge, each over all that they decided."""
    count = f"{panel.undecided} of {panel.cases}"
    waits = f"Yes by mean; {count} wait for ratings." if found.points is not None else f"Undecided: {count}."
    return AgreementTable(
        f"Scores: {name}",
        f"The share of yes, in percent, {intervals_told(found.confidence)}. {waits}",
        ("run", level, "people", "judge", "decided", "judged"),
        tuple(
            (*_whose(it), *map(percent_with_interval, (it.people, it.judge)), _of_all(it.people), _of_all(it.judge))
            for it in panel.scores
        ),
    )


def _scores_on_the_same(name: str, panel: Panel, found: PeopleStudied, level: str) -> Iterator[AgreementTable]:
    """The scores over what both decided, where that is not everything."""
    others = [it for it in panel.scores if it.people_of_both.coverage < 1]
    if others and panel.with_judge.n:
        yield AgreementTable(
            f"Scores on the same: {name}",
            f"In percent, {intervals_told(found.confidence)}. Only what has both a {found.together} and a verdict of "
            "the judge; where that is everything, the scores are those above. Correlations and figures are of these.",
            ("run", level, "people", "judge", "both"),
            tuple(
                (
                    *_whose(it),
                    *map(percent_with_interval, (it.people_of_both, it.judge_of_both)),
                    _of_all(it.people_of_both),
                )
                for it in others
            ),
            "detail",
        )


def _whose(score: Score) -> tuple[str, str]:
    return score.run, "all" if score.level is None else str(score.level)


def _of_all(rate: Rate) -> str:
    return f"{rate.scored}/{rate.expected}"


def _correlations(name: str, panel: Panel, level: str) -> Iterator[tuple[str, ...]]:
    """All correlations that there are enough points for; a dash where one side scores all the same."""
    sources: dict[str, Correlation] = {f"{level} to {level}, {run}": r for run, r in panel.r_by_level.items()}
    sources |= {f"run to run, {level} {at}": r for at, r in panel.r_by_run.items()}
    for source, r in sources.items():
        if r.n > 2:
            yield name, source, number_with_interval(r), str(r.n), str(r.left_out)


def _divergence(found: PeopleStudied, level: str) -> AgreementTable:
    all_levels = [("all", found.divergence)] if found.divergence else []
    return AgreementTable(
        "Whole image and questions, by the same person",
        f"In percent, {intervals_told(found.confidence)}. Yes, no: yes for the whole, and no to a question. No, yes: "
        "the other way round.",
        ("", "the same", "yes, no", "no, yes", "n", "left out"),
        tuple(
            (
                name,
                percent_with_interval(it.agreement),
                percent_with_interval(it.yes_then_no),
                percent_with_interval(it.no_then_yes),
                str(it.agreement.n),
                str(it.agreement.left_out),
            )
            for name, it in [*by_level(found.divergence_by_level, level), *all_levels]
        ),
    )


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
