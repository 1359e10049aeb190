"""What comes of comparing judges and people, as tables of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.runs import Party
from formalimg.stats import Consistency, Correlation, Interval, Rate
from formalimg.studies.judges_compared import Fraction, JudgesCompared
from formalimg.studies.panels import Panel
from formalimg.studies.people import PeopleStudied, Share
from formalimg.suites import suite

_NOTHING = "–"
_SHOWN = 10

_Figure = TypeVar("_Figure")


class AgreementTable(NamedTuple):
    """A table: its title, what has to be known to read it, the heads of its columns, and its rows."""

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Agreements: TypeAlias = Iterable[tuple[str, Consistency]]
"""Figures with their names."""


def judge_names(first: Party, second: Party) -> tuple[str, str]:
    """The names of two judges; with the settings in which they differ, if they have the same name."""
    if first.name != second.name:
        return first.name, second.name

    def apart(one: Party, other: Party) -> str:
        own = [f"{key}={value}" for key, value in one.settings.items() if other.settings.get(key) != value]
        return f"{one.name} ({', '.join(own) or 'without'})"

    return apart(first, second), apart(second, first)


def tables_of_judges(found: JudgesCompared) -> Iterator[AgreementTable]:
    """How two judges score a run, how often they agree, and where they do not."""
    names = judge_names(found.first.judge, found.second.judge)
    both = f"1 is {names[0]}, 2 is {names[1]}."
    level, intervals = suite(found.suite).level, _intervals(found.confidence)
    scores, scored = (found.first, found.second), found.pictures
    covered = f"Scored by both: {scored.both} pictures; by 1 alone: {scored.only_first}; by 2 alone: "
    covered += f"{scored.only_second}; by neither: {scored.neither}."
    yield AgreementTable(
        f"{found.run}: scores by each judge",
        f"{both} In percent, {intervals}. Fraction: the mean share of what is asked for that is shown. {covered}",
        (level, "full mark 1", "full mark 2", "fraction 1", "fraction 2"),
        tuple(
            (
                "all" if at is None else str(at),
                *(_rate(it.full_mark if at is None else it.full_mark_by_level[at]) for it in scores),
                *(_rate(it.fraction if at is None else it.fraction_by_level[at]) for it in scores),
            )
            for at in [*found.passed_by_level, None]
        ),
    )
    yield _agreement(
        f"{found.run}: agreement on whole pictures",
        f"{both} In percent, {intervals}.",
        [*_by_level(found.passed_by_level, level), ("all", found.passed)],
    )
    yield _agreement(
        f"{found.run}: agreement on questions",
        f"{both} In percent, {intervals}.",
        [
            *found.questions_by_kind.items(),
            *_by_level(found.questions_by_level, level),
            ("all", found.questions),
        ],
    )
    if found.disagreements:
        yield AgreementTable(
            f"{found.run}: where they disagree",
            f"{both} The first {_SHOWN} of {len(found.disagreements)}; the JSON holds all of them.",
            ("item", "sample", level, "question", "1", "2"),
            tuple(
                (
                    it.item,
                    str(it.sample),
                    str(it.level),
                    it.question or "(the whole picture)",
                    _yes(it.first),
                    _yes(it.second),
                )
                for it in found.disagreements[:_SHOWN]
            ),
        )


def tables_of_people(found: PeopleStudied) -> Iterator[AgreementTable]:
    """How people score, how often they agree with each other and with the judge, and with themselves."""
    level, intervals = suite(found.suite).level, _intervals(found.confidence)
    panels = {"whole pictures": found.whole, "all questions": found.all_questions, "questions": found.questions}
    there = {name: panel for name, panel in panels.items() if panel is not None}
    judges = ", ".join(sorted({judge.name if judge else "nobody" for judge in found.judges.values()}))
    told = f"{len(found.raters)} raters, {found.votes} votes; the judge is {judges}."
    for run in found.without_votes:
        told += f" Nobody voted on {run}."
    for name, panel in there.items():
        yield AgreementTable(
            f"Scores by people: {name}",
            f"{told} In percent, {intervals}. Yes by majority; {panel.undecided} of {panel.cases} have none.",
            ("run", level, "people", "judge", "decided", "judged"),
            tuple(
                (
                    score.run,
                    "all" if score.level is None else str(score.level),
                    _rate(score.people),
                    _rate(score.judge),
                    f"{score.people.scored}/{score.people.expected}",
                    f"{score.judge.scored}/{score.judge.expected}",
                )
                for score in panel.scores
            ),
        )
        yield _agreement(
            f"Majority and judge: {name}",
            f"{told} In percent, {intervals}.",
            [
                *panel.with_judge_by_kind.items(),
                *_by_level(panel.with_judge_by_level, level),
                *panel.with_judge_by_run.items(),
                ("all", panel.with_judge),
            ],
        )
        yield _matrix(f"Any two: {name}", panel)
    correlations = [row for name, panel in there.items() for row in _correlations(name, panel, level)]
    if correlations:
        heads = ("scores on", "from", "r", "points", "left out")
        note = f"Pearson's r of the scores of people and judge, {intervals}."
        yield AgreementTable("Do scores go together?", note, heads, tuple(correlations))
    if found.divergence:
        divergences = [*_by_level(found.divergence_by_level, level), ("all", found.divergence)]
        yield AgreementTable(
            "Whole picture and questions, by the same person",
            f"In percent, {intervals}. Yes, no: yes for the whole, and no to a question. No, yes: the other way round.",
            ("", "the same", "yes, no", "no, yes", "n", "left out"),
            tuple(
                (
                    name,
                    _rate(it.agreement),
                    _rate(it.yes_then_no),
                    _rate(it.no_then_yes),
                    str(it.agreement.n),
                    str(it.agreement.left_out),
                )
                for name, it in divergences
            ),
        )


def _agreement(title: str, note: str, figures: Agreements) -> AgreementTable:
    rows = tuple(
        (name, _rate(it), _NOTHING if it.kappa is None else f"{it.kappa:.2f}", str(it.n), str(it.left_out))
        for name, it in figures
    )
    return AgreementTable(title, note, ("", "agree", "kappa", "n", "left out"), rows)


def _matrix(title: str, panel: Panel) -> AgreementTable:
    mean = panel.people
    told = "No two people voted on the same." if mean.value is None else f"Any two people: {_percent(mean.value)}."
    rows = tuple(
        (name, *(_percent(row[other].value) if other in row else "" for other in panel.matrix))
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


def _intervals(confidence: float) -> str:
    return f"with {100 * confidence:g} % intervals"


def _by_level(figures: Mapping[int, _Figure], level: str) -> list[tuple[str, _Figure]]:
    return [(f"{level} {at}", figure) for at, figure in figures.items()]


def _rate(figure: Rate | Fraction | Consistency | Share) -> str:
    """A share in percent with its interval, such as 86.5 (81.0–90.6)."""
    bounds: Interval | None = figure.interval
    text = _percent(figure.value)
    return text if bounds is None else f"{text} ({_percent(bounds.low)}–{_percent(bounds.high)})"


def _percent(value: float | None) -> str:
    return _NOTHING if value is None else f"{100 * value:.1f}"


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
