"""The manifest of a run as labelled text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.runs.database import RunCost
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.types import Setting


class ManifestField(NamedTuple):
    """A labelled line of a run's manifest."""

    name: str
    text: str


def manifest_fields(manifest: RunManifest, items: int, spent: RunCost) -> list[ManifestField]:
    """Return the manifest of a run as labelled lines of text."""
    fields = [
        ManifestField("model", identity_text(manifest.model)),
        ManifestField("judge", identity_text(manifest.judge) if manifest.judge else "none yet"),
        ManifestField("suite", ", ".join(filter(None, [manifest.suite, manifest.items_label]))),
        ManifestField("items", f"{items:,}, {manifest.samples} image{'s' * (manifest.samples != 1)} of each"),
        ManifestField("task", manifest.task if manifest.task != "image" else ""),
        ManifestField("condition", manifest.condition),
        ManifestField("style text", manifest.style if manifest.style != "none" else ""),
        ManifestField("layouts", manifest.layouts),
        ManifestField("texts", manifest.prompts),
        ManifestField("imported", f"{manifest.imported}; the images are not here" if manifest.imported else ""),
        ManifestField("seed", "" if manifest.imported else str(manifest.seed)),
        ManifestField("size", "" if manifest.imported else f"{manifest.size} px"),
        ManifestField("digest", manifest.items_digest),
        ManifestField("begun", manifest.created),
        ManifestField("made with", manifest.made_with),
        ManifestField("cost", cost_text(spent)),
    ]
    return [field for field in fields if field.text]


def identity_text(identity: Identity) -> str:
    """Format a model or judge with its settings."""
    return f"{identity.name} ({_settings(identity.settings)})" if identity.settings else identity.name


def cost_text(spent: RunCost) -> str:
    """Format the cost of a run, or return an empty string if it was free."""
    if not spent.dollars and not spent.unpriced:
        return ""
    return f"${spent.dollars:,.2f}" + (f" and {spent.unpriced:,} at unknown prices" if spent.unpriced else "")


def _settings(settings: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items())
