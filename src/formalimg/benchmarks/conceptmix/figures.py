"""Figures of ConceptMix: items, runs by concept and difficulty, and caption studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.conceptmix.pools import Difficulty, Pool, load_pools
from formalimg.benchmarks.conceptmix.spec import CATEGORIES
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.reports.comparison_model import Comparison, Section
from formalimg.reports.figures.charts import (
    BoxPlot,
    HeatMap,
    Histogram,
    HistogramBar,
    bar_chart,
    box_chart,
    dot_chart,
    heat_map,
    histogram,
    share_chart,
)
from formalimg.reports.figures.plots import (
    PUBLISHED,
    Chart,
    LinePanel,
    PanelChart,
    Point,
    Series,
    count_axis,
    known_points,
    line_chart,
    numbered_style,
    panel_chart,
    point_of_number,
    run_styles,
)
from formalimg.reports.figures.runs import panels_of, points_by_level, tells
from formalimg.reports.figures.svg import Figure, slug
from formalimg.reports.tables.model import number_in
from formalimg.stats.observations import Interval
from formalimg.types import Item, Table

if TYPE_CHECKING:
    from formalimg.benchmarks.conceptmix.captions.study import CaptionStudy


def item_figures(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
    """Yield charts of prompt length by k (Figure 12 of ConceptMix) and of concept categories, by suite."""
    for name, items in suites.items():
        suite = get_suite(name)
        words = {
            str(level): {item.id: float(len(item.prompt.split())) for item in items if item.level == level}
            for level in sorted({item.level for item in items})
        }
        yield box_chart(
            f"{suite.name}-prompt-length",
            BoxPlot(
                f"{suite.title}: words per prompt, by {suite.level}",
                f"{len(items):,} prompts. Boxes: from quartile to quartile, with the median; whiskers: to the shortest "
                "and the longest.",
                words,
                "words",
                suite.level,
                count_axis(max(int(count) for counts in words.values() for count in counts.values())),
                shows_each=False,
            ),
        )
        concepts = [concept.category for item in items for concept in item.spec.drawn]
        yield share_chart(
            f"{suite.name}-concepts",
            f"{suite.title}: concepts that are asked for, by category",
            f"{len(concepts):,} concepts in {len(items):,} items.",
            {str(category): concepts.count(category) for category in CATEGORIES},
            "of all concepts (%)",
        )


def run_figures(section: Section, comparison: Comparison) -> Iterator[Figure]:
    """Yield figures comparing runs: easy and hard concepts, concept fractions, categories and values."""
    suite, level = section.suite, section.suite.level
    if (panels := _easy_to_hard(section, comparison)).panels:
        yield panel_chart(f"{suite.name}-{suite.numbers_heading.lower()}-by-difficulty", panels)
    if (table := _find_table(section, "concept fraction")) and tells(chart := _concept_fractions(section, table)):
        yield line_chart(f"{suite.name}-concept-fraction", chart)
    at_one = f"full marks at {level} = 1 (%)"
    if table := _find_table(section, f"categories at {level} = 1"):
        chart = _number_chart(section, table, _read_points(table, 0, "full mark"), at_one)
        if tells(chart):
            yield bar_chart(f"{suite.name}-categories", chart)
    if table := _find_table(section, f"values at {level} = 1"):
        for category, chart in _value_charts(section, table, "full mark", at_one):
            yield dot_chart(f"{suite.name}-values-at-{level}-1-{slug(category)}", chart)
    if table := _find_table(section, "values"):
        for category, chart in _value_charts(section, table, "rate", f"shown, over all {level} (%)"):
            yield dot_chart(f"{suite.name}-values-{slug(category)}", chart)


def _concept_fractions(section: Section, table: Table) -> Chart:
    """Return a chart of concept fractions by k; of the published numbers, include only the first judge's."""
    styles = dict(zip((row.name for row in section.rows), run_styles(section.rows), strict=True))
    prefix = f"{section.suite.level} "
    levels = {
        column.head.removeprefix(prefix): index
        for index, column in enumerate(table.columns)
        if column.head.startswith(prefix)
    }
    first_judge = next((row.judge for row in table.rows if row.is_published), "")
    series = []
    for row in table.rows:
        if not row.is_published or row.judge == first_judge:
            points = {level: point_of_number(number_in(table, row, index)) for level, index in levels.items()}
            style = PUBLISHED if row.is_published else styles[row.run]
            series.append(Series(row.run, style, known_points(points)))
    return Chart(
        f"{section.suite.title}: {table.title}",
        " ".join(table.notes),
        tuple(levels),
        tuple(series),
        "concepts shown (%)",
        percent=True,
        about=section.suite.level,
    )


