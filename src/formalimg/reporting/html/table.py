"""The table of rates."""

from __future__ import annotations

from formalimg.reporting.captions import caption, remarks
from formalimg.reporting.comparison import Comparison, PublishedRow, Row, Section
from formalimg.reporting.figures import (
    NOTHING,
    bounds_held,
    epsilon_text,
    incomplete,
    level_held,
    percent,
    scored_text,
)
from formalimg.reporting.html.markup import Markup, element, join
from formalimg.reporting.html.tones import tones_of
from formalimg.reporting.scales import Scale, scale_of
from formalimg.reporting.words import level_head, level_word, words_of
from formalimg.stats import Band, Generalizability, Rate


def table(section: Section, comparison: Comparison) -> Markup:
    """Rates by level and band with their intervals, what was scored, and the rules behind them."""
    tones = tones_of(section.rows)
    body = [
        element("tbody", (_run(row, tone, section) for row, tone in zip(section.rows, tones, strict=True))),
    ]
    if section.published:
        body.append(element("tbody", (_published(row, section) for row in section.published), class_="published"))
    grid = element(
        "table",
        element("thead", _over_heads(section), _heads(section)),
        body,
        class_="rates",
        aria_label=f"{words_of(section.suite).figures} of {section.suite.title}",
    )
    notes = element("ul", (element("li", remark) for remark in remarks(section)), class_="notes")
    return join(
        element(
            "div",
            grid,
            class_="wide",
            tabindex="0",
            role="region",
            aria_label=f"Table of {words_of(section.suite).figures.lower()}",
        ),
        element("p", caption(section, comparison), class_="caption"),  # outside, so that it does not scroll
        notes if remarks(section) else "",
    )


def _over_heads(section: Section) -> Markup:
    held = section.epsilon is not None
    return element(
        "tr",
        element("td"),
        _over(level_word(section.suite), len(section.levels)),
        _over(words_of(section.suite).bands, len(section.suite.bands)),
        element("td", colspan=2 if held else None),
    )


def _over(words: str, columns: int) -> Markup:
    """A head over several columns; nothing where there are none."""
    if not columns:
        return join()
    if not words:
        return element("td", colspan=columns)
    return element("th", words, colspan=columns, scope="colgroup", class_="over")


def _heads(section: Section) -> Markup:
    held = () if section.epsilon is None else (join("G", element("sub", epsilon_text(section.epsilon))),)
    first_band = len(section.levels)
    heads = [*(level_head(section.suite, level) for level in section.levels), *section.suite.bands]
    return element(
        "tr",
        element("th", "run", scope="col"),
        (
            element("th", head, scope="col", class_="first" if number == first_band else None)
            for number, head in enumerate(heads)
        ),
        (element("th", head, scope="col", class_="first") for head in held),
        element("th", "scored", scope="col"),
    )


def _run(row: Row, tone: str, section: Section) -> Markup:
    summary, scale = row.summary, scale_of(section.suite)
    bands = [summary.bands.get(band) for band in section.suite.bands]
    return element(
        "tr",
        element("th", element("span", class_="swatch"), row.name, scope="row"),
        (_cell(summary.levels.get(level), scale) for level in section.levels),
        (_cell(band, scale, first=number == 0) for number, band in enumerate(bands)),
        [] if section.epsilon is None else [_held(summary.generalizability)],
        element("td", scored_text(summary.overall)),
        class_=tone,
    )


def _cell(figure: Rate | Band | None, scale: Scale, first: bool = False) -> Markup:
    kind = "first" if first else None
    if figure is None or figure.value is None:
        return element("td", NOTHING, class_=kind)
    told = f"{percent(figure.coverage)} % scored"
    if isinstance(figure, Rate):
        told = f"{figure.passed} passed, {figure.scored} of {figure.expected} scored"
    if figure.interval is not None:
        told = f"{scale.interval(figure.interval)}; {told}"
    mark = element("sup", incomplete(figure)) if incomplete(figure) else ""
    return element(
        "td",
        scale.text(figure.value),
        mark,
        element("small", scale.short_interval(figure.interval)),
        class_=kind,
        title=told,
    )


def _held(held: Generalizability | None) -> Markup:
    if not bounds_held(held):
        return element("td", level_held(held), class_="first")
    return element("td", level_held(held), element("small", bounds_held(held)), class_="first")


def _published(row: PublishedRow, section: Section) -> Markup:
    held = NOTHING if row.generalizability is None else str(row.generalizability)
    scale = scale_of(section.suite)
    return element(
        "tr",
        element("th", row.name, scope="row", title=row.source),
        (element("td", scale.text(row.rates.get(level))) for level in section.levels),
        (
            element("td", scale.text(row.bands[band]), class_=None if number else "first")
            for number, band in enumerate(section.suite.bands)
        ),
        [] if section.epsilon is None else [element("td", held, class_="first")],
        element("td", NOTHING),
    )
