"""How to reproduce a run: the command that asks for the same images, as far as its manifest tells."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from formalimg._util.text import visible
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.runs.plan import Selection, plan_digest, question_key
from formalimg.runs.reader import StoredRun
from formalimg.types import Item

_OWN_ITEMS = "ITEMS"
"""Stands for a file that only its owner knows."""
_WITHOUT_WORDS = "-without-words"
"""How conditions end in which the model is given the layout alone."""


class Reproduction(NamedTuple):
    """How to make a run again."""

    commands: tuple[str, ...]  # the commands, in their order
    notes: tuple[str, ...]  # what the commands alone do not say


def reproduction(run: StoredRun) -> Reproduction:
    """Return the commands that ask for the same images and judge, and what else it takes to get the same verdicts."""
    manifest = run.manifest
    if manifest.imported:
        return Reproduction(
            (), (f"The answers were imported from {manifest.imported}; the images are not part of it.",)
        )
    selected = _selection(run)
    notes = [f"Made with {manifest.made_with}, begun {manifest.created}."]
    if selected is None:
        notes.append(f"{_OWN_ITEMS} stands for the items, which are not those shipped with formalimg.")
    words = ["formalimg", "run", manifest.suite, *_option("--model", manifest.model.name)]
    words += _option("--judge", manifest.judge.name) if manifest.judge else []
    words += ["--items", _OWN_ITEMS] if selected is None else selected
    words += _settings(manifest)
    hidden = next((word for word in words if visible(word, one_line=True) != word), None)
    if hidden is not None:
        notes.append(f"No command is given, as a part of it has control characters: {hidden}.")
    for role, party in (("model", manifest.model), ("judge", manifest.judge)):
        if party is not None and party.settings:
            notes.append(f"The {role} {party.name} had the settings {_settings_text(party)}.")
    if manifest.layouts:
        notes.append(f"Layouts were given to the model: {manifest.layouts}.")
    return Reproduction((shlex.join(words),) if hidden is None else (), tuple(notes))


def _settings(manifest: RunManifest) -> list[str]:
    """Return the options that shape images, but for those that have the default value of every run."""
    is_image, without_words = manifest.task == "image", manifest.condition.endswith(_WITHOUT_WORDS)
    given = {
        "--samples": (manifest.samples, 1),
        "--seed": (manifest.seed, 1),
        "--size": (manifest.size, 1024),
        "--task": (manifest.task, "image"),
        "--condition": (manifest.condition.removesuffix(_WITHOUT_WORDS), ""),
        "--rewriter": (str(manifest.model.settings.get("rewriter", "")), ""),
        "--words": ("without" if without_words else "with", "with"),
        "--style": (manifest.style if is_image else "none", "none"),
    }
    words = [word for name, (value, usual) in given.items() if value != usual for word in _option(name, str(value))]
    return [*words, "--adaptive"] if manifest.adaptive else words


def _option(name: str, value: str) -> list[str]:
    """Return an option with its value, in one word where the value would be taken for an option itself."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _selection(run: StoredRun) -> list[str] | None:
    """Return the options that select the items of a run among those of the suite; None if they are other items."""
    manifest = run.manifest
    try:
        everything = load(manifest.suite)
    except FormalimgError:  # a suite without items of its own
        return None
    if _digest(everything) == manifest.items_digest:
        return []
    counts = Counter(item.level for item in run.items.values())
    levels = sorted(counts)
    every_level = levels == sorted({item.level for item in everything})
    chosen = [] if every_level else ["--levels", _levels_text(levels)]
    for per_level in (None, max(counts.values(), default=None)):
        try:
            found = Selection(None if every_level else levels, per_level).of(everything)
        except FormalimgError:  # levels that the suite does not have
            return None
        if _digest(list(found.values())) == manifest.items_digest:
            return [*chosen, *(["--per-level", str(per_level)] if per_level else [])]
    return None


def _digest(items: Sequence[Item[object]]) -> str:
    return plan_digest(map(question_key, items))


def _levels_text(levels: Sequence[int]) -> str:
    """Return levels as an option has them: `1-3,7`."""
    starts = [level for level in levels if level - 1 not in levels]
    ends = [level for level in levels if level + 1 not in levels]
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _settings_text(party: Identity) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(party.settings.items()))
