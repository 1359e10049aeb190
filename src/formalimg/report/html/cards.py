"""What each run is: enough to do it again."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.report.comparison import Row, Section
from formalimg.report.figures import counted, level_held, rate_text
from formalimg.report.html.markup import Markup, element
from formalimg.report.html.tones import tones_of
from formalimg.runs import Party, RunCard, Spent


def cards(section: Section) -> Markup:
    """One card for each run."""
    tones = tones_of(section.rows)
    return element("div", map(_card, section.rows, tones), class_="cards")


def _card(row: Row, tone: str) -> Markup:
    card = row.card
    version = f"{card.suite} {card.suite_version}".strip()
    facts = [
        ("judge", _party(card.judge) if card.judge else "nobody yet"),
        ("settings", _settings(card.model.settings) or "none"),
        ("items", f"{counted(row.items, 'item')}, {counted(card.samples, 'picture')} of each"),
        *_condition(card),
        ("seed", str(card.seed)),
        ("size", f"{card.size} px"),
        ("suite", version),
        ("digest", card.items_digest),
        ("begun", card.created),
        ("made with", card.made_with),
        *_cost(row.spent),
    ]
    return element(
        "article",
        element("h3", element("span", class_="swatch"), row.name),
        _headline(row),
        element("dl", (pair for name, fact in facts for pair in (element("dt", name), element("dd", fact)))),
        class_=f"card {tone}",
    )


def _condition(card: RunCard) -> list[tuple[str, str]]:
    """How items were put to the model, where it was not by their words alone."""
    told = ", ".join(filter(None, [card.condition, f"{card.style} style text" if card.style != "none" else ""]))
    return [("condition", told), ("texts", card.prompts)] if told else []


def _cost(spent: Spent) -> list[tuple[str, str]]:
    if not spent.dollars and not spent.unpriced:
        return []
    unknown = f"; {counted(spent.unpriced, 'call')} at unknown prices" if spent.unpriced else ""
    return [("cost", f"${spent.dollars:,.2f}{unknown}")]


def _headline(row: Row) -> Markup:
    """The largest band and the generalizability, large."""
    bands = row.summary.bands
    name, figure = list(bands.items())[-1] if bands else ("all pictures", row.summary.overall)
    figures = [element("span", element("b", rate_text(figure)), f" % {name.lower()}")]
    if row.summary.generalizability is not None:
        held = level_held(row.summary.generalizability)
        figures.append(element("span", element("b", held.partition(" ")[0]), " G"))
    return element("p", figures, class_="headline")


def _party(party: Party) -> str:
    settings = _settings(party.settings)
    return f"{party.name} ({settings})" if settings else party.name


def _settings(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in sorted(settings.items()))
