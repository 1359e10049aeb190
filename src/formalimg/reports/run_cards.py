"""The settings of runs on a page: a card for each run with what is particular to it, and once what all share."""

from __future__ import annotations

from itertools import starmap
from typing import NamedTuple

from formalimg._util.templates import render_template
from formalimg.reports.comparison_model import RunRow, Section
from formalimg.reports.figures.series import run_tones
from formalimg.reports.notes import extent, identity_text, settings_text
from formalimg.reports.tables.format import count_noun


class _Fact(NamedTuple):
    name: str
    text: str


class _RunCard(NamedTuple):
    """A run with what is particular to it."""

    name: str
    tone: str
    facts: list[_Fact]


def run_cards(section: Section) -> str:
    """Return a card for each run with what is particular to it, and once what all have in common."""
    facts = [_facts(row) for row in section.rows]
    common = [fact for fact in facts[0] if all(fact in others for others in facts)] if len(facts) > 1 else []
    cards = [
        _RunCard(row.name, tone, [fact for fact in those if fact not in common])
        for row, tone, those in zip(section.rows, run_tones(section.rows), facts, strict=True)
    ]
    return render_template("formalimg.reports", "cards.html", cards=cards, common=common)


def _facts(row: RunRow) -> list[_Fact]:
    manifest, spent = row.manifest, row.spent
    style = f"{manifest.style} style text" if manifest.style != "none" else ""
    unknown = f"; {count_noun(spent.unpriced, 'call')} at unknown prices" if spent.unpriced else ""
    facts = [
        ("judge", identity_text(manifest.judge) if manifest.judge else "none yet"),
        ("settings", settings_text(manifest.model.settings) or "none"),
        ("items", extent(row)),
        ("task", manifest.task if manifest.task != "image" else ""),
        ("condition", ", ".join(filter(None, [manifest.condition, style]))),
        ("layouts", manifest.layouts),
        ("texts", manifest.prompts),
        ("seed", str(manifest.seed)),
        ("size", f"{manifest.size} px"),
        ("suite", ", ".join(filter(None, [manifest.suite, manifest.items_label]))),
        ("digest", manifest.items_digest),
        ("begun", manifest.created),
        ("made with", manifest.made_with),
        ("cost", f"${spent.dollars:,.2f}{unknown}" if spent.dollars or spent.unpriced else ""),
    ]
    # What is empty is as usual; the others are always there.
    always = ("judge", "settings", "items", "seed", "size", "suite", "digest", "begun")
    return list(starmap(_Fact, (fact for fact in facts if fact[1] or fact[0] in always)))
