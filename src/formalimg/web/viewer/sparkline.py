"""Sparklines: the pass rates of a run by level, as a small curve in SVG coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from formalimg.stats.observations import Rate

WIDTH, HEIGHT = 132, 34
_EDGE = 3


class Sparkline(NamedTuple):
    """A small curve of pass rates by level, as SVG coordinates."""

    line: str  # the path through the rates; broken where a level has none
    band: str  # the outline of the intervals; empty if there are none
    ends: tuple[str, str] | None  # the last point, if there is one
    words: str  # the alternative text


def sparkline(rates: Mapping[int, Rate], levels: Sequence[int]) -> Sparkline:
    """Return the curve of a run, which is empty if there is only one level."""
    points, command = [], "M"
    line = ""
    low: list[str] = []
    high: list[str] = []
    for place, level in enumerate(levels):
        rate = rates.get(level)
        if rate is None or rate.value is None:
            command = "M"
            continue
        x, y = _x(place, len(levels)), _y(rate.value)
        line += f"{command}{x} {y}"
        command = "L"
        points.append((x, y))
        if rate.interval is not None:
            low.append(f"{x} {_y(rate.interval.low)}")
            high.append(f"{x} {_y(rate.interval.high)}")
    words = ", ".join(
        f"{level}: {rates[level].value:.2f}" for level in levels if level in rates and rates[level].value is not None
    )
    if len(levels) < 2:
        return Sparkline("", "", None, words)
    band = f"M{'L'.join(high + low[::-1])}Z" if len(low) > 1 else ""
    return Sparkline(line, band, points[-1] if points else None, words or "no figures yet")


def _x(place: int, count: int) -> str:
    return f"{_EDGE + (WIDTH - 2 * _EDGE) * (place + 0.5) / count:.1f}"


def _y(rate: float) -> str:
    return f"{_EDGE + (HEIGHT - 2 * _EDGE) * (1 - rate):.1f}"
