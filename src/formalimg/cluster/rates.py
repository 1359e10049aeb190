"""How fast each worker is, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_MOST = 8
"""So many workers are told of one by one; of more, the slowest and the fastest of each machine."""


class Pace(NamedTuple):
    """How fast a worker is.

    Attributes:
        host: the machine it is on; empty as long as it has not started.
        rate: images and verdicts per second since it started.
    """

    host: str
    rate: float


def told(paces: Sequence[Pace]) -> str:
    """The paces of all workers by machine, such as `3 workers: a 1.2 + 1.3/s, b 0.9/s; 1 starting`."""
    rates: dict[str, list[float]] = defaultdict(list)
    for pace in paces:
        if pace.host:
            rates[pace.host].append(pace.rate)
    starting = sum(not pace.host for pace in paces)
    parts = [f"{host} {_in_words(found, few=len(paces) <= _MOST)}/s" for host, found in sorted(rates.items())]
    working = len(paces) - starting
    text = f"{working} worker{'s' * (working != 1)}" + (f": {', '.join(parts)}" if parts else "")
    return f"{text}; {starting} starting" if starting else text


def _in_words(rates: Sequence[float], *, few: bool) -> str:
    if few:
        return " + ".join(f"{rate:.1f}" for rate in rates)
    return f"{len(rates)} × {min(rates):.1f} to {max(rates):.1f}"
