"""The figure of corrected rates: the curve by the judge alone, and the curve corrected by human labels."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.reports.comparison_model import Section
from formalimg.reports.corrected import CorrectedRun
from formalimg.reports.figures.line_charts import LinePanel, PanelChart, panel_chart
from formalimg.reports.figures.rating_figures import JUDGE, PEOPLE
from formalimg.reports.figures.series import Series, known_points, point_of_number
from formalimg.reports.figures.svg import Figure
from formalimg.reports.tables.format import NOTHING, epsilon_text, level_head, level_word

_RAW, _CORRECTED = "judge alone", "corrected by people"


def corrected_figures(section: Section, confidence: float) -> Iterator[Figure]:
    """Yield raw and corrected numbers by level, with their intervals, in a panel for each run that has labels."""
    panels = tuple(_panel(section, run) for run in section.corrected)
    if not any(one.points for panel in panels for one in panel.series):
        return
    about = section.suite
    of_scores = about.has_scores
    yield panel_chart(
        f"{about.name}-corrected",
        PanelChart(
            f"{about.title}: {'mean scores' if of_scores else 'pass rate'} by the judge alone, and corrected by people",
            f"Thin lines: {100 * confidence:g} % intervals; those of corrected numbers cover errors of the judge."
            + ("" if section.epsilon is None else f" G{epsilon_text(section.epsilon)}: raw, then corrected."),
            tuple(level_head(about, level) for level in section.levels),
            panels,
            "mean score" if of_scores else "images that pass (%)",
            level_word(about),
            percent=not of_scores,
        ),
    )


def _panel(section: Section, run: CorrectedRun) -> LinePanel:
    heads = {level: level_head(section.suite, level) for level in run.levels}
    raw = {heads[level]: point_of_number(one.raw) for level, one in run.levels.items()}
    corrected = {heads[level]: point_of_number(one.number) for level, one in run.levels.items()}
    held = (
        ""
        if run.held is None
        else f"G {' → '.join(NOTHING if one.value is None else str(one.value) for one in run.held)}"
    )
    series = (Series(_CORRECTED, PEOPLE, known_points(corrected)), Series(_RAW, JUDGE, known_points(raw)))
    return LinePanel(run.name, series, remark=held)
