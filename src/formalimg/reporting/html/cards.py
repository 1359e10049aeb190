"""What each run is: enough to do it again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat, starmap
from typing import NamedTuple

from formalimg.reporting.captions import extent
from formalimg.reporting.comparison import Row, Section
from formalimg.reporting.figures import counted, level_held
from formalimg.reporting.html.markup import Markup, element, join
from formalimg.reporting.html.tones import tones_of
from formalimg.reporting.parties import party_text, settings_text
from formalimg.reporting.scales import scale_of
from formalimg.reporting.words import level_name
from formalimg.runs import RunManifest, Spent
from formalimg.stats import Band, Rate


class _Fact(NamedTuple):
    name: str
    words: str


def cards(section: Section) -> Markup:
    """One card for each run with what it has of its own, and once what all have in common."""
    tones = tones_of(section.rows)
    facts = [_facts(row) for row in section.rows]
    common = [fact for fact in facts[0] if all(fact in others for others in facts)] if len(facts) > 1 else []
    own = [[fact for fact in those if fact not in common] for those in facts]
    return join(
        element("div", map(_card, section.rows, own, tones, repeat(section)), class_="cards"),
        element("div", element("h3", "All of them"), _list(common), class_="common") if common else "",
    )


def _facts(row: Row) -> list[_Fact]:
    card = row.manifest
    told = [
        ("judge", party_text(card.judge) if card.judge else "nobody yet"),
        ("settings", settings_text(card.model.settings) or "none"),
        ("items", extent(row)),
        *_condition(card),
        ("seed", str(card.seed)),
        ("size", f"{card.size} px"),
        ("suite", f"{card.suite} {card.suite_version}".strip()),
        ("digest", card.items_digest),
        ("begun", card.created),
        *([("made with", card.made_with)] if card.made_with else []),
        *_cost(row.spent),
    ]
    return list(starmap(_Fact, told))


def _card(row: Row, facts: Sequence[_Fact], tone: str, section: Section) -> Markup:
    return element(
        "article",
        element("h3", element("span", class_="swatch"), row.name),
        _headline(row, section),
        _list(facts),
        class_=f"card {tone}",
    )


def _list(facts: Sequence[_Fact]) -> Markup:
    return element("dl", (element("div", element("dt", fact.name), element("dd", fact.words)) for fact in facts))


def _condition(card: RunManifest) -> list[tuple[str, str]]:
    """What was asked for, and how, where it was not an image by the words of an item alone."""
    style = f"{card.style} style text" if card.style != "none" else ""
    facts = [
        ("task", card.task if card.task != "image" else ""),
        ("condition", ", ".join(filter(None, [card.condition, style]))),
        ("layouts", card.layouts),
        ("texts", card.prompts),
    ]
    return [(name, fact) for name, fact in facts if fact]


def _cost(spent: Spent) -> list[tuple[str, str]]:
    if not spent.dollars and not spent.unpriced:
        return []
    unknown = f"; {counted(spent.unpriced, 'call')} at unknown prices" if spent.unpriced else ""
    return [("cost", f"${spent.dollars:,.2f}{unknown}")]


def _headline(row: Row, section: Section) -> Markup:
    """The largest band and the generalizability, large; of scores what they are made to show."""
    scale = scale_of(section.suite)
    told = [
        element("span", element("b", scale.marked(figure)), f"{scale.unit} {name}")
        for name, figure in _largest(row, section)
    ]
    if row.summary.generalizability is not None:
        told.append(element("span", element("b", level_held(row.summary.generalizability)), " G"))
    return element("p", told, class_="headline")


def _largest(row: Row, section: Section) -> list[tuple[str, Rate | Band]]:
    bands, levels = row.summary.bands, row.summary.levels
    if section.suite.kind == "counterfactual":
        if bands:
            return [*bands.items()]
        return [(level_name(section.suite, level), rate) for level, rate in levels.items()]
    last = [(name.lower(), band) for name, band in bands.items()][-1:]
    return [*last] or [("all images", row.summary.overall)]
