"""The main table of a report and its terminal output: scores by level and band, generalizability, and coverage.

A new column is added here: it then appears in every format, also in CSV and JSON files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from formalimg.reports.comparison_model import Comparison, PublishedRow, RunRow, Section
from formalimg.reports.notes import interval_note, main_caption, main_remarks
from formalimg.reports.tables.format import NOTHING, epsilon_text, level_head, level_name, level_word
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.observations import Generalizability, Interval
from formalimg.types import Table

# A column of the main table, and how its cells follow from a run and from published numbers. A cell that is a dash is
# not known to the run at all; an unknown number of the run is None.
_MainColumn: TypeAlias = tuple[Column, Callable[[RunRow], Cell], Callable[[PublishedRow], Cell]]


def main_table(section: Section, comparison: Comparison) -> Table:
    """Return the main table of a section: a row for each run, followed by the published rows."""
    columns = tuple(_build_columns(section))
    rated = section.rated
    rows = [
        TableRow(tuple(of_run(row) for _, of_run, _ in columns), row.name, is_baseline=row not in rated)
        for row in section.rows
    ]
    rows += [
        TableRow(tuple(of_published(row) for *_, of_published in columns), row.name, row.model, row.judge, row.source)
        for row in section.published
    ]
    return Table(
        section.suite.name,
        section.suite.title,
        tuple(column for column, *_ in columns),
        tuple(rows),
        (main_caption(section, comparison, intervals=False), *main_remarks(section)),
        "result",
        f"{interval_note(section, comparison)}.",
    )


def _build_columns(section: Section) -> Iterator[_MainColumn]:
    yield Column("run"), lambda row: row.name, lambda row: row.name
    for level in section.levels:
        yield _level_column(section, level)
    for band in section.suite.bands:
        yield _band_column(section, band)
    if section.epsilon is not None:
        epsilon = epsilon_text(section.epsilon)
        column = Column("G", "level", subscript=epsilon, starts=True, figure="generalizability", name=epsilon)

        def general_cell(row: RunRow) -> Cell:
            general, coverage = row.summary.generalizability, row.summary.overall.coverage
            bounds = row.bounds_of(lambda estimates: estimates.generalizability)
            return (
                NOTHING
                if general is None
                else generalizability_number(general)._replace(coverage=coverage, bounds=bounds)
            )

        yield column, general_cell, lambda row: row.generalizability
    if section.ranks:
        ranks = {row.name: rank for row, rank in zip(section.rows, section.ranks, strict=True)}

        def rank_cell(row: RunRow) -> Number:
            rank = ranks[row.name]
            return Number(rank.best, Interval(*rank)) if rank else Number(None)

        head = "rank by people" if section.is_ranked_by_people else "rank"
        yield Column(head, "rank", figure="rank", name=section.ranked_by), rank_cell, lambda _: NOTHING
    if any(row.quality.soft_score for row in section.rows):
        column = Column("P(yes)", "score", starts=True, figure="p_yes", name="all images")
        yield column, _soft_score_cell, lambda _: NOTHING
    yield (
        Column("scored", "scored", figure="overall", name="all images"),
        lambda row: Number.of(row.summary.overall)._replace(bounds=row.bounds_of(lambda values: values.overall)),
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

    def run_cell(row: RunRow) -> Cell:
        if level not in row.summary.levels:
            return "not run" if row.looks is not None and level in row.looks.levels else NOTHING
        bounds = row.bounds_of(lambda estimates: estimates.levels.get(level))
        return Number.of(row.summary.levels[level])._replace(bounds=bounds)

    return column, run_cell, lambda row: row.rates.get(level, NOTHING)


def _band_column(section: Section, name: str) -> _MainColumn:
    suite, names = section.suite, list(section.suite.bands)
    column = Column(
        name,
        suite.scale,
        interval="full" if suite.has_scores or name == names[-1] else "compact",  # the headline always has its interval
        group=suite.bands_heading,
        starts=name == names[0],
        figure="band",
        name=name,
    )

    def run_cell(row: RunRow) -> Cell:
        """Return the value of a band with the summed counts of its levels and its own coverage."""
        band = row.summary.bands.get(name)
        if band is None:
            return NOTHING
        rates = [row.summary.levels[level] for level in band.levels if level in row.summary.levels]
        passed, scored, expected = (
            sum(getattr(rate, count) for rate in rates) for count in ("passed", "scored", "expected")
        )
        bounds = row.bounds_of(lambda estimates: estimates.bands.get(name))
        return Number(band.value, band.interval, None, passed, scored, expected, band.coverage, bounds=bounds)

    def published_cell(row: PublishedRow) -> Cell:
        value = row.bands[name]
        return NOTHING if value is None else Number(value, digits=row.digits)

    return column, run_cell, published_cell


def _soft_score_cell(row: RunRow) -> Cell:
    soft = row.quality.soft_score
    if soft is None:
        return NOTHING
    expected = row.summary.overall.expected
    total, unknown = soft.value * soft.number, expected - soft.number
    bounds = Interval(total / expected, (total + unknown) / expected)
    return Number(soft.value, scored=soft.number, expected=expected, bounds=bounds)


def generalizability_number(general: Generalizability) -> Number:
    """Return G with its interval."""
    has_interval = general.low is not None and general.high is not None
    return Number(general.value, Interval(general.low or 0, general.high or 0) if has_interval else None)
