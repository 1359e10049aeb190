"""Figures of runs of any suite: rates and scores by level, setting and judge, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from formalimg.reports.comparison_model import Comparison, RunRow, Section, Tally
from formalimg.reports.figures.bar_charts import bar_chart, dot_chart
from formalimg.reports.figures.corrected_rates import corrected_figures
from formalimg.reports.figures.line_charts import LinePanel, PanelChart, line_chart, panel_chart
from formalimg.reports.figures.series import (
    PUBLISHED,
    Chart,
    Point,
    Series,
    known_points,
    numbered_style,
    point_of_rate,
    point_of_tally,
    run_styles,
)
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import FAILURES_COUNTED, epsilon_text, level_head, level_word, rule_text
from formalimg.runs.manifest import judge_names


def rates_by_level(section: Section, comparison: Comparison) -> Chart:
    """Return the numbers of the main table, with intervals; published ones of the first judge are less prominent."""
    about = section.suite
    of_scores = about.has_scores
    runs = [
        Series(row.name, style, points_by_level(section, row))
        for row, style in zip(section.rows, run_styles(section.rows), strict=True)
    ]
    published = [
        Series(row.name, PUBLISHED, {level_head(about, level): Point(rate) for level, rate in row.rates.items()})
        for row in section.published
        if row.rates and row.judge == section.published[0].judge
    ]
    return Chart(
        f"{section.title}: {'mean scores' if of_scores else 'pass rate'}, by level",
        rules_of(section, comparison),
        tuple(level_head(about, level) for level in section.levels),
        (*runs, *published),
        "mean score" if of_scores else "images that pass (%)",
        not of_scores,
        level_word(about),
    )


def points_by_level(section: Section, row: RunRow) -> dict[str, Point]:
    """Return the numbers of a run in the main table, by the names of their levels."""
    return known_points(
        {level_head(section.suite, level): point_of_rate(rate) for level, rate in row.summary.levels.items()}
    )


def rules_of(section: Section, comparison: Comparison) -> str:
    """Return how the numbers of the main table were made."""
    about = section.suite
    sureness = f"{100 * comparison.confidence:g} %"
    if about.has_scores:
        rules = about.score_rules(comparison.how) or ()
        return f"{'. '.join(rules)}. Thin lines: {sureness} intervals, over groups."
    held = "" if section.epsilon is None else f" The dotted line is the rate to hold, {epsilon_text(section.epsilon)}."
    return f"{rule_text(comparison.missing)}. Thin lines: {sureness} intervals.{held}"


def settings_of_models(section: Section, comparison: Comparison) -> PanelChart:
    """Return a panel for each model run in several settings, such as text and image (Figure 6 of FormalImg)."""
    by_model: dict[str, list[tuple[RunRow, str]]] = {}
    for model in dict.fromkeys(row.manifest.model.name for row in section.rows):
        rows = [row for row in section.rows if row.manifest.model.name == model]
        if len({(row.manifest.task, row.manifest.condition, row.manifest.layouts) for row in rows}) > 1:
            by_model[model] = [
                (row, row.name.removeprefix(model).removeprefix(", ") or row.manifest.task) for row in rows
            ]
    settings = list(dict.fromkeys(setting for rows in by_model.values() for _, setting in rows))
    panels = [
        LinePanel(
            model,
            tuple(
                Series(name, numbered_style(settings.index(name)), points_by_level(section, row)) for row, name in rows
            ),
        )
        for model, rows in by_model.items()
    ]
    return panels_of(section, comparison, "by setting", panels)


def judges_of_runs(section: Section, comparison: Comparison) -> PanelChart:
    """Return a panel for each judge, if there are several, with a line for each run."""
    judged = [(row, row.manifest.judge) for row in section.rows if row.manifest.judge is not None]
    parties = [judge for number, (_, judge) in enumerate(judged) if judge not in [one for _, one in judged[:number]]]
    names = judge_names(parties)
    who = [row.name.removesuffix(f", by {names[parties.index(judge)]}") for row, judge in judged]
    runs = list(dict.fromkeys(who))
    panels = [
        LinePanel(
            name,
            tuple(
                Series(run, numbered_style(runs.index(run)), points_by_level(section, row))
                for (row, judge), run in zip(judged, who, strict=True)
                if judge == party
            ),
        )
        for name, party in zip(names, parties, strict=True)
    ]
    return panels_of(section, comparison, "by judge", panels if len(panels) > 1 else [])


def panels_of(
    section: Section, comparison: Comparison, by: str, panels: Sequence[LinePanel], shaded: str = ""
) -> PanelChart:
    """Return panels over the levels of a suite, with numbers of the main table; those without any are left out."""
    of_scores = section.suite.has_scores
    return PanelChart(
        f"{section.title}: {'mean scores' if of_scores else 'pass rate'}, {by}",
        rules_of(section, comparison),
        tuple(level_head(section.suite, level) for level in section.levels),
        tuple(panel for panel in panels if any(one.points for one in panel.series)),
        "mean score" if of_scores else "images that pass (%)",
        level_word(section.suite),
        percent=not of_scores,
        shaded=shaded,
    )


def failures_by_kind(section: Section) -> Chart:
    """Return the share of parts that failed, by kind."""
    return _failures(section, section.suite.terms.kind, lambda row: row.kinds)


def failures_by_word(section: Section) -> Chart:
    """Return the share of parts that failed, by word, such as predicates."""
    return _failures(section, section.suite.terms.about, lambda row: row.predicates)


def _failures(section: Section, by: str, of: Callable[[RunRow], Mapping[str, Tally]]) -> Chart:
    labels = section.suite.terms
    failed = f"{labels.part}s {labels.failed}"
    return Chart(
        f"{section.title}: {failed}, by {by}",
        FAILURES_COUNTED,
        _most_first(section, of),
        tuple(
            Series(
                row.name,
                style,
                {name: point for name, tally in of(row).items() if (point := point_of_tally(tally)) is not None},
            )
            for row, style in zip(section.rows, run_styles(section.rows), strict=True)
        ),
        f"{failed} (%)",
        percent=True,
    )


def _most_first(section: Section, of: Callable[[RunRow], Mapping[str, Tally]]) -> tuple[str, ...]:
    """Return the names by the share that failed in all runs together, the largest first."""

    def share(name: str) -> float:
        tallies = [of(row)[name] for row in section.rows if name in of(row)]
        return Tally(sum(tally.failed for tally in tallies), sum(tally.asked for tally in tallies)).share

    there = {name for row in section.rows for name, tally in of(row).items() if tally.asked}
    return tuple(sorted(there, key=lambda name: (-share(name), name)))


def comparison_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Return all figures of a comparison, suite by suite; none for what no run has data for."""
    return tuple(drawing for section in comparison.sections for drawing in _of_section(section, comparison))


def _of_section(section: Section, comparison: Comparison) -> Iterator[Figure]:
    suite, kind = section.suite.name, section.suite
    if tells(chart := rates_by_level(section, comparison)):
        yield line_chart(f"{suite}-{kind.numbers_heading.lower()}", chart, section.epsilon)
    yield from corrected_figures(section, comparison.confidence)
    for by, panels in (
        ("setting", settings_of_models(section, comparison)),
        ("judge", judges_of_runs(section, comparison)),
    ):
        if panels.panels:
            yield panel_chart(f"{suite}-{kind.numbers_heading.lower()}-by-{by}", panels)
    yield from kind.run_figures(section, comparison) or ()
    if tells(chart := failures_by_kind(section)):
        yield bar_chart(f"{suite}-failures-by-{kind.terms.kind.split()[0]}", chart)
    # The values of concepts have figures of their own, with intervals.
    if not kind.value_has_kind and tells(chart := failures_by_word(section)):
        yield dot_chart(f"{suite}-failures-by-{kind.terms.about}", chart)


def tells(chart: Chart) -> bool:
    """Return whether a chart has a number of some run; published ones alone say nothing."""
    return any(one.points for one in chart.series if one.style.is_run)
