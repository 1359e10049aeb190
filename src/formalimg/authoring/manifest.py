"""`writing.json`: what was asked of whom, what came of it, and what it cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import atomic_write_text
from formalimg.authoring.acceptance import Standing
from formalimg.authoring.outcomes import REASONS, Outcome, added
from formalimg.models import Setting, Usage

CARD_FILE = "writing.json"


class Card(NamedTuple):
    """The sums of a writing."""

    tried: int
    usage: Usage
    cost: float | None


def save_card(
    folder: Path,
    asked: Mapping[str, object],
    attempts: int,
    items: int,
    outcomes: Sequence[Outcome],
    stands: Standing,
    summary: Mapping[str, object],
) -> Card:
    """Write the card; the file is replaced all at once. The summary is what the craft has to say."""
    manifest = _summed([outcome for outcome in outcomes if outcome.attempt < attempts])
    text = json.dumps(
        {
            **asked,
            "attempts": attempts,
            "complete": not stands.to_ask,
            "items": items,
            "missing": dict(sorted(Counter(slot.level for slot in stands.missing).items())),
            "outstanding": len(stands.to_ask),
            "tried": manifest.tried,
            "unsettled": stands.unsettled,
            "rejections": {reason: stands.rejections[reason] for reason in REASONS if stands.rejections[reason]},
            **summary,
            "served": _served(outcomes),
            "usage": {"input_tokens": manifest.usage.input_tokens, "output_tokens": manifest.usage.output_tokens},
            "cost": manifest.cost,
        },
        indent=2,
        ensure_ascii=False,
    )
    path = folder / CARD_FILE
    atomic_write_text(path, text + "\n")
    return manifest


def _summed(outcomes: Sequence[Outcome]) -> Card:
    usage = Usage()
    total: float | None = 0.0
    for outcome in outcomes:
        usage += outcome.expense.usage
        total = added(total, outcome.expense.cost)
    return Card(len(outcomes), usage, total)


def _served(outcomes: Sequence[Outcome]) -> dict[str, list[Mapping[str, Setting]]]:
    """Everything that was really used, by part: more than one entry if a server changed its model in between."""
    found: dict[str, dict[str, Mapping[str, Setting]]] = {}
    for outcome in outcomes:
        for part, served in outcome.expense.served.items():
            found.setdefault(part, {}).setdefault(json.dumps(served, sort_keys=True), served)
    return {part: [entries[key] for key in sorted(entries)] for part, entries in sorted(found.items())}
