"""Figures for runs of any suite: rates and scores by level, setting and judge, corrected rates, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from formalimg.reports.comparison_model import Comparison, RunRow, Section, Tally, total_share
from formalimg.reports.figures.charts import bar_chart, dot_chart
from formalimg.reports.figures.plots import (
    JUDGE,
    PEOPLE,
    PUBLISHED,
    Chart,
    LinePanel,
    PanelChart,
    Point,
    Series,
    known_points,
    line_chart,
    numbered_style,
    panel_chart,
    point_of_number,
    point_of_rate,
    run_styles,
)
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import FAILURES_COUNTED, NOTHING, epsilon_text, level_head, level_word, rule_text
from formalimg.runs.manifest import judge_names
from formalimg.types import Benchmark


def comparison_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Return all figures of a comparison, suite by suite, skipping figures without data."""
    return tuple(figure for section in comparison.sections for figure in _section_figures(section, comparison))


def _section_figures(section: Section, comparison: Comparison) -> Iterator[Figure]:
    suite = section.suite
    rates = f"{suite.name}-{suite.numbers_heading.lower()}"
    if tells(chart := _rates_by_level(section, comparison)):
        yield line_chart(rates, chart, section.epsilon)
    yield from draw_corrected_figures(section, comparison.confidence)
    for by, panels in (("setting", _model_panels(section)), ("judge", _judge_panels(section))):
        side_by_side = panels_of(section, comparison, f"by {by}", panels)
        if side_by_side.panels:
            yield panel_chart(f"{rates}-by-{by}", side_by_side)
    yield from suite.run_figures(section, comparison) or ()
    kinds = _failure_chart(section, suite.terms.kind, lambda row: row.kinds)
    if tells(kinds):
        yield bar_chart(f"{suite.name}-failures-by-{suite.terms.kind.split()[0]}", kinds)
    # The values of concepts have figures of their own, with intervals.
    words = _failure_chart(section, suite.terms.about, lambda row: row.predicates)
    if not suite.value_has_kind and tells(words):
        yield dot_chart(f"{suite.name}-failures-by-{suite.terms.about}", words)


def tells(chart: Chart) -> bool:
    """Return whether a chart has a number of at least one run, not only published numbers."""
    return any(series.points for series in chart.series if series.style.is_run)


def _rates_by_level(section: Section, comparison: Comparison) -> Chart:
    """Return a chart of the main table with intervals and with published numbers by the first judge."""
    suite = section.suite
    runs = [
        Series(row.name, style, points_by_level(section, row))
        for row, style in zip(section.rows, run_styles(section.rows), strict=True)
    ]
    published = [
        Series(row.name, PUBLISHED, {level_head(suite, level): Point(rate) for level, rate in row.rates.items()})
        for row in section.published
        if row.rates and row.judge == section.published[0].judge
    ]
    title = f"{section.title}: {_measure_name(suite)}, by level"
    heads = tuple(level_head(suite, level) for level in section.levels)
    series, note = (*runs, *published), rules_of(section, comparison)
    return Chart(title, note, heads, series, _axis_title(suite), not suite.has_scores, level_word(suite))


def points_by_level(section: Section, row: RunRow) -> dict[str, Point]:
    """Return the numbers of a run in the main table, by level name."""
    return known_points(
        {level_head(section.suite, level): point_of_rate(rate) for level, rate in row.summary.levels.items()}
    )


def _measure_name(suite: Benchmark) -> str:
    return "mean scores" if suite.has_scores else "pass rate"


def _axis_title(suite: Benchmark) -> str:
    return "mean score" if suite.has_scores else "images that pass (%)"


def rules_of(section: Section, comparison: Comparison) -> str:
    """Return a sentence on the rules and intervals behind the numbers of the main table."""
    confidence = f"{100 * comparison.confidence:g} %"
    if section.suite.has_scores:
        rules = section.suite.score_rules(comparison.how) or ()
        return f"{'. '.join(rules)}. Thin lines: {confidence} intervals, over groups."
    line = "" if section.epsilon is None else f" The dotted line is the rate to hold, {epsilon_text(section.epsilon)}."
    return f"{rule_text(comparison.missing)}. Thin lines: {confidence} intervals.{line}"


