"""Figures of runs: rates and scores by level, setting, judge and difficulty, concepts, and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from formalimg.analysis import judge_names
from formalimg.reporting.counterfactual_scores import scoring_rules
from formalimg.reporting.figures.bar_charts import bar_chart, dot_chart
from formalimg.reporting.figures.corrected import corrected_figures
from formalimg.reporting.figures.files import slug
from formalimg.reporting.figures.line_charts import LinePanel, PanelChart, line_chart, panel_chart
from formalimg.reporting.figures.series import (
    PUBLISHED,
    Chart,
    Point,
    Series,
    known_points,
    numbered_style,
    point_of_number,
    point_of_rate,
    point_of_tally,
    run_styles,
)
from formalimg.reporting.figures.svg import Figure
from formalimg.reporting.labels import FAILURES_COUNTED, epsilon_text, level_head, level_word, rule_text
from formalimg.reporting.model import Comparison, RunRow, Section, Tally
from formalimg.stats import Interval
from formalimg.suites import Difficulty, Pool, load_pools
from formalimg.tables import Table


def rates_by_level(section: Section, comparison: Comparison) -> Chart:
    """Return the numbers of the main table, with intervals; published ones of the first judge are less prominent."""
    about = section.suite
    of_scores = about.traits.has_scores
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
        f"{about.title}: {'mean scores' if of_scores else 'pass rate'}, by level",
        rules_of(section, comparison),
        tuple(level_head(about, level) for level in section.levels),
        (*runs, *published),
        "mean score" if of_scores else "images that pass (%)",
        not of_scores,
        level_word(about),
    )


def ratios_between_levels(section: Section, comparison: Comparison) -> Chart:
    """Return PRR and RRR of CF-World; nothing for other suites, whose bands are means of what is drawn already."""
    there = section.suite.bands if section.suite.traits.has_scores else {}
    return Chart(
        f"{section.suite.title}: what is kept from level to level",
        rules_of(section, comparison),
        tuple(there),
        tuple(
            Series(
                row.name,
                style,
                known_points(
                    {band: point_of_rate(row.summary.bands[band]) for band in there if band in row.summary.bands}
                ),
            )
            for row, style in zip(section.rows, run_styles(section.rows), strict=True)
        ),
        "ratio",
        percent=False,
    )


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
            column.head.removeprefix(prefix): point_of_number(table.number(row, n))
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


def points_by_level(section: Section, row: RunRow) -> dict[str, Point]:
    """Return the numbers of a run in the main table, by the names of their levels."""
    return known_points(
        {level_head(section.suite, level): point_of_rate(rate) for level, rate in row.summary.levels.items()}
    )


def rules_of(section: Section, comparison: Comparison) -> str:
    """Return how the numbers of the main table were made."""
    about = section.suite
    sureness = f"{100 * comparison.confidence:g} %"
    if about.traits.has_scores:
        rules = scoring_rules(about, comparison.missing, comparison.threshold, comparison.profile)
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
    """Return a panel for each judge, if there are several, with a line for each run (Figure 14 of ConceptMix)."""
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
    of_scores = section.suite.traits.has_scores
    return PanelChart(
        f"{section.suite.title}: {'mean scores' if of_scores else 'pass rate'}, {by}",
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
    return _failures(section, section.suite.traits.terms.kind, lambda row: row.kinds)


def failures_by_word(section: Section) -> Chart:
    """Return the share of parts that failed, by word, such as predicates."""
    return _failures(section, section.suite.traits.terms.about, lambda row: row.predicates)


def _failures(section: Section, by: str, of: Callable[[RunRow], Mapping[str, Tally]]) -> Chart:
    labels = section.suite.traits.terms
    failed = f"{labels.part}s {labels.failed}"
    return Chart(
        f"{section.suite.title}: {failed}, by {by}",
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
        point = point_of_number(table.number(row, heads.index(head))) if table else None
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


def comparison_figures(comparison: Comparison) -> tuple[Figure, ...]:
    """Return all figures of a comparison, suite by suite; none for what no run has data for."""
    return tuple(drawing for section in comparison.sections for drawing in _of_section(section, comparison))


def _of_section(section: Section, comparison: Comparison) -> Iterator[Figure]:
    suite, kind = section.suite.name, section.suite.traits
    if _tells(chart := rates_by_level(section, comparison)):
        yield line_chart(f"{suite}-{kind.numbers_heading.lower()}", chart, section.epsilon)
    yield from corrected_figures(section, comparison.confidence)
    for by, panels in (
        ("setting", settings_of_models(section, comparison)),
        ("judge", judges_of_runs(section, comparison)),
        ("difficulty", easy_to_hard(section, comparison)),
    ):
        if panels.panels:
            yield panel_chart(f"{suite}-{kind.numbers_heading.lower()}-by-{by}", panels)
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
        yield bar_chart(f"{suite}-failures-by-{kind.terms.kind.split()[0]}", chart)
    # The values of concepts have figures of their own, with intervals.
    if not kind.value_has_kind and _tells(chart := failures_by_word(section)):
        yield dot_chart(f"{suite}-failures-by-{kind.terms.about}", chart)


def _tells(chart: Chart) -> bool:
    return any(one.points for one in chart.series if one.style.is_run)
