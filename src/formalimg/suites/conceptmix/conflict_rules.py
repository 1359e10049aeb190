"""The rules that a binding must keep, so that an image can show it and viewers can agree that one does."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

ConflictReason: TypeAlias = Literal[
    "shape", "kind", "itself", "twice", "order", "touch", "nesting", "outside", "beside", "apart", "fit", "many"
]

RULES: Mapping[ConflictReason, str] = MappingProxyType(
    {
        "shape": "an object has a shape that it cannot have and still be known for what it is",
        "kind": "an object is one of another's kind, as a corgi is a dog, so that nobody knows which of them is meant",
        "itself": "a relation holds between an object and itself",
        "twice": "the same relation is asked for twice, between the same objects",
        "order": "relations run in a circle: from left to right, in height or in depth",
        "touch": "two objects must touch (top, bottom) and must not touch (above, below)",
        "nesting": "objects are inside one another in a circle",
        "outside": "an object is outside of another that it is inside of, or with which it shares what is inside",
        "beside": "an object is inside of another and also on one side of it; only its bottom can be inside",
        "apart": "an object is inside of two others, or inside of one and touches another, that cannot be in one place",
        "fit": "an object is inside of another that nothing, or nothing as large, can be inside of",
        "many": "there are fewer objects than others that they must be inside of, on top of or at the foot of",
    }
)
"""Why a binding is refused, by reason."""

TOUCHING = frozenset({"top", "bottom"})
NOT_TOUCHING = frozenset({"above", "below"})


class Conflict(NamedTuple):
    """A contradiction: which rule it breaks, and what is wrong in one line."""

    reason: ConflictReason
    detail: str
