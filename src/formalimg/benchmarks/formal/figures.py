"""Figures of FormalImg: predicates by suite and by level, classes, and kinds of failed clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.formal.texts import count_contents
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.logic.syntax import atoms
from formalimg.reports.figures.charts import HeatMap, ShareList, bar_chart, heat_map, share_list
from formalimg.reports.figures.plots import Chart, Point, Series, numbered_style, run_styles
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import FAILURES_COUNTED
from formalimg.types import Benchmark, Item

if TYPE_CHECKING:
    from formalimg.reports.comparison_model import Section


def item_figures(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
    """Yield the figures of items by suite, and one that compares the predicates of all suites."""
    yield from predicates_of_suites(suites)
    for name, items in suites.items():
        yield from formula_figures(suite_of(name), items)


def run_figures(section: Section) -> Iterator[Figure]:
    """Yield the figure of failed clauses by kind, as shares of each run's failed clauses (Figure 4b of FormalImg)."""
    labels = section.suite.terms
    kinds = [kind for kind in section.suite.part_kinds if any(kind in row.kinds for row in section.rows)]
    series = []
    for row, style in zip(section.rows, run_styles(section.rows), strict=True):
        if failed := sum(tally.failed for tally in row.kinds.values()):
            shares = {kind: Point(row.kinds[kind].failed / failed) for kind in kinds if kind in row.kinds}
            series.append(Series(row.name, style, shares))
    if series:
        title = f"{section.title}: {labels.part}s {labels.failed}, shares by {labels.kind}"
        note = f"{FAILURES_COUNTED} The shares of a run add up to 100 %."
        measure = f"of all {labels.part}s {labels.failed} (%)"
        chart = Chart(title, note, tuple(kinds), tuple(series), measure, percent=True)
        yield bar_chart(f"{section.suite.name}-failure-shares", chart)


def predicates_of_suites(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
    """Yield the figure of predicate frequencies with one bar per suite (Figure 9 of FormalImg)."""
    series = []
    for number, (suite, items) in enumerate(suites.items()):
        census = count_contents(suite, items)
        # Published items use some predicates that their vocabulary does not list.
        drawn = {name: census.predicates[name] for name in (*census.predicate_shares, *census.unknown_predicates)}
        if total := sum(drawn.values()):
            shares = {name: Point(count / total) for name, count in drawn.items()}
            series.append(Series(suite_of(suite).title, numbered_style(number), shares))
    if series:
        names = dict.fromkeys(name for entry in series for name in entry.points)
        listed = " and ".join(entry.name for entry in series)
        chart = Chart(
            f"{listed}: predicates",
            "Of all uses of predicates, but for those that every instruction needs. A dash: the suite has no such one.",
            tuple(
                sorted(
                    names,
                    key=lambda name: (-sum(entry.points[name].value for entry in series if name in entry.points), name),
                )
            ),
            tuple(series),
            "of all uses (%)",
            percent=True,
        )
        yield bar_chart("-".join((*suites, "predicates")), chart)


def formula_figures(suite: Benchmark, items: Sequence[Item[Any]]) -> Iterator[Figure]:
    """Yield the figures of predicates by level (Figure 4a of FormalImg) and of classes (Figures 7 and 8)."""
    used: Counter[tuple[str, str]] = Counter()
    levels = Counter(str(item.level) for item in items)
    for item in items:
        used.update({(atom.predicate, str(item.level)) for atom in atoms(item.spec.formula)})
    predicates = dict.fromkeys(name for name, _ in used)
    columns = tuple(sorted(levels, key=int))
    shares = {(name, level): used[name, level] / levels[level] for name in predicates for level in columns}
    yield heat_map(
        f"{suite.name}-predicates-by-level",
        HeatMap(
            f"{suite.title}: items that use a predicate, by level, in percent",
            f"{len(items):,} items; the darker, the more of a level use it.",
            tuple(sorted(predicates, key=lambda name: (-sum(used[name, level] for level in columns), name))),
            columns,
            shares,
            {cell: f"{100 * share:.0f}" for cell, share in shares.items()},
            suite.level,
        ),
    )
    census = count_contents(suite.name, items)
    if total := census.classes.total():
        yield share_list(
            f"{suite.name}-classes",
            ShareList(
                f"{suite.title}: classes of objects, in percent",
                f"Of the {total:,} times that an item names a class.",
                {name: census.classes[name] / total for name in census.class_shares},
            ),
        )
