"""Which concepts are hard: by category (Figure 4 of ConceptMix), and value by value (its Figures 5 and 13)."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.reporting.comparison import Section
from formalimg.reporting.drawings.looks import looks_of
from formalimg.reporting.drawings.series import Chart, Point, Series, point_of_figure
from formalimg.reporting.tables import Figure, Table


def categories_of_one_concept(section: Section) -> Chart:
    """Images of one object and one more concept, by category of the concept; no figures for other suites."""
    level = section.suite.level
    table = _table(section, f"categories at {level} = 1")
    return _chart(section, table, _points(table, 0, "full mark"), f"full marks at {level} = 1 (%)", "")


def values_of_one_concept(section: Section) -> Mapping[str, Chart]:
    """Images of one object and one more concept, value by value; empty for other suites."""
    at_one = f"{section.suite.level} = 1"
    return _by_category(section, f"values at {at_one}", "full mark", f"full marks at {at_one} (%)")


def values_by_category(section: Section) -> Mapping[str, Chart]:
    """How often each value is shown over all levels, category by category; empty for other suites."""
    return _by_category(section, "values", "rate", f"shown, over all {section.suite.level} (%)")


def _by_category(section: Section, name: str, head: str, what: str) -> dict[str, Chart]:
    """A chart for each category that a table has, the value with the lowest figures first."""
    table = _table(section, name)
    categories = dict.fromkeys(str(row.cells[0]) for row in table.rows) if table else {}
    charts: dict[str, Chart] = {}
    for category in categories:
        points = _points(table, 1, head, category)
        if points:
            charts[category] = _chart(section, table, points, what, f", {category}", by_value=True)
    return charts


def _table(section: Section, name: str) -> Table | None:
    return next((table for table in section.tables if table.name == name), None)


def _points(table: Table | None, column: int, head: str, category: str = "") -> dict[str, dict[str, Point]]:
    """For each run the figures under a head, by the words in a column; of one category if it is named."""
    found: dict[str, dict[str, Point]] = {}
    for row in table.rows if table else ():
        cell = row.cells[table.heads.index(head)] if table else None
        point = point_of_figure(cell) if isinstance(cell, Figure) else None
        if point is not None and category in ("", row.cells[0]):
            found.setdefault(row.run, {})[str(row.cells[column])] = point
    return found


def _chart(
    section: Section,
    table: Table | None,
    points: Mapping[str, Mapping[str, Point]],
    measure: str,
    which: str,
    *,
    by_value: bool = False,
) -> Chart:
    names = list(dict.fromkeys(name for those in points.values() for name in those))
    if by_value:
        names.sort(key=lambda name: (_mean(name, points), name))
    return Chart(
        f"{section.suite.title}: {table.title if table else ''}{which}",
        table.note if table else "",
        tuple(names),
        tuple(
            Series(row.name, look, points[row.name])
            for row, look in zip(section.rows, looks_of(section.rows), strict=True)
            if row.name in points
        ),
        measure,
        percent=True,
    )


def _mean(name: str, points: Mapping[str, Mapping[str, Point]]) -> float:
    known = [those[name].value for those in points.values() if name in those]
    return sum(known) / len(known)
