"""Which figures a comparison has: those for which its runs hold the data."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.reporting.comparison import Comparison, Section
from formalimg.reporting.drawings.difficulty import easy_to_hard
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.failing import failures_by_kind, failures_by_word
from formalimg.reporting.drawings.levels import concept_fractions, rates_by_level, ratios_between_levels
from formalimg.reporting.drawings.lines import line_chart
from formalimg.reporting.drawings.naming import slug
from formalimg.reporting.drawings.panels import panel_chart
from formalimg.reporting.drawings.rows import bar_chart, dot_chart
from formalimg.reporting.drawings.series import Chart
from formalimg.reporting.drawings.settings import judges_of_runs, settings_of_models
from formalimg.reporting.drawings.values import categories_of_one_concept, values_by_category, values_of_one_concept
from formalimg.reporting.words import words_of


def drawings_of(comparison: Comparison) -> tuple[Drawing, ...]:
    """All figures of a comparison, suite by suite; none for what no run tells anything about."""
    return tuple(drawing for section in comparison.sections for drawing in _of_section(section, comparison))


def _of_section(section: Section, comparison: Comparison) -> Iterator[Drawing]:
    suite, words = section.suite.name, words_of(section.suite)
    if _tells(chart := rates_by_level(section, comparison)):
        yield line_chart(f"{suite}-{words.figures.lower()}", chart, section.epsilon)
    for by, panels in (
        ("setting", settings_of_models(section, comparison)),
        ("judge", judges_of_runs(section, comparison)),
        ("difficulty", easy_to_hard(section, comparison)),
    ):
        if panels.panels:
            yield panel_chart(f"{suite}-{words.figures.lower()}-by-{by}", panels)
    if _tells(chart := ratios_between_levels(section, comparison)):
        yield bar_chart(f"{suite}-ratios", chart)
    if _tells(chart := concept_fractions(section)):
        yield line_chart(f"{suite}-concept-fraction", chart)
    if _tells(chart := categories_of_one_concept(section)):
        yield bar_chart(f"{suite}-categories", chart)
    for category, chart in values_of_one_concept(section).items():
        yield dot_chart(f"{suite}-values-at-{section.suite.level}-1-{slug(category)}", chart)
    for category, chart in values_by_category(section).items():
        yield dot_chart(f"{suite}-values-{slug(category)}", chart)
    if _tells(chart := failures_by_kind(section)):
        yield bar_chart(f"{suite}-failures-by-{words.kind.split()[0]}", chart)
    # The values of concepts have figures of their own, with intervals.
    if section.suite.kind != "concepts" and _tells(chart := failures_by_word(section)):
        yield dot_chart(f"{suite}-failures-by-{words.about}", chart)


def _tells(chart: Chart) -> bool:
    return any(one.points for one in chart.series if one.look.is_run)
