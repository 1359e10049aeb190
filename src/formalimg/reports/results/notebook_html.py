"""What a notebook shows: fragments of HTML that need nothing from outside and suit light and dark notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from formalimg._util.templates import render_template
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.examples import ExampleImage
from formalimg.reports.figures.curve import curve_svg
from formalimg.reports.findings import claims
from formalimg.reports.gallery import image_html
from formalimg.reports.page import main_table_html
from formalimg.reports.report_images import make_thumbnail
from formalimg.reports.tables.format import count_noun, level_name

if TYPE_CHECKING:
    from markupsafe import Markup

    from formalimg.reports.results.failures import Failure

MAX_SHOWN = 12
"""The most failures of one gallery: each holds a small image, and all are stored in the notebook."""


def comparison_html(comparison: Comparison) -> str:
    """Return the claim, the main table and the curve of each suite."""
    from markupsafe import Markup

    sections = [
        {
            "title": section.title,
            "runs": ", ".join(row.name for row in section.rows),
            "judges": ", ".join(sorted({row.manifest.judge.name for row in section.rows if row.manifest.judge})),
            "claims": claims(section, comparison) if section.pairs else [],
            "table": Markup(main_table_html(section, comparison)),
            "curve": Markup(curve_svg(section)),
        }
        for section in comparison.sections
    ]
    return str(render_template("formalimg.reports.results", "comparison.html", style=_style(), sections=sections))


def failures_html(failures: Sequence[Failure], total: int) -> str:
    """Return failures as a gallery: each with its image, prompt, and what it does not show."""
    from markupsafe import Markup

    cards = [
        {
            "place": f"{level_name(suite_of(failure.suite), failure.level)}, item {failure.item}",
            "image": Markup(image_html(_example(failure), suite_of(failure.suite))),
            "prompt": failure.prompt,
            "what_failed": failure.what_failed,
        }
        for failure in failures[:MAX_SHOWN]
    ]
    note = "" if total == 1 else f"{len(cards)} of {count_noun(total, 'image')} that failed"
    return str(render_template("formalimg.reports.results", "failures.html", style=_style(), cards=cards, note=note))


def _example(failure: Failure) -> ExampleImage:
    place = failure.judged.image
    return ExampleImage(failure.planned, failure.judged, "no image" if place is None else make_thumbnail(place))


@cache
def _style() -> Markup:
    from markupsafe import Markup

    return Markup((files("formalimg.reports.results") / "templates" / "notebook.css").read_text(encoding="utf-8"))
