"""What a run is: enough to do it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.models import Setting
from formalimg.runs import Party, RunCard, Spent


class Fact(NamedTuple):
    """Something that a card tells."""

    name: str
    text: str


def card_facts(card: RunCard, items: int, spent: Spent) -> list[Fact]:
    """The card of a run, line by line."""
    told = [
        Fact("model", party_text(card.model)),
        Fact("judge", party_text(card.judge) if card.judge else "nobody yet"),
        Fact("suite", f"{card.suite} {card.suite_version}".strip()),
        Fact("items", f"{items:,}, {card.samples} picture{'s' * (card.samples != 1)} of each"),
        Fact("task", card.task if card.task != "image" else ""),
        Fact("condition", card.condition),
        Fact("style text", card.style if card.style != "none" else ""),
        Fact("layouts", card.layouts),
        Fact("texts", card.prompts),
        Fact("seed", str(card.seed)),
        Fact("size", f"{card.size} px"),
        Fact("digest", card.items_digest),
        Fact("begun", card.created),
        Fact("made with", card.made_with),
        Fact("cost", cost_text(spent)),
    ]
    return [fact for fact in told if fact.text]


def party_text(party: Party) -> str:
    """A model or a judge with its settings."""
    return f"{party.name} ({_settings(party.settings)})" if party.settings else party.name


def cost_text(spent: Spent) -> str:
    """What a run has cost; empty if it was free."""
    if not spent.dollars and not spent.unpriced:
        return ""
    return f"${spent.dollars:,.2f}" + (f" and {spent.unpriced:,} at unknown prices" if spent.unpriced else "")


def _settings(settings: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