def _easy_to_hard(section: Section, comparison: Comparison) -> PanelChart:
    """Return a chart with a panel for each model that has an easy and a hard run, with their range shaded."""
    kinds = _run_difficulties(section)
    panels = []
    for model in dict.fromkeys(row.manifest.model.name for row in section.rows):
        rows = [row for row in section.rows if row.manifest.model.name == model]
        by_kind = {
            kind: [points_by_level(section, row) for row in rows if kinds.get(row.name) == kind]
            for kind in ("easy", None, "hard")
        }
        if len(by_kind["easy"]) == len(by_kind["hard"]) == 1 and len(by_kind[None]) <= 1:
            (easy,), (hard,) = by_kind["easy"], by_kind["hard"]
            whole = by_kind[None][0] if by_kind[None] else {}
            lines = (("all concepts", whole, 0), ("easy", easy, 2), ("hard", hard, 1))
            series = tuple(Series(name, numbered_style(style), points) for name, points, style in lines if points)
            spans = {
                level: Interval(*sorted((hard[level].value, easy[level].value))) for level in easy if level in hard
            }
            panels.append(LinePanel(model, series, {series[0].name: spans} if spans else {}))
    return panels_of(section, comparison, "over easy and hard concepts", panels, "from easy to hard")


def _run_difficulties(section: Section) -> dict[str, Difficulty]:
    """Return the difficulty of each run whose concepts are exclusively easy or exclusively hard."""
    table = _find_table(section, "values")
    if table is None:
        return {}
    pools: dict[str, Pool] = dict(load_pools().items())
    kinds: dict[str, set[Difficulty | None]] = {}
    for row in table.rows:
        pool = pools.get(str(row.cells[0]))  # a judge of a user's own may call its parts otherwise
        if pool and pool.hard:
            kinds.setdefault(row.run, set()).add(pool.difficulty(str(row.cells[1])))
    return {run: kind for run, values in kinds.items() if len(values) == 1 and (kind := next(iter(values)))}


def _value_charts(section: Section, table: Table, head: str, measure: str) -> Iterator[tuple[str, Chart]]:
    for category in dict.fromkeys(str(row.cells[0]) for row in table.rows):
        points = _read_points(table, 1, head, category)
        if points:
            yield category, _number_chart(section, table, points, measure, category)


def _find_table(section: Section, name: str) -> Table | None:
    return next((table for table in section.tables if table.name == name), None)


def _read_points(table: Table, column: int, head: str, category: str = "") -> dict[str, dict[str, Point]]:
    """Return the points in column `head` for each run, keyed by the label in `column`, optionally for one category."""
    index = [heading.head for heading in table.columns].index(head)
    points: dict[str, dict[str, Point]] = {}
    for row in table.rows:
        point = point_of_number(number_in(table, row, index))
        if point is not None and category in ("", row.cells[0]):
            points.setdefault(row.run, {})[str(row.cells[column])] = point
    return points


def _number_chart(
    section: Section, table: Table, points: Mapping[str, Mapping[str, Point]], measure: str, category: str = ""
) -> Chart:
    """Return a chart of points by label, sorted by ascending mean if `category` is set."""
    by_label: dict[str, list[float]] = {}
    for label, point in ((label, point) for run_points in points.values() for label, point in run_points.items()):
        by_label.setdefault(label, []).append(point.value)
    labels = sorted(by_label, key=lambda label: (fmean(by_label[label]), label)) if category else list(by_label)
    return Chart(
        f"{section.suite.title}: {table.title}{f', {category}' if category else ''}",
        " ".join(table.notes),
        tuple(labels),
        tuple(
            Series(row.name, style, points[row.name])
            for row, style in zip(section.rows, run_styles(section.rows), strict=True)
            if row.name in points
        ),
        measure,
        percent=True,
    )


def caption_figures(study: CaptionStudy) -> Iterator[Figure]:
    """Yield figures of category combinations and counts, over captions that name an object, as in the paper."""
    counts, total = study.with_object, study.with_object.captions
    if not total:
        return
    note = f"Of the {total:,} captions that name an object, out of {study.captions:,}."
    together: dict[tuple[str, str], float] = {
        (first, second): counts.together(first, second) / total for first, second in product(CATEGORIES, CATEGORIES)
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
