"""Which colour a run has throughout a page."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.reporting.comparison import Row

FLOOR, CEILING = "builtin/scatter", "builtin/oracle"
"""Models that mark what chance gives and what is possible: they stand back in figures."""

_TONES = 6


def tones_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """For each run the class by which the page's style colours it; the first one has the accent."""
    found: list[str] = []
    for row in rows:
        if row.manifest.model.name in (FLOOR, CEILING):
            found.append("bound")
        else:
            found.append(f"tone-{sum(tone != 'bound' for tone in found) % _TONES}")
    return tuple(found)
