"""The word that somebody most likely meant."""

from __future__ import annotations

from collections.abc import Iterable


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` most likely meant, whatever its case and spacing; None if none is near."""
    from difflib import get_close_matches  # here, so that programs start faster

    folded = {_folded(candidate): candidate for candidate in known}
    matches = get_close_matches(_folded(word), folded, n=1, cutoff=0.5)
    return folded[matches[0]] if matches else None


def _folded(word: str) -> str:
    return word[:80].casefold().replace("_", " ").replace("-", " ").strip()
