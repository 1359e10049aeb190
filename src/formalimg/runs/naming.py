"""What run folders are called."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from formalimg.runs.image_store_url import checked_url

_LONGEST = 80


def run_name(suite: str, model: str, condition: str = "") -> str:
    """The name of a run's folder: suite, model and condition, fit for any file system."""
    plain = re.sub(r"[^a-z0-9.]+", "-", f"{suite}-{model}-{condition}".lower()).strip("-.")
    if len(plain) <= _LONGEST and re.fullmatch(r"[a-z0-9./_-]+", model):
        return plain
    return f"{plain[:_LONGEST]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def images_url(url: str, folder: Path) -> str:
    """Where the images of the run in a folder lie below an address: each run has a place of its own.

    Raises:
        FormalimgError: if the address is none of a known store, or holds what may be a secret.
    """
    return checked_url(f"{checked_url(url)}/{folder.absolute().name}")
