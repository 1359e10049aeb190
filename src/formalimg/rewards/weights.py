"""What clauses and questions count, by their kind."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.logic import ClauseKind, closest_match
from formalimg.suites import CATEGORIES, DIMENSIONS

Weights: TypeAlias = Mapping[str, float]
"""What a clause or question of a kind counts, such as {"relation": 2}; kinds that are not named count 1."""

_STEPS = 1000
"""Weights are whole numbers of thousandths, so that shares are exact and ties are ties."""

QUESTION = "question"
"""The kind of questions of the user's own that name none."""

KINDS: tuple[str, ...] = tuple(dict.fromkeys((*get_args(ClauseKind), *CATEGORIES, *DIMENSIONS, QUESTION)))
"""Clauses of formulas, concepts of ConceptMix, dimensions of CF-World, and questions of the user's own."""


def checked_weights(weights: Weights) -> dict[str, float]:
    """The weights, if they can be.

    Raises:
        FormalimgError: if a kind is unknown, or a weight is not above 0: what counts nothing could fail unseen, and a
            score of 1 would no longer mean that all holds.
    """
    for kind, weight in weights.items():
        if kind not in KINDS:
            near = closest_match(str(kind), KINDS)
            raise FormalimgError(
                f"there is no kind {kind!r} to weigh: " + (f"did you mean {near}?" if near else ", ".join(KINDS))
            )
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise FormalimgError(f"the weight of {kind} must be a number, not {weight!r}")
        if not 1 / _STEPS <= weight <= _STEPS or abs(weight * _STEPS - round(weight * _STEPS)) > 1e-6:
            # The weight is not told: it may have thousands of digits.
            raise FormalimgError(f"the weight of {kind} must be from 0.001 to 1000, in steps of 0.001")
    return {kind: float(weight) for kind, weight in weights.items()}


def in_whole_numbers(weights: Weights) -> dict[ClauseKind, int]:
    """The weights of all kinds of clauses as whole numbers with the same ratios, as small as can be."""
    steps = {kind: round(weights.get(kind, 1.0) * _STEPS) for kind in get_args(ClauseKind)}
    common = gcd(*steps.values())
    return {kind: step // common for kind, step in steps.items()}
