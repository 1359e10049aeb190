"""What comes of comparing judges, as tables of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.stats import Classification, Consistency, Estimate, Reliability, Share
from formalimg.studies.figures_in_words import NOTHING, counted, percent, percent_with_interval
from formalimg.studies.judges_compared import JudgesCompared
from formalimg.studies.naming_judges import judge_names
from formalimg.studies.panels import Panel
from formalimg.suites import suite

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


def tables_of_judges(found: JudgesCompared) -> Iterator[AgreementTable]:
    """How two judges score a run, how often they agree, and where they do not."""
    names = judge_names([found.first.judge, found.second.judge])
    both = f"1 is {names[0]}, 2 is {names[1]}."
    level, intervals = suite(found.suite).level, intervals_told(found.confidence)
    scores, scored = (found.first, found.second), found.pictures
    covered = f"Scored by both: {counted(scored.both, 'picture')}; by 1 alone: {scored.only_first}; by 2 alone: "
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
        f"{found.run}: agreement on whole pictures",
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
                    it.question or "(the whole picture)",
                    _yes(it.first),
                    _yes(it.second),
                )
                for it in found.disagreements[:_SHOWN]
            ),
        )


def agreements(title: str, note: str, figures: Agreements) -> AgreementTable:
    """A table of agreements, with kappa and with how many cases went in and how many did not."""
    rows = []
    for name, it in figures:
        kappa = NOTHING if it.kappa is None else f"{it.kappa:.2f}"
        rows.append((name, percent_with_interval(it), kappa, str(it.n), str(it.left_out)))
    return AgreementTable(title, note, ("", "agree", "kappa", "n", "left out"), tuple(rows))


def tables_of_panels(panels: Mapping[str, Panel], intervals: str) -> Iterator[AgreementTable]:
    """How far people can be relied on, and how well the judge tells what their majority says.

    Args:
        panels: what people voted on, by name.
        intervals: what is said of the intervals.
    """
    yield AgreementTable(
        "Reliability of people, and rankings",
        f"Krippendorff's alpha of their answers, {intervals}: 1 if all agree, 0 if only by chance. Rank: the mean over "
        "levels of Spearman's correlation of runs as ranked by people and by the judge. Left out: what fewer than two "
        "voted on, and levels without a ranking.",
        ("", "alpha", "n", "left out", "rank", "levels", "left out"),
        tuple(
            (
                name,
                _alpha(panel.alpha),
                str(panel.alpha.n),
                str(panel.alpha.left_out),
                NOTHING if panel.ranks.mean is None else f"{panel.ranks.mean:.2f}",
                str(panel.ranks.levels),
                str(panel.ranks.left_out),
            )
            for name, panel in panels.items()
        ),
    )
    judged = {name: panel.classified for name, panel in panels.items() if panel.classified.n}
    if judged:
        figures = [figures_of_judge(it) for it in judged.values()]
        counts = [it.confusion._asdict() for it in judged.values()]
        yield AgreementTable(
            "The judge, measured by the majority",
            f"In percent, {intervals}. Positive: the judge says yes. True: the majority agrees. Ties are left out.",
            ("", *judged),
            (
                *((name, *(_with_interval(those[name]) for those in figures)) for name in figures[0]),
                *((name.replace("_", " "), *(str(those[name]) for those in counts)) for name in counts[0]),
                ("left out", *(str(it.left_out) for it in judged.values())),
            ),
        )


def figures_of_judge(found: Classification) -> dict[str, Share | Estimate]:
    """How well a judge tells what the majority says, figure by figure."""
    return {
        "accuracy": found.accuracy,
        "precision": found.precision,
        "recall (sensitivity)": found.recall,
        "specificity": found.specificity,
        "F1": found.f1,
        "balanced accuracy": found.balanced_accuracy,
    }


def intervals_told(confidence: float) -> str:
    """What stands behind figures."""
    return f"with {100 * confidence:g} % intervals"


def by_level(figures: Mapping[int, _Figure], level: str) -> list[tuple[str, _Figure]]:
    """Figures with the names of their levels."""
    return [(f"{level} {at}", figure) for at, figure in figures.items()]


def _alpha(found: Reliability) -> str:
    if found.value is None:
        return NOTHING
    bounds = f" ({found.interval.low:.2f} to {found.interval.high:.2f})" if found.interval else ""
    return f"{found.value:.2f}{bounds}"


def _with_interval(figure: Share | Estimate) -> str:
    bounds = figure.interval
    return percent(figure.value) + (f" ({percent(bounds.low)}–{percent(bounds.high)})" if bounds else "")


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
