"""What files of figures are called."""

from __future__ import annotations

import re


def slug(words: str) -> str:
    """Words as a part of the name of a file: small letters from a to z, digits, and dashes for all else."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "unnamed"
