"""What comes of comparing judges, as tables of words; and the table that all studies are told in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from formalimg.analysis.figures_in_words import NOTHING, counted, percent_with_interval
from formalimg.analysis.judges_compared import JudgesCompared
from formalimg.analysis.naming_judges import judge_names
from formalimg.stats import Consistency
from formalimg.suites import suite

_SHOWN = 10

_Figure = TypeVar("_Figure")


Place: TypeAlias = Literal["result", "more", "detail"]
"""Where a table belongs: among what a study was made for, besides, or where it is looked up."""


class AgreementTable(NamedTuple):
    """A table.

    Attributes:
        title: what it tells.
        note: what has to be known to read it.
        heads: the heads of its columns.
        rows: as many cells as there are heads, each.
        place: where it belongs. Results come first; pages fold details away.
    """

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    place: Place = "more"


Agreements: TypeAlias = Iterable[tuple[str, Consistency]]
"""Figures with their names."""


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


def agreements(title: str, note: str, figures: Agreements) -> AgreementTable:
    """A table of agreements, with kappa and with how many cases went in and how many did not."""
    rows = []
    for name, it in figures:
        kappa = NOTHING if it.kappa is None else f"{it.kappa:.2f}"
        rows.append((name, percent_with_interval(it), kappa, str(it.n), str(it.left_out)))
    return AgreementTable(title, note, ("", "agree", "kappa", "n", "left out"), tuple(rows))


def intervals_told(confidence: float) -> str:
    """What stands behind figures."""
    return f"with {100 * confidence:g} % intervals"


def by_level(figures: Mapping[int, _Figure], level: str) -> list[tuple[str, _Figure]]:
    """Figures with the names of their levels."""
    return [(f"{level} {at}", figure) for at, figure in figures.items()]


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"
