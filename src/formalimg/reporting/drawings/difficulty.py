"""What models reach over easy and over hard concepts (Figure 7 of ConceptMix)."""

from __future__ import annotations

from formalimg.reporting.comparison import Comparison, Section
from formalimg.reporting.drawings.levels import points_by_level
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.panels import LinePanel, Panels
from formalimg.reporting.drawings.series import Point, Series
from formalimg.reporting.drawings.settings import panels_of
from formalimg.stats import Interval
from formalimg.suites import Difficulty, Pool, load_pools


def easy_to_hard(section: Section, comparison: Comparison) -> Panels:
    """A panel for each model with one run over easy and one over hard concepts; the range between them is shaded."""
    kinds = _difficulties(section)
    panels = []
    for model in dict.fromkeys(row.manifest.model.name for row in section.rows):
        rows = [row for row in section.rows if row.manifest.model.name == model]
        by_kind = {
            kind: [points_by_level(section, row) for row in rows if kinds.get(row.name) == kind]
            for kind in ("easy", None, "hard")
        }
        if len(by_kind["easy"]) == len(by_kind["hard"]) == 1 and len(by_kind[None]) <= 1:
            (easy,), (hard,) = by_kind["easy"], by_kind["hard"]
            panels.append(_panel(model, easy, by_kind[None][0] if by_kind[None] else {}, hard))
    return panels_of(section, comparison, "over easy and hard concepts", panels, "from easy to hard")


def _panel(model: str, easy: dict[str, Point], whole: dict[str, Point], hard: dict[str, Point]) -> LinePanel:
    lines = (("all concepts", whole, 0), ("easy", easy, 2), ("hard", hard, 1))
    series = tuple(Series(name, numbered_look(look), points) for name, points, look in lines if points)
    spans = {level: Interval(*sorted((hard[level].value, easy[level].value))) for level in easy if level in hard}
    return LinePanel(model, series, {series[0].name: spans} if spans else {})


def _difficulties(section: Section) -> dict[str, Difficulty]:
    """Which runs ask for nothing but easy, or nothing but hard, values in the categories that have such."""
    table = next((table for table in section.tables if table.name == "values"), None)
    if table is None:
        return {}
    pools: dict[str, Pool] = dict(load_pools().items())
    found: dict[str, Difficulty] = {}
    for run in dict.fromkeys(row.run for row in table.rows):
        asked = [(str(row.cells[0]), str(row.cells[1])) for row in table.rows if row.run == run]
        # A judge of somebody's own may call its parts otherwise.
        known = [(pools[category], value) for category, value in asked if category in pools]
        kinds = {pool.difficulty(value) for pool, value in known if pool.hard}
        if len(kinds) == 1 and (only := kinds.pop()) is not None:
            found[run] = only
    return found