def _model_panels(section: Section) -> list[LinePanel]:
    """Return a panel for each model run with several settings, such as text and image (Figure 6 of FormalImg)."""
    by_model: dict[str, list[tuple[RunRow, str]]] = {}
    for model in dict.fromkeys(row.manifest.model.name for row in section.rows):
        rows = [row for row in section.rows if row.manifest.model.name == model]
        if len({(row.manifest.task, row.manifest.condition, row.manifest.layouts) for row in rows}) > 1:
            by_model[model] = [
                (row, row.name.removeprefix(model).removeprefix(", ") or row.manifest.task) for row in rows
            ]
    settings = list(dict.fromkeys(setting for rows in by_model.values() for _, setting in rows))
    panels = []
    for model, rows_and_settings in by_model.items():
        series = (
            Series(setting, numbered_style(settings.index(setting)), points_by_level(section, row))
            for row, setting in rows_and_settings
        )
        panels.append(LinePanel(model, tuple(series)))
    return panels


def _judge_panels(section: Section) -> list[LinePanel]:
    judged = [(row, row.manifest.judge) for row in section.rows if row.manifest.judge is not None]
    judges = [judge for n, (_, judge) in enumerate(judged) if judge not in [earlier for _, earlier in judged[:n]]]
    names = judge_names(judges)
    run_names = [row.name.removesuffix(f", by {names[judges.index(judge)]}") for row, judge in judged]
    runs = list(dict.fromkeys(run_names))
    panels = []
    for name, panel_judge in zip(names, judges, strict=True):
        series = (
            Series(run, numbered_style(runs.index(run)), points_by_level(section, row))
            for (row, judge), run in zip(judged, run_names, strict=True)
            if judge == panel_judge
        )
        panels.append(LinePanel(name, tuple(series)))
    return panels if len(panels) > 1 else []


def panels_of(
    section: Section, comparison: Comparison, by: str, panels: Sequence[LinePanel], shaded: str = ""
) -> PanelChart:
    """Return a panel chart of main-table numbers by level, leaving out panels without numbers."""
    title = f"{section.title}: {_measure_name(section.suite)}, {by}"
    known = [panel for panel in panels if any(series.points for series in panel.series)]
    return _panel_chart_of(section, title, rules_of(section, comparison), known)._replace(shaded=shaded)


def _panel_chart_of(section: Section, title: str, note: str, panels: Sequence[LinePanel]) -> PanelChart:
    suite, heads = section.suite, tuple(level_head(section.suite, level) for level in section.levels)
    measure, about = _axis_title(suite), level_word(suite)
    return PanelChart(title, note, heads, tuple(panels), measure, about, percent=not suite.has_scores)


def draw_corrected_figures(section: Section, confidence: float) -> Iterator[Figure]:
    """Yield raw and corrected numbers by level with intervals, in a panel for each labelled run."""
    suite, panels = section.suite, []
    for run in section.corrected:
        heads = {level: level_head(suite, level) for level in run.levels}
        raw = {heads[level]: point_of_number(number.raw) for level, number in run.levels.items()}
        corrected = {heads[level]: point_of_number(number.number) for level, number in run.levels.items()}
        series = (
            Series("corrected by people", PEOPLE, known_points(corrected)),
            Series("judge alone", JUDGE, known_points(raw)),
        )
        values = [NOTHING if general.value is None else str(general.value) for general in run.held or ()]
        panels.append(LinePanel(run.name, series, remark=f"G {' → '.join(values)}" if values else ""))
    general = "" if section.epsilon is None else f" G{epsilon_text(section.epsilon)}: raw, then corrected."
    chart = _panel_chart_of(
        section,
        f"{suite.title}: {_measure_name(suite)} by the judge alone, and corrected by people",
        f"Thin lines: {100 * confidence:g} % intervals; those of corrected numbers cover errors of the judge.{general}",
        panels,
    )
    if any(series.points for panel in panels for series in panel.series):
        yield panel_chart(f"{suite.name}-corrected", chart)


def _failure_chart(section: Section, by: str, tallies_of: Callable[[RunRow], Mapping[str, Tally]]) -> Chart:
    """Return a chart of the share of failed parts by name, sorted by the share over all runs, the largest first."""
    terms, run_tallies = section.suite.terms, [tallies_of(row) for row in section.rows]
    failed = f"{terms.part}s {terms.failed}"
    names = {name for tallies in run_tallies for name, tally in tallies.items() if tally.asked}
    series = tuple(
        Series(row.name, style, {name: Point(tally.share) for name, tally in tallies.items() if tally.asked})
        for row, style, tallies in zip(section.rows, run_styles(section.rows), run_tallies, strict=True)
    )
    ordered = tuple(sorted(names, key=lambda name: (-total_share(run_tallies, name), name)))
    return Chart(
        f"{section.title}: {failed}, by {by}", FAILURES_COUNTED, ordered, series, f"{failed} (%)", percent=True
    )
