"""A section as a grid of texts, for the formats that write plain tables."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.report.comparison import PublishedRow, Row, Section
from formalimg.report.figures import NOTHING, bounds_held, epsilon_text, level_held, percent, rate_text, scored_text
from formalimg.stats import Generalizability


class Line(NamedTuple):
    """One row of a grid: a run, or published figures."""

    name: str
    levels: tuple[str, ...]
    bands: tuple[str, ...]
    held: str
    scored: str
    published: bool


class Grid(NamedTuple):
    """Headings and lines. `held` is the heading of the generalizability; empty where the suite has none."""

    levels: tuple[str, ...]
    bands: tuple[str, ...]
    held: str
    lines: tuple[Line, ...]


def grid_of(section: Section) -> Grid:
    """The section as texts: rates in percent, marked where not all pictures were scored."""
    return Grid(
        tuple(map(str, section.levels)),
        tuple(section.suite.bands),
        "" if section.epsilon is None else f"G{epsilon_text(section.epsilon)}",
        (
            *(_line_of_run(row, section) for row in section.rows),
            *(_line_of_published(row, section) for row in section.published),
        ),
    )


def _line_of_run(row: Row, section: Section) -> Line:
    summary = row.summary
    return Line(
        row.name,
        tuple(rate_text(summary.levels.get(level)) for level in section.levels),
        tuple(rate_text(summary.bands.get(band)) for band in section.suite.bands),
        _held(summary.generalizability),
        scored_text(summary.overall),
        published=False,
    )


def _held(held: Generalizability | None) -> str:
    """G with its interval, such as 4 (3–5)."""
    return f"{level_held(held)} ({bounds_held(held)})" if bounds_held(held) else level_held(held)


def _line_of_published(row: PublishedRow, section: Section) -> Line:
    return Line(
        row.name,
        tuple(percent(row.rates.get(level)) for level in section.levels),
        tuple(percent(row.bands[band]) for band in section.suite.bands),
        NOTHING if row.generalizability is None else str(row.generalizability),
        "published",
        published=True,
    )
