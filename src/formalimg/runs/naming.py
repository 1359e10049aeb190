"""What run folders are called."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 80


def run_name(suite: str, model: str) -> str:
    """The name of a run's folder: suite and model, fit for any file system, different for different models."""
    plain = re.sub(r"[^a-z0-9.]+", "-", f"{suite}-{model}".lower()).strip("-.")
    if len(plain) <= _LONGEST and re.fullmatch(r"[a-z0-9./_-]+", model):
        return plain
    return f"{plain[:_LONGEST]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
