"""Categories of DrawBench, and how the prompts of each are judged."""

from __future__ import annotations

import re

CATEGORIES = (
    "Colors",
    "Conflicting",
    "Counting",
    "DALL-E",
    "Descriptions",
    "Gary Marcus et al.",
    "Misspellings",
    "Positional",
    "Rare Words",
    "Reddit",
    "Text",
)
"""The categories by name; the level of an item is the place of its category, from 1."""

BY_FORMULA = ("Colors", "Counting", "Positional")
"""Those whose prompts name objects with colours, numbers and places, and hardly more."""

BY_TEXT = ("Text",)
"""Those whose prompts ask for text in quotes."""


def find_category(name: str) -> str | None:
    """Return the category that a name means: case, blanks and signs do not matter. None if it means none."""
    return {_plain(category): category for category in CATEGORIES}.get(_plain(name))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
