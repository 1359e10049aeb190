"""Figures of what items are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.reports.figures.bar_charts import bar_chart
from formalimg.reports.figures.series import Chart, Point, Series, numbered_style
from formalimg.reports.figures.svg import Figure
from formalimg.types import Benchmark, Item


def item_figures(items: Sequence[Item[Any]]) -> tuple[Figure, ...]:
    """Return all figures of what items are made of. Suites of one benchmark may be side by side."""
    names = dict.fromkeys(item.suite for item in items)
    return tuple(_drawings({name: [item for item in items if item.suite == name] for name in names}))


def _drawings(by_suite: dict[str, list[Item[Any]]]) -> Iterator[Figure]:
    benchmarks: dict[type[Benchmark], dict[str, list[Item[Any]]]] = {}
    for name, items in by_suite.items():
        benchmarks.setdefault(type(suite_of(name)), {})[name] = items
    for own in benchmarks.values():
        yield from suite_of(next(iter(own))).item_figures(own) or ()


def share_chart(
    name: str, title: str, note: str, counts: Mapping[str, int], measure: str, *, with_counts: bool = False
) -> Figure:
    """Return bars for the shares of what items are made of, the largest first."""
    total = sum(counts.values())
    points = {f"{what}: {count:,}" if with_counts else what: Point(count / total) for what, count in counts.items()}
    ordered = sorted(points, key=lambda label: (-points[label].value, label))
    return bar_chart(
        name, Chart(title, note, tuple(ordered), (Series("", numbered_style(0), points),), measure, percent=True)
    )
