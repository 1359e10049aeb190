"""Observations to be summed up: made at random, or by a simulated model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from formalimg.stats.intervals import clopper_pearson
from formalimg.stats.observations import Observation

LEVELS = 4

VERDICTS = st.sampled_from([True, False, None])


def observations(verdicts: st.SearchStrategy[bool | None] = VERDICTS) -> st.SearchStrategy[list[Observation]]:
    """Images of up to a dozen items; an item's level follows from its name."""
    item = st.integers(0, 11)
    return st.lists(st.tuples(item, verdicts), max_size=40).map(
        lambda seen: [Observation(f"item {name}", name % LEVELS + 1, passed) for name, passed in seen]
    )


def simulated(
    rates: Sequence[float], items: int, samples: int, alike: float, chance: np.random.Generator
) -> list[Observation]:
    """What a model with these rates might do, level by level, where images of one item have this correlation."""
    seen = []
    for level, rate in enumerate(rates, start=1):
        if alike == 0:
            of_items = np.full(items, rate)
        elif alike == 1:
            of_items = (chance.random(items) < rate).astype(float)
        else:
            weight = (1 - alike) / alike
            of_items = chance.beta(rate * weight, (1 - rate) * weight, items)
        for item, passes in enumerate(chance.random((items, samples)) < of_items[:, None]):
            seen += [Observation(f"{level}-{item}", level, bool(passed)) for passed in passes]
    return seen


def clopper_pearson_margin(successes: int, n: int) -> float:
    """The ± of a rate as papers print it: the larger side of the exact interval."""
    low, high = clopper_pearson(successes, n)
    return max(successes / n - low, high - successes / n)
