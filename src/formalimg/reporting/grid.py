"""A section as a grid of texts, for the formats that write plain tables."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.reporting.comparison import PublishedRow, Row, Section
from formalimg.reporting.figures import NOTHING, bounds_held, epsilon_text, level_held, scored_text
from formalimg.reporting.scales import SCORE, Scale, scale_of
from formalimg.reporting.words import level_head, level_word
from formalimg.stats import Band, Generalizability, Rate


class Line(NamedTuple):
    """One row of a grid: a run, or published figures."""

    name: str
    levels: tuple[str, ...]
    bands: tuple[str, ...]
    held: str
    scored: str
    published: bool


class Grid(NamedTuple):
    """Headings and lines.

    `level` stands over the headings of the levels; empty where they have names of their own. `held` is the heading of
    the generalizability; empty where the suite has none.
    """

    level: str
    levels: tuple[str, ...]
    bands: tuple[str, ...]
    held: str
    lines: tuple[Line, ...]


def grid_of(section: Section) -> Grid:
    """The section as texts: figures as the suite writes them, marked where not all images were scored."""
    return Grid(
        level_word(section.suite),
        tuple(level_head(section.suite, level) for level in section.levels),
        tuple(section.suite.bands),
        "" if section.epsilon is None else f"G{epsilon_text(section.epsilon)}",
        (
            *(_line_of_run(row, section) for row in section.rows),
            *(_line_of_published(row, section) for row in section.published),
        ),
    )


def _line_of_run(row: Row, section: Section) -> Line:
    summary, scale, bands = row.summary, scale_of(section.suite), section.suite.bands
    return Line(
        row.name,
        tuple(_figure(summary.levels.get(level), scale, not bands) for level in section.levels),
        tuple(_figure(summary.bands.get(band), scale, with_interval=True) for band in bands),
        _held(summary.generalizability),
        scored_text(summary.overall),
        published=False,
    )


def _figure(figure: Rate | Band | None, scale: Scale, with_interval: bool) -> str:
    """The figure; scores that stand for the whole suite have their intervals beside them, as in 0.40 (0.36–0.44)."""
    text = scale.marked(figure)
    bounds = scale.interval(figure.interval) if figure and with_interval and scale is SCORE else ""
    return f"{text} ({bounds})" if bounds else text


def _held(held: Generalizability | None) -> str:
    """G with its interval, such as 4 (3–5)."""
    return f"{level_held(held)} ({bounds_held(held)})" if bounds_held(held) else level_held(held)


def _line_of_published(row: PublishedRow, section: Section) -> Line:
    scale = scale_of(section.suite)
    return Line(
        row.name,
        tuple(scale.text(row.rates.get(level)) for level in section.levels),
        tuple(scale.text(row.bands[band]) for band in section.suite.bands),
        NOTHING if row.generalizability is None else str(row.generalizability),
        "published",
        published=True,
    )
