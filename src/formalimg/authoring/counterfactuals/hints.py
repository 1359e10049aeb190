"""What each attempt begins with: drawn by the seed, and as seldom the same as can be."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import product

from formalimg.authoring.plan import VERSION


def hints(names: Sequence[str], topic: str, seed: int, number: int) -> tuple[str, ...]:
    """One hint of each kind: all combinations come up before one comes up again.

    Args:
        names: the kinds, as in `hints.toml`.
        topic: what the attempts are about; each topic has an order of its own.
        seed: another seed, another order.
        number: which attempt at the topic it is, from 0.
    """
    known = list(product(*(_kinds()[name] for name in names)))
    random.Random(f"hints {VERSION} {' '.join(names)} {seed} {topic}").shuffle(known)
    return known[number % len(known)]


@cache
def _kinds() -> Mapping[str, Sequence[str]]:
    text = (files("formalimg.authoring.counterfactuals") / "hints.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
