"""The manifest of an authoring run, `writing.json`: settings, models, outcomes and cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import atomic_write_text
from formalimg.benchmarks.authoring.acceptance import AuthoringState
from formalimg.benchmarks.authoring.outcomes import REASONS, AttemptOutcome, add_costs
from formalimg.models.base import Usage
from formalimg.types import Setting

CARD_FILE = "writing.json"


class AuthoringManifest(NamedTuple):
    """Totals of an authoring run."""

    tried: int
    usage: Usage
    cost: float | None


def write_manifest(
    folder: Path,
    asked: Mapping[str, object],
    attempts: int,
    items: int,
    outcomes: Sequence[AttemptOutcome],
    stands: AuthoringState,
    summary: Mapping[str, object],
) -> AuthoringManifest:
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


def _summed(outcomes: Sequence[AttemptOutcome]) -> AuthoringManifest:
    usage = Usage()
    total: float | None = 0.0
    for outcome in outcomes:
        usage += outcome.expense.usage
        total = add_costs(total, outcome.expense.cost)
    return AuthoringManifest(len(outcomes), usage, total)


def _served(outcomes: Sequence[AttemptOutcome]) -> dict[str, list[Mapping[str, Setting]]]:
    """Everything that was really used, by part: more than one entry if a server changed its model in between."""
    found: dict[str, dict[str, Mapping[str, Setting]]] = {}
    for outcome in outcomes:
        for part, served in outcome.expense.served.items():
            found.setdefault(part, {}).setdefault(json.dumps(served, sort_keys=True), served)
    return {part: [entries[key] for key in sorted(entries)] for part, entries in sorted(found.items())}
