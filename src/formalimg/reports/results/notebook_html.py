"""What a notebook shows: fragments of HTML that need nothing from outside and suit light and dark notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from formalimg._util.templates import render_template
from formalimg.benchmarks.registry import suite as find_suite
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.examples import ExampleImage
from formalimg.reports.figures.curve import curve_svg
from formalimg.reports.figures.svg import Markup
from formalimg.reports.findings import claims
from formalimg.reports.gallery import image_html
from formalimg.reports.page import main_table_html
from formalimg.reports.report_images import make_thumbnail
from formalimg.reports.tables.format import count_noun, level_name

if TYPE_CHECKING:
    from formalimg.reports.results.failures import Failure

MAX_SHOWN = 12
"""The most failures of one gallery: each holds a small image, and all are stored in the notebook."""


def comparison_html(comparison: Comparison) -> str:
    """Return the claim, the main table and the curve of each suite."""
    sections = [
        {
            "title": section.title,
            "runs": ", ".join(row.name for row in section.rows),
            "judges": ", ".join(sorted({row.manifest.judge.name for row in section.rows if row.manifest.judge})),
            "claims": claims(section, comparison) if section.pairs else [],
            "table": Markup(main_table_html(section, comparison)),
            "curve": curve_svg(section),
        }
        for section in comparison.sections
    ]
    return str(render_template("formalimg.reports.results", "comparison.html", style=_read_style(), sections=sections))


def failures_html(failures: Sequence[Failure], total: int) -> str:
    """Return failures as a gallery: each with its image, prompt, and what it does not show."""
    cards = []
    for failure in failures[:MAX_SHOWN]:
        suite, image = find_suite(failure.suite), failure.judged.image
        thumbnail = "no image" if image is None else make_thumbnail(image)
        cards.append(
            {
                "place": f"{level_name(suite, failure.level)}, item {failure.item}",
                "image": Markup(image_html(ExampleImage(failure.planned, failure.judged, thumbnail), suite)),
                "prompt": failure.prompt,
                "what_failed": failure.what_failed,
            }
        )
    note = "" if total == 1 else f"{len(cards)} of {count_noun(total, 'image')} that failed"
    values = {"style": _read_style(), "cards": cards, "note": note}
    return str(render_template("formalimg.reports.results", "failures.html", **values))


@cache
def _read_style() -> Markup:
    return Markup((files("formalimg.reports.results") / "templates" / "notebook.css").read_text(encoding="utf-8"))
