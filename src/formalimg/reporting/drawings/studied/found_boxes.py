"""A grounder against the boxes that people corrected: precision and recall, class by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from formalimg.analysis import Boxes, BoxesStudied
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.rows import bar_chart, dot_chart
from formalimg.reporting.drawings.series import Chart, Point, Series
from formalimg.reporting.words import level_name
from formalimg.stats import Share
from formalimg.suites import suite as suite_of


def drawings_of_boxes(study: BoxesStudied) -> Iterator[Drawing]:
    """What the grounder found of what is there, by level and by class."""
    suite = suite_of(study.suite)
    levels = {level_name(suite, level): boxes for level, boxes in study.by_level.items()}
    for by, parts, draw in (("level", levels, bar_chart), ("class", study.by_class, dot_chart)):
        series = tuple(
            Series(name, numbered_look(number), _known(parts, name))
            for number, name in enumerate(("precision", "recall"))
        )
        names = tuple(part for part in parts if any(part in one.points for one in series))
        if names:
            chart = Chart(
                f"{suite.title}: boxes that were found, by {by}",
                f"Boxes match if they overlap by {study.iou:g} or more. {study.images:,} images. Thin lines: "
                f"{100 * study.confidence:g} % intervals.",
                names,
                series,
                "boxes (%)",
                percent=True,
            )
            yield draw(f"{suite.name}-boxes-by-{by}", chart)


def _known(parts: Mapping[str, Boxes], name: str) -> dict[str, Point]:
    shares: dict[str, Share] = {
        part: boxes.precision if name == "precision" else boxes.recall for part, boxes in parts.items()
    }
    return {part: Point(share.value, share.interval) for part, share in shares.items() if share.value is not None}
