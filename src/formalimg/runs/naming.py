"""What run folders are called."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 80


def run_name(suite: str, model: str, condition: str = "") -> str:
    """The name of a run's folder: suite, model and condition, fit for any file system."""
    plain = re.sub(r"[^a-z0-9.]+", "-", f"{suite}-{model}-{condition}".lower()).strip("-.")
    if len(plain) <= _LONGEST and re.fullmatch(r"[a-z0-9./_-]+", model):
        return plain
    return f"{plain[:_LONGEST]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
