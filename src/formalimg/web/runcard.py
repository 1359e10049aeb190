"""What a run is: enough to do it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.models import Setting
from formalimg.runs import Identity, RunManifest, Spent


class Fact(NamedTuple):
    """Something that a card tells."""

    name: str
    text: str


def card_facts(manifest: RunManifest, items: int, spent: Spent) -> list[Fact]:
    """The card of a run, line by line."""
    told = [
        Fact("model", party_text(manifest.model)),
        Fact("judge", party_text(manifest.judge) if manifest.judge else "nobody yet"),
        Fact("suite", f"{manifest.suite} {manifest.suite_version}".strip()),
        Fact("items", f"{items:,}, {manifest.samples} image{'s' * (manifest.samples != 1)} of each"),
        Fact("task", manifest.task if manifest.task != "image" else ""),
        Fact("condition", manifest.condition),
        Fact("style text", manifest.style if manifest.style != "none" else ""),
        Fact("layouts", manifest.layouts),
        Fact("texts", manifest.prompts),
        Fact("seed", str(manifest.seed)),
        Fact("size", f"{manifest.size} px"),
        Fact("digest", manifest.items_digest),
        Fact("begun", manifest.created),
        Fact("made with", manifest.made_with),
        Fact("cost", cost_text(spent)),
    ]
    return [fact for fact in told if fact.text]


def party_text(party: Identity) -> str:
    """A model or a judge with its settings."""
    return f"{party.name} ({_settings(party.settings)})" if party.settings else party.name


def cost_text(spent: Spent) -> str:
    """What a run has cost; empty if it was free."""
    if not spent.dollars and not spent.unpriced:
        return ""
    return f"${spent.dollars:,.2f}" + (f" and {spent.unpriced:,} at unknown prices" if spent.unpriced else "")


def _settings(settings: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
