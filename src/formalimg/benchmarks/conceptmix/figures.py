"""Figures of ConceptMix: its items, its runs by concept and difficulty, and what captions speak of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.conceptmix.pools import Difficulty, Pool, load_pools
from formalimg.benchmarks.conceptmix.spec import CATEGORIES
from formalimg.benchmarks.conceptmix.texts import concept_census
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.reports.comparison_model import Comparison, Section
from formalimg.reports.figures.axes import count_axis
from formalimg.reports.figures.bar_charts import bar_chart, dot_chart
from formalimg.reports.figures.distributions import BoxPlot, Histogram, HistogramBar, box_chart, histogram
from formalimg.reports.figures.figure_files import slug
from formalimg.reports.figures.heatmap import HeatMap, heat_map
from formalimg.reports.figures.items import share_chart
from formalimg.reports.figures.line_charts import LinePanel, PanelChart, line_chart, panel_chart
from formalimg.reports.figures.runs import panels_of, points_by_level, tells
from formalimg.reports.figures.series import (
    PUBLISHED,
    Chart,
    Point,
    Series,
    known_points,
    numbered_style,
    point_of_number,
    run_styles,
)
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.model import number_in
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark, Item, Table

if TYPE_CHECKING:
    from formalimg.benchmarks.conceptmix.captions.study import CaptionStudy


def item_figures(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
    """Yield the figures of items, by suite."""
    for name, items in suites.items():
        yield from concept_figures(suite_of(name), items)


def concept_figures(suite: Benchmark, items: Sequence[Item[Any]]) -> Iterator[Figure]:
    """Yield words per prompt by k (Figure 12 of ConceptMix), and the categories of concepts."""
    words = {
        str(level): {item.id: float(len(item.prompt.split())) for item in items if item.level == level}
        for level in sorted({item.level for item in items})
    }
    yield box_chart(
        f"{suite.name}-prompt-length",
        BoxPlot(
            f"{suite.title}: words per prompt, by {suite.level}",
            f"{len(items):,} prompts. Boxes: from quartile to quartile, with the median; whiskers: to the shortest and "
            "the longest.",
            words,
            "words",
            suite.level,
            count_axis(max(int(count) for those in words.values() for count in those.values())),
            shows_each=False,
        ),
    )
    asked = concept_census(items).concepts
    counts: dict[str, int] = {
        category: sum(count for concept, count in asked.items() if concept.category == category)
        for category in CATEGORIES
    }
    yield share_chart(
        f"{suite.name}-concepts",
        f"{suite.title}: concepts that are asked for, by category",
        f"{asked.total():,} concepts in {len(items):,} items.",
        counts,
        "of all concepts (%)",
    )


def run_figures(section: Section, comparison: Comparison) -> Iterator[Figure]:
    """Yield the figures of runs: easy and hard concepts, the share of concepts shown, categories and values."""
    suite = section.suite
    if (panels := easy_to_hard(section, comparison)).panels:
        yield panel_chart(f"{suite.name}-{suite.numbers_heading.lower()}-by-difficulty", panels)
    if tells(chart := concept_fractions(section)):
        yield line_chart(f"{suite.name}-concept-fraction", chart)
    if tells(chart := categories_of_one_concept(section)):
        yield bar_chart(f"{suite.name}-categories", chart)
    for category, chart in values_of_one_concept(section).items():
        yield dot_chart(f"{suite.name}-values-at-{suite.level}-1-{slug(category)}", chart)
    for category, chart in values_by_category(section).items():
        yield dot_chart(f"{suite.name}-values-{slug(category)}", chart)


def concept_fractions(section: Section) -> Chart:
    """Return the share of concepts shown, by k; nothing for suites without concepts."""
    table = _table(section, "concept fraction")
    styles = dict(zip((row.name for row in section.rows), run_styles(section.rows), strict=True))
    prefix = f"{section.suite.level} "
    series = []
    first_judge = next((row.judge for row in table.rows if row.is_published), "") if table else ""
    for row in table.rows if table else ():
        if row.is_published and row.judge != first_judge:
            continue
        points = {
            column.head.removeprefix(prefix): point_of_number(number_in(table, row, n))
            for n, column in enumerate(table.columns if table else ())
            if table and column.head.startswith(prefix)
        }
        style = PUBLISHED if row.is_published else styles[row.run]
        series.append(Series(row.run, style, known_points(points)))
    return Chart(
        f"{section.suite.title}: {table.title}" if table else "",
        _note(table),
        tuple(one.head.removeprefix(prefix) for one in table.columns if one.head.startswith(prefix)) if table else (),
        tuple(series),
        "concepts shown (%)",
        percent=True,
        about=section.suite.level,
    )


def easy_to_hard(section: Section, comparison: Comparison) -> PanelChart:
    """Return a panel for each model with a run over easy and one over hard concepts, the range between them shaded."""
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
    series = tuple(Series(name, numbered_style(style), points) for name, points, style in lines if points)
    spans = {level: Interval(*sorted((hard[level].value, easy[level].value))) for level in easy if level in hard}
    return LinePanel(model, series, {series[0].name: spans} if spans else {})


def _difficulties(section: Section) -> dict[str, Difficulty]:
    """Return which runs have only easy, or only hard, values in the categories that have both."""
    table = _table(section, "values")
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


def categories_of_one_concept(section: Section) -> Chart:
    """Return images of one object and one more concept, by category of the concept; nothing for other suites."""
    level = section.suite.level
    table = _table(section, f"categories at {level} = 1")
    return _chart(section, table, _points(table, 0, "full mark"), f"full marks at {level} = 1 (%)", "")


def values_of_one_concept(section: Section) -> Mapping[str, Chart]:
    """Return images of one object and one more concept, by value; nothing for other suites."""
    at_one = f"{section.suite.level} = 1"
    return _by_category(section, f"values at {at_one}", "full mark", f"full marks at {at_one} (%)")


def values_by_category(section: Section) -> Mapping[str, Chart]:
    """Return how often each value is shown over all levels, by category; nothing for other suites."""
    return _by_category(section, "values", "rate", f"shown, over all {section.suite.level} (%)")


def _by_category(section: Section, name: str, head: str, what: str) -> dict[str, Chart]:
    """Return a chart for each category of a table, the value with the lowest numbers first."""
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


def _note(table: Table | None) -> str:
    return " ".join(table.notes) if table else ""


def _points(table: Table | None, column: int, head: str, category: str = "") -> dict[str, dict[str, Point]]:
    """Return for each run the numbers under a heading, by the texts of a column; of one category if it is named."""
    found: dict[str, dict[str, Point]] = {}
    for row in table.rows if table else ():
        heads = [column.head for column in table.columns] if table else []
        point = point_of_number(number_in(table, row, heads.index(head))) if table else None
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
        _note(table),
        tuple(names),
        tuple(
            Series(row.name, style, points[row.name])
            for row, style in zip(section.rows, run_styles(section.rows), strict=True)
            if row.name in points
        ),
        measure,
        percent=True,
    )


def _mean(name: str, points: Mapping[str, Mapping[str, Point]]) -> float:
    known = [those[name].value for those in points.values() if name in those]
    return sum(known) / len(known)


def caption_figures(study: CaptionStudy) -> Iterator[Figure]:
    """Yield which categories captions combine, and how many; of the captions that name an object, as in the paper."""
    counts = study.with_object
    if not counts.captions:
        return
    total = counts.captions
    note = f"Of the {total:,} captions that name an object, out of {study.captions:,}."
    together: dict[tuple[str, str], float] = {
        (one, other): counts.together(one, other) / total for one in CATEGORIES for other in CATEGORIES
    }
    yield heat_map(
        "captions-together",
        HeatMap(
            "Captions that speak of two categories of concepts, in percent",
            f"{note} On the diagonal: those that speak of the one category.",
            CATEGORIES,
            CATEGORIES,
            together,
            {pair: f"{100 * share:.1f}" for pair, share in together.items()},
        ),
    )
    sizes = counts.histogram
    yield histogram(
        "captions-categories",
        Histogram(
            "How many categories of concepts captions speak of",
            f"{note} Mean {counts.mean:.2f}." if counts.mean is not None else note,
            tuple(HistogramBar(n - 0.5, n + 0.5, count, f"{n} categories") for n, count in enumerate(sizes) if n),
            "captions",
            "categories in a caption",
            tuple((float(n), str(n)) for n in range(1, len(sizes))),
        ),
    )
