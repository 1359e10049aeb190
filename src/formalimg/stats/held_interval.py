"""The interval of G_ε.

G is estimated too high only if the first level that is lost seems to be held, so the lower end follows from the levels'
own intervals: it is the last level up to which all of them lie above ε.

For the upper end it is asked, level after level, whether the model may hold all levels so far. That is refuted by one
level with far too few passes, or by all of them together; each way has half of the chance to be mistaken, and in the
first the levels share it. The upper end is the highest level for which it is not refuted. It lies too low only if the
true G is refuted, so nothing else has to be paid for trying all levels.

A bootstrap would not do: where several rates lie close to ε, some of the resamples lose each of them, and nearly all
lose one or the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log1p

from formalimg.stats.binomial import binomial_interval, log_tail
from formalimg.stats.clustering import Worth
from formalimg.stats.generalizing import NOISE, held_level


def held_interval(levels: Mapping[int, Worth | None], epsilon: float, confidence: float) -> tuple[int, int]:
    """Between which levels G_ε lies. Unknown levels count as lost for the lower end and as held for the upper one."""
    lows = {level: 0.0 if seen is None else binomial_interval(*seen, confidence).low for level, seen in levels.items()}
    return held_level(lows, epsilon) or 0, _highest_not_refuted(levels, epsilon, (1 - confidence) / 2)


def _highest_not_refuted(levels: Mapping[int, Worth | None], epsilon: float, chance: float) -> int:
    highest, known, together, least = 0, 0, Worth(0.0, 0.0), 1.0
    for level in sorted(levels):
        seen = levels[level]
        if seen is not None:
            known += 1
            together = Worth(together.passed + seen.passed, together.counted + seen.counted)
            least = min(least, _chance_of_so_few(seen, epsilon))
        one_refutes = least * max(1, known) <= chance / 2
        if not one_refutes and _chance_of_so_few(together, epsilon) > chance / 2:
            highest = level
    return highest


def _chance_of_so_few(seen: Worth, epsilon: float) -> float:
    """The chance of so few passes or fewer at a rate of ε; 1 if the rate seen is ε or more."""
    if seen.passed >= (epsilon - NOISE) * seen.counted:
        return 1.0
    return exp(log_tail(seen.counted - seen.passed, seen.counted, log1p(-epsilon))) if epsilon < 1 else 0.0
