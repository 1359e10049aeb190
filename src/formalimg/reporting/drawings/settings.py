"""The same models side by side under several settings, or by several judges."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.analysis import judge_names
from formalimg.reporting.comparison import Comparison, Row, Section
from formalimg.reporting.drawings.levels import points_by_level, rules_of
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.panels import LinePanel, Panels
from formalimg.reporting.drawings.series import Series
from formalimg.reporting.words import level_head, level_word


def settings_of_models(section: Section, comparison: Comparison) -> Panels:
    """A panel for each model that was tried in several ways, such as text and image (Figure 6 of FormalImg)."""
    told: dict[str, list[tuple[Row, str]]] = {}
    for model in dict.fromkeys(row.manifest.model.name for row in section.rows):
        rows = [row for row in section.rows if row.manifest.model.name == model]
        if len({(row.manifest.task, row.manifest.condition, row.manifest.layouts) for row in rows}) > 1:
            told[model] = [(row, row.name.removeprefix(model).removeprefix(", ") or row.manifest.task) for row in rows]
    settings = list(dict.fromkeys(setting for rows in told.values() for _, setting in rows))
    panels = [
        LinePanel(
            model,
            tuple(
                Series(name, numbered_look(settings.index(name)), points_by_level(section, row)) for row, name in rows
            ),
        )
        for model, rows in told.items()
    ]
    return panels_of(section, comparison, "by setting", panels)


def judges_of_runs(section: Section, comparison: Comparison) -> Panels:
    """A panel for each judge, if there are several, with a line for each run (Figure 14 of ConceptMix)."""
    judged = [(row, row.manifest.judge) for row in section.rows if row.manifest.judge is not None]
    parties = [judge for number, (_, judge) in enumerate(judged) if judge not in [one for _, one in judged[:number]]]
    names = judge_names(parties)
    who = [row.name.removesuffix(f", by {names[parties.index(judge)]}") for row, judge in judged]
    runs = list(dict.fromkeys(who))
    panels = [
        LinePanel(
            name,
            tuple(
                Series(run, numbered_look(runs.index(run)), points_by_level(section, row))
                for (row, judge), run in zip(judged, who, strict=True)
                if judge == party
            ),
        )
        for name, party in zip(names, parties, strict=True)
    ]
    return panels_of(section, comparison, "by judge", panels if len(panels) > 1 else [])


def panels_of(
    section: Section, comparison: Comparison, by: str, panels: Sequence[LinePanel], shaded: str = ""
) -> Panels:
    """Panels over the levels of a suite, with the figures of the main table; those without any are left out."""
    of_scores = section.suite.kind == "counterfactual"
    return Panels(
        f"{section.suite.title}: {'mean scores' if of_scores else 'images that show all that was asked'}, {by}",
        rules_of(section, comparison),
        tuple(level_head(section.suite, level) for level in section.levels),
        tuple(panel for panel in panels if any(one.points for one in panel.series)),
        "mean score" if of_scores else "images that pass (%)",
        level_word(section.suite),
        percent=not of_scores,
        shaded=shaded,
    )
