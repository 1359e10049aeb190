"""Relations in drawn scenes, evaluated from boxes, painting order and recorded relations under the axioms.

Directions, `NextTo`, `Outside` and occlusion are read from the image: from boxes and the painting order. `On`, `In`,
`Holding` and `OnTopOf` are recorded, because they are drawn in a way of their own; they hold if the boxes fit too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib.resources import files
from itertools import product
from typing import NamedTuple

from formalimg.drawing.scene import DrawnScene
from formalimg.scenes.scene import SceneRelation
from formalimg.scenes.spatial_relations import AXIOMS, carrier_chains, fits_axiom, occludes

OCCLUSION = "InFrontOf"  # The relation of the object in front to the one that it hides a part of
RECORD_OF = {"On": "On", "OnTopOf": "On", "In": "In", "Holding": "Holding"}
"""The relations that hold only where they are recorded, and the predicate of the record."""

DRAWN_RELATIONS = (*AXIOMS, OCCLUSION)  # All relations that can hold in a drawn scene


class RelationWord(NamedTuple):
    """The meaning of a concept relation in drawn scenes."""

    predicate: str  # the relation of the axioms
    converse: bool  # whether the two objects are exchanged
    every: bool  # whether it holds between all objects of two groups; else each has a partner in the other group

    def pairs(self, firsts: list[int], seconds: list[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of objects that together make the relation hold, in the argument order of the predicate."""
        if self.converse:
            firsts, seconds = seconds, firsts
        if self.every:
            yield from product(firsts, seconds)
            return
        for number in range(max(len(firsts), len(seconds))):
            yield firsts[number % len(firsts)], seconds[number % len(seconds)]

    def holds(self, firsts: list[int], seconds: list[int], related: Callable[[str, int, int], bool]) -> bool:
        """Return whether the relation holds between two groups, using `related` to test pairs of objects."""
        if not firsts or not seconds:
            return False
        if self.converse:
            firsts, seconds = seconds, firsts
        if self.every:
            return all(related(self.predicate, a, b) for a, b in product(firsts, seconds))
        return all(any(related(self.predicate, a, b) for b in seconds) for a in firsts) and all(
            any(related(self.predicate, a, b) for a in firsts) for b in seconds
        )


@cache
def _load_concepts() -> dict[str, dict[str, object]]:
    return tomllib.loads((files("formalimg.drawing") / "concepts.toml").read_text(encoding="utf-8"))


@cache
def relation_word(name: str) -> RelationWord | None:
    """Return the meaning of a relation, given its concept name or predicate; None if it is unknown."""
    row = _load_concepts()["relations"].get(name)
    if isinstance(row, dict):
        return RelationWord(row["predicate"], row.get("converse", False), row["pairs"] == "all")
    if name in DRAWN_RELATIONS:
        return RelationWord(name, False, name not in RECORD_OF and name not in (OCCLUSION, "NextTo"))
    return None


def material_word(texture: str) -> str:
    """Return the material of a concept texture, or the word itself if it is not a texture."""
    return str(_load_concepts()["textures"].get(texture, texture))


class DrawnSpace:
    """The relations between the objects of a drawn scene."""

    def __init__(self, drawn: DrawnScene) -> None:
        self.drawn = drawn
        self._boxes = [obj.box for obj in drawn.scene.objects]

    def holds(self, predicate: str, first: int, second: int) -> bool:
        """Return whether a relation holds between two objects."""
        if first == second:
            return False
        one, other = self._boxes[first], self._boxes[second]
        if predicate == OCCLUSION:
            return occludes(one, other) and self._rank[first] > self._rank[second] and not self.carries(first, second)
        if predicate in RECORD_OF:
            recorded = SceneRelation(RECORD_OF[predicate], first, second) in (self.drawn.scene.relations or ())
            return recorded and fits_axiom(predicate, one, other)
        if predicate in ("NextTo", "Outside") and self.carries(first, second):
            return False
        return fits_axiom(predicate, one, other)

    def carries(self, first: int, second: int) -> bool:
        """Return whether either object carries the other, directly or through others."""
        return second in self._chains[first] or first in self._chains[second]

    def shown_relations(self) -> frozenset[SceneRelation]:
        """Return all Natural relations that hold, except directions."""
        count = range(len(self._boxes))
        recorded = [record for record in self.drawn.scene.relations or () if record.predicate in RECORD_OF]
        beside = [SceneRelation("NextTo", a, b) for a, b in product(count, count)]
        return frozenset(record for record in [*recorded, *beside] if self.holds(*record))

    @cached_property
    def _rank(self) -> dict[int, int]:
        return {obj: rank for rank, obj in enumerate(self.drawn.order)}

    @cached_property
    def _chains(self) -> list[list[int]]:
        return carrier_chains(self.drawn.scene)
