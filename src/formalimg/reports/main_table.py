"""The main table of a report, and its terminal: rates or scores by level and band, generalizability, and coverage.

A new column is added here: it then appears in every format, also in CSV and JSON files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from formalimg.reports.comparison_model import Comparison, PublishedRow, RunRow, Section
from formalimg.reports.notes import caption, interval_note, remarks
from formalimg.reports.tables.format import NOTHING, epsilon_text, level_head, level_name, level_word
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.observations import Generalizability, Interval
from formalimg.types import Table

if TYPE_CHECKING:
    from formalimg.stats.comparison import RankRange


class _MainColumn(NamedTuple):
    """A column of the main table, and how its cells follow from a run and from published numbers.

    A cell that is a dash is not known to the run at all; an unknown number of the run is None.
    """

    column: Column
    of_run: Callable[[RunRow], Cell]
    of_published: Callable[[PublishedRow], Cell]


def main_table(section: Section, comparison: Comparison) -> Table:
    """Return the main table of a section: one row for each run, then the published ones."""
    columns = tuple(_columns(section))
    rated = section.rated
    rows = [
        *(
            TableRow(tuple(one.of_run(row) for one in columns), row.name, is_baseline=row not in rated)
            for row in section.rows
        ),
        *(
            TableRow(tuple(one.of_published(row) for one in columns), row.name, row.model, row.judge, row.source)
            for row in section.published
        ),
    ]
    return Table(
        section.suite.name,
        section.suite.title,
        tuple(one.column for one in columns),
        tuple(rows),
        (caption(section, comparison, intervals=False), *remarks(section)),
        "result",
        f"{interval_note(section, comparison)}.",
    )


def _columns(section: Section) -> Iterator[_MainColumn]:
    yield _MainColumn(Column("run"), lambda row: row.name, lambda row: row.name)
    for level in section.levels:
        yield _level_column(section, level)
    for n, band in enumerate(section.suite.bands):
        yield _band_column(section, band, is_first=n == 0, is_last=n == len(section.suite.bands) - 1)
    if section.epsilon is not None:
        epsilon = epsilon_text(section.epsilon)
        yield _MainColumn(
            Column("G", "level", subscript=epsilon, starts=True, figure="generalizability", name=epsilon),
            _generalizability,
            lambda row: row.generalizability,
        )
    if section.ranks:
        ranks = {row.name: rank for row, rank in zip(section.rows, section.ranks, strict=True)}
        head = "rank by people" if section.is_ranked_by_people else "rank"
        yield _MainColumn(
            Column(head, "rank", figure="rank", name=section.ranked_by),
            lambda row: _rank_number(ranks[row.name]),
            lambda _: NOTHING,
        )
    if any(row.quality.soft_score for row in section.rows):
        yield _MainColumn(
            Column("P(yes)", "score", starts=True, figure="p_yes", name="all images"), _soft_score, lambda _: NOTHING
        )
    yield _MainColumn(
        Column("scored", "scored", figure="overall", name="all images"),
        lambda row: Number.of(row.summary.overall)._replace(bounds=row.overall_bounds()),
        lambda _: "published",
    )


def _level_column(section: Section, level: int) -> _MainColumn:
    suite = section.suite
    column = Column(
        level_name(suite, level),
        suite.scale,
        # Numbers that stand for the whole suite have their intervals beside them in every format.
        interval="full" if not suite.bands and (suite.has_scores or len(section.levels) == 1) else "compact",
        short=level_head(suite, level),
        group=level_word(suite),
        figure="level",
        name=str(level),
    )

    def of_run(row: RunRow) -> Cell:
        if level not in row.summary.levels:
            return "not run" if row.looks is not None and level in row.looks.levels else NOTHING
        return Number.of(row.summary.levels[level])._replace(bounds=row.level_bounds(level))

    return _MainColumn(column, of_run, lambda row: row.rates.get(level, NOTHING))


def _band_column(section: Section, band: str, *, is_first: bool, is_last: bool) -> _MainColumn:
    suite = section.suite
    is_headline = suite.has_scores or is_last  # never without its interval
    column = Column(
        band,
        suite.scale,
        interval="full" if is_headline else "compact",
        group=suite.bands_heading,
        starts=is_first,
        figure="band",
        name=band,
    )
    return _MainColumn(column, lambda row: _band(row, band), lambda row: _published_band(row, band))


def _band(row: RunRow, name: str) -> Cell:
    """Return a band with the counts of its levels; its coverage is its own, as levels count alike in it."""
    band = row.summary.bands.get(name)
    if band is None:
        return NOTHING
    rates = [row.summary.levels[level] for level in band.levels if level in row.summary.levels]
    passed, scored, expected = (sum(getattr(rate, of) for rate in rates) for of in ("passed", "scored", "expected"))
    bounds = row.band_bounds(name)
    return Number(band.value, band.interval, None, passed, scored, expected, band.coverage, bounds=bounds)


def _published_band(row: PublishedRow, name: str) -> Cell:
    value = row.bands[name]
    return NOTHING if value is None else Number(value, digits=row.digits)


def _rank_number(rank: RankRange | None) -> Number:
    return Number(rank.best, Interval(*rank)) if rank else Number(None)


def _soft_score(row: RunRow) -> Cell:
    soft = row.quality.soft_score
    if soft is None:
        return NOTHING
    expected = row.summary.overall.expected
    known, unknown = soft.value * soft.number, expected - soft.number
    bounds = Interval(known / expected, (known + unknown) / expected)
    return Number(soft.value, scored=soft.number, expected=expected, bounds=bounds)


def _generalizability(row: RunRow) -> Cell:
    held = row.summary.generalizability
    if held is None:
        return NOTHING
    return generalizability_number(held)._replace(coverage=row.summary.overall.coverage, bounds=row.held_bounds())


def generalizability_number(held: Generalizability) -> Number:
    """Return G with its interval."""
    has_interval = held.low is not None and held.high is not None
    return Number(held.value, Interval(held.low or 0, held.high or 0) if has_interval else None)
