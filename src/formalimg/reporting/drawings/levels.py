"""What models reach, level by level (FormalImg and ConceptMix: rates over K and k; CF-World: L1, L2 and L3)."""

from __future__ import annotations

from formalimg.reporting.comparison import Comparison, Row, Section
from formalimg.reporting.counterfactual.captions import scoring_rules
from formalimg.reporting.drawings.looks import PUBLISHED, looks_of
from formalimg.reporting.drawings.series import Chart, Point, Series, known_points, point_of_figure, point_of_rate
from formalimg.reporting.figures import epsilon_text
from formalimg.reporting.tables import Figure
from formalimg.reporting.words import level_head, level_word, rule_text


def rates_by_level(section: Section, comparison: Comparison) -> Chart:
    """The figures of the main table, with their intervals; published ones of the first judge stand back."""
    about = section.suite
    of_scores = about.kind == "counterfactual"
    runs = [
        Series(row.name, look, points_by_level(section, row))
        for row, look in zip(section.rows, looks_of(section.rows), strict=True)
    ]
    published = [
        Series(row.name, PUBLISHED, {level_head(about, level): Point(rate) for level, rate in row.rates.items()})
        for row in section.published
        if row.judge == section.published[0].judge
    ]
    return Chart(
        f"{about.title}: {'mean scores' if of_scores else 'images that show all that was asked'}, by level",
        rules_of(section, comparison),
        tuple(level_head(about, level) for level in section.levels),
        (*runs, *published),
        "mean score" if of_scores else "images that pass (%)",
        not of_scores,
        level_word(about),
    )


def ratios_between_levels(section: Section, comparison: Comparison) -> Chart:
    """PRR and RRR of CF-World; no figures for the other suites, whose bands are but means of what is drawn already."""
    there = section.suite.bands if section.suite.kind == "counterfactual" else {}
    return Chart(
        f"{section.suite.title}: what is kept from level to level",
        rules_of(section, comparison),
        tuple(there),
        tuple(
            Series(
                row.name,
                look,
                known_points(
                    {band: point_of_rate(row.summary.bands[band]) for band in there if band in row.summary.bands}
                ),
            )
            for row, look in zip(section.rows, looks_of(section.rows), strict=True)
        ),
        "ratio",
        percent=False,
    )


def concept_fractions(section: Section) -> Chart:
    """How much of what was asked images show, by k; no figures for suites without concepts."""
    table = next((table for table in section.tables if table.name == "concept fraction"), None)
    looks = dict(zip((row.name for row in section.rows), looks_of(section.rows), strict=True))
    prefix = f"{section.suite.level} "
    series = []
    first_judge = next((row.judge for row in table.rows if row.published), "") if table else ""
    for row in table.rows if table else ():
        if row.published and row.judge != first_judge:
            continue
        cells = dict(zip(table.heads, row.cells, strict=True)) if table else {}
        points = {
            head.removeprefix(prefix): point_of_figure(cell)
            for head, cell in cells.items()
            if head.startswith(prefix) and isinstance(cell, Figure)
        }
        look = PUBLISHED if row.published else looks[row.run]
        series.append(Series(row.run, look, known_points(points)))
    return Chart(
        f"{section.suite.title}: {table.title}" if table else "",
        table.note if table else "",
        tuple(head.removeprefix(prefix) for head in table.heads if head.startswith(prefix)) if table else (),
        tuple(series),
        "concepts shown (%)",
        percent=True,
        about=section.suite.level,
    )


def points_by_level(section: Section, row: Row) -> dict[str, Point]:
    """The figures of a run in the main table, by what their levels are called."""
    return known_points(
        {level_head(section.suite, level): point_of_rate(rate) for level, rate in row.summary.levels.items()}
    )


def rules_of(section: Section, comparison: Comparison) -> str:
    """How the figures of the main table were made, in words."""
    about = section.suite
    sureness = f"{100 * comparison.confidence:g} %"
    if about.kind == "counterfactual":
        rules = scoring_rules(about, comparison.missing, comparison.threshold, comparison.profile)
        return f"{'. '.join(rules)}. Thin lines: {sureness} intervals, over groups."
    held = (
        "" if section.epsilon is None else f" The dotted line is the rate to be held, {epsilon_text(section.epsilon)}."
    )
    return f"{rule_text(comparison.missing)}. Thin lines: {sureness} intervals.{held}"
