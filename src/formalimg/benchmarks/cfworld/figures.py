"""Figures of CF-World: fields and questions of items, ratios between levels, and thresholds of the gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from formalimg.benchmarks.cfworld.spec import FIELD_TAGGED
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.reports.comparison_model import Comparison, Section
from formalimg.reports.figures.charts import Curve, Curves, bar_chart, curve_chart, share_chart
from formalimg.reports.figures.plots import Axis, Chart, Series, known_points, numbered_style, point_of_rate, run_styles
from formalimg.reports.figures.runs import rules_of, tells
from formalimg.reports.figures.svg import Figure
from formalimg.types import Benchmark, Item

if TYPE_CHECKING:
    from formalimg.benchmarks.cfworld.calibration import GateCalibration
    from formalimg.human_eval.agreement.thresholds import ThresholdResult


def item_figures(suites: Mapping[str, Sequence[Item[Any]]]) -> Iterator[Figure]:
    """Yield the figures of items, by suite."""
    for name, items in suites.items():
        yield from _field_figures(suite_of(name), items)


def _field_figures(suite: Benchmark, items: Sequence[Item[Any]]) -> Iterator[Figure]:
    """Yield the figures of groups by field (Figure 2a of CF-World) and of questions by dimension."""
    if suite.name in FIELD_TAGGED:
        fields = {item.spec.group: ", ".join(plain_tags(item.tags)) or "without a field" for item in items}
        yield share_chart(
            f"{suite.name}-fields",
            f"{suite.title}: fields",
            f"{len(fields):,} groups.",
            Counter(fields.values()),
            "of all groups (%)",
            with_counts=True,
        )
    questions = Counter(question.dimension for item in items for question in item.spec.questions)
    if questions:
        yield share_chart(
            f"{suite.name}-questions",
            f"{suite.title}: questions, by dimension",
            f"{questions.total():,} questions about {len(items):,} images.",
            {str(name): count for name, count in questions.items()},
            "of all questions (%)",
            with_counts=True,
        )


def run_figures(section: Section, comparison: Comparison) -> Iterator[Figure]:
    """Yield the figure of PRR and RRR for runs; the probes have no such ratios."""
    bands = section.suite.bands
    series = (
        Series(
            row.name,
            style,
            known_points({band: point_of_rate(row.summary.bands[band]) for band in bands if band in row.summary.bands}),
        )
        for row, style in zip(section.rows, run_styles(section.rows), strict=True)
    )
    title = f"{section.suite.title}: what is kept from level to level"
    chart = Chart(title, rules_of(section, comparison), tuple(bands), tuple(series), "ratio", percent=False)
    if tells(chart):
        yield bar_chart(f"{section.suite.name}-ratios", chart)


def gate_figures(study: GateCalibration) -> Iterator[Figure]:
    """Yield the figure of accuracy and F1 by threshold, with the thresholds of the paper as points."""
    best = () if study.best is None else ((study.best.value, f"best accuracy: {study.best.value:.2f}"),)
    yield curve_chart(
        "cf-world-gate",
        Curves(
            "CF-World: how well thresholds on factual images agree with people",
            f"{study.images:,} factual images, {study.recognisable:,} of them recognisable; an image passes with "
            "a score of the threshold or above.",
            (
                _build_curve("accuracy", study, lambda at: at.accuracy),
                _build_curve("F1", study, lambda at: at.f1)._replace(style=numbered_style(1)),
            ),
            "threshold on the score of the factual image",
            "agreement with people (%)",
            Axis(0, 1, tuple((tick / 10, f"{tick / 10:g}") for tick in range(11))),
            best,
        ),
    )


def _build_curve(name: str, study: GateCalibration, reached: Callable[[ThresholdResult], float | None]) -> Curve:
    line = [(at.threshold, reached(at)) for at in study.curve[:1]]  # a step function between neighbouring thresholds
    for before, at in pairwise(study.curve):
        line += [(before.threshold, reached(at)), (at.threshold, reached(at))]
    return Curve(name, numbered_style(0), tuple(line), tuple((at.threshold, reached(at)) for at in study.table))
