"""What comes of comparing people with each other and with a judge, as tables of words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.stats import Correlation, Rate
from formalimg.studies.agreement_tables import AgreementTable, agreements, by_level, intervals_told, tables_of_panels
from formalimg.studies.conduct_in_words import table_of_conduct
from formalimg.studies.figures_in_words import alike_told, counted, percent, percent_with_interval
from formalimg.studies.panels import Panel, Score
from formalimg.studies.people import PeopleStudied
from formalimg.studies.points_in_words import tables_of_points
from formalimg.studies.rater_tables import table_of_alphas, table_of_ranks
from formalimg.suites import suite


def tables_of_people(found: PeopleStudied) -> Iterator[AgreementTable]:
    """How people score, how often they agree with each other and with the judge, and with themselves."""
    level, intervals = suite(found.suite).level, intervals_told(found.confidence)
    panels = {"whole pictures": found.whole, "all questions": found.all_questions, "questions": found.questions}
    there = {name: panel for name, panel in panels.items() if panel is not None}
    told = f"{_told(found)} In percent, {intervals}."
    for name, panel in there.items():
        yield from _scores(name, panel, level, told, by_mean=found.points is not None)
        yield agreements(
            f"Majority and judge: {name}",
            told,
            [
                *panel.with_judge_by_kind.items(),
                *by_level(panel.with_judge_by_level, level),
                *panel.with_judge_by_run.items(),
                ("all", panel.with_judge),
            ],
        )
        yield table_of_pairs(f"Any two: {name}", panel)
    yield from tables_of_panels(there, intervals)
    yield from _raters(found, there, level, intervals)
    correlations = [row for name, panel in there.items() for row in _correlations(name, panel, level)]
    if correlations:
        heads = ("scores on", "from", "r", "points", "left out")
        note = f"Pearson's r of the scores of people and judge on what has both a majority and a verdict, {intervals}."
        yield AgreementTable("Do scores go together?", note, heads, tuple(correlations))
    if found.divergence:
        yield _divergence(found, level)
    if found.points is not None:
        yield from tables_of_points(found.points, level, intervals)
    if found.conduct is not None:
        yield table_of_conduct(found.conduct)


def _raters(found: PeopleStudied, there: Mapping[str, Panel], level: str, intervals: str) -> Iterator[AgreementTable]:
    alphas = {f"Cronbach's, {name}": panel.cronbach for name, panel in there.items()}
    by_turns = not all(panel.one_rater_per_column for panel in there.values())
    if found.points is not None:
        alphas |= {"Cronbach's, five points": found.points.cronbach, "Krippendorff's, five points": found.points.alpha}
    yield table_of_alphas(alphas, by_turns, intervals)
    ranks = table_of_ranks({name: panel.ranks for name, panel in there.items()}, level, intervals)
    if ranks is not None:
        yield ranks


def _told(found: PeopleStudied) -> str:
    judges = ", ".join(sorted({judge.name if judge else "nobody" for judge in found.judges.values()}))
    said = counted(found.votes, "vote" if found.points is None else "rating")
    told = f"{counted(len(found.raters), 'rater')}, {said}; the judge is {judges}."
    if found.points is not None:
        told += " A rater's 4 or 5 points are a yes, and together they say yes with a mean of 4 or more."
    for run in found.without_votes:
        told += f" Nobody voted on {run}."
    return told + alike_told(found.raters)


def _scores(name: str, panel: Panel, level: str, told: str, *, by_mean: bool) -> Iterator[AgreementTable]:
    """The scores of people and judge, each over all that they decided; then over the same, if these are others."""
    count = f"{panel.undecided} of {panel.cases}"
    undecided = f"Yes by mean; {count} wait for ratings." if by_mean else f"Yes by majority; {count} have none."
    yield AgreementTable(
        f"Scores by people: {name}",
        f"{told} {undecided}",
        ("run", level, "people", "judge", "decided", "judged"),
        tuple(
            (*_whose(it), *map(percent_with_interval, (it.people, it.judge)), _of_all(it.people), _of_all(it.judge))
            for it in panel.scores
        ),
    )
    judged = any(it.judge_of_both.scored for it in panel.scores)
    if judged and any(it.people_of_both.coverage < 1 for it in panel.scores):
        yield AgreementTable(
            f"Scores on the same: {name}",
            f"{told} Only what has both a majority and a verdict of the judge; r is of these scores.",
            ("run", level, "people", "judge", "both"),
            tuple(
                (
                    *_whose(it),
                    *map(percent_with_interval, (it.people_of_both, it.judge_of_both)),
                    _of_all(it.people_of_both),
                )
                for it in panel.scores
            ),
        )


def _whose(score: Score) -> tuple[str, str]:
    return score.run, "all" if score.level is None else str(score.level)


def _of_all(rate: Rate) -> str:
    return f"{rate.scored}/{rate.expected}"


def table_of_pairs(title: str, panel: Panel) -> AgreementTable:
    """How often any two of people, their majority and the judge say the same."""
    mean = panel.people
    told = "No two people voted on the same." if mean.value is None else f"Any two people: {percent(mean.value)}."
    rows = tuple(
        (name, *(percent(row[other].value) if other in row else "" for other in panel.matrix))
        for name, row in panel.matrix.items()
    )
    return AgreementTable(
        title,
        f"How often they agree, in percent. The majority holds the votes of each rater. {told}",
        ("", *panel.matrix),
        rows,
    )


def _correlations(name: str, panel: Panel, level: str) -> Iterator[tuple[str, ...]]:
    sources: dict[str, Correlation] = {f"{level} to {level}, {run}": r for run, r in panel.r_by_level.items()}
    sources |= {f"run to run, {level} {at}": r for at, r in panel.r_by_run.items()}
    for source, r in sources.items():
        if r.value is not None:
            bounds = f" ({r.interval.low:.2f} to {r.interval.high:.2f})" if r.interval else ""
            yield name, source, f"{r.value:.2f}{bounds}", str(r.n), str(r.left_out)


def _divergence(found: PeopleStudied, level: str) -> AgreementTable:
    all_levels = [("all", found.divergence)] if found.divergence else []
    return AgreementTable(
        "Whole picture and questions, by the same person",
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
