"""Seen relations: what shows in two boxes that one thing is on or next to another, for scenes that record no relations.

A detector finds boxes and nothing else. In a photograph a dog on a couch overlaps it, and its lower edge lies somewhere
in front of the couch: so what is on a thing reaches it, ends above its lower edge, and has its centre above the centre
of the thing, whose middle it is over or has above itself. What is next to a thing is beside it at the same height,
less than 150 of 1000 away, and may overlap its edge, but not its middle. What is under a thing has its centre below the
centre of the thing, and reaches down to about where the thing ends: a cat under a table does, a donut on a toilet does
not. These are definitions for judging
(docs/explanation/semantics.md); what a scene must show of a recorded relation at least is in `spatial_axioms`.
"""

from __future__ import annotations

from itertools import permutations

from formalimg.logic.syntax import Atom, Formula, atoms
from formalimg.scenes.objects import Box
from formalimg.scenes.rules import MEASURE_NAMES
from formalimg.scenes.scene import RECORDED_PREDICATES, Scene, SceneRelation
from formalimg.scenes.spatial_axioms import REACH, AxiomLess

TOUCH = 50
"""How far above a thing what is on it may end: edges of detected boxes are off by as much."""

LEGS = 100
"""How far above the lower edge of a thing, as of the legs of a table, what is under it may end."""


def _within(first: int) -> AxiomLess:
    """Return that the centre of one box is right of the left edge of the other."""
    return AxiomLess((1 - first, "xmin"), (first, "center_x"))


_RESTS = (
    AxiomLess((1, "ymin"), (0, "ymax"), TOUCH),
    AxiomLess((0, "ymax"), (1, "ymax")),
    AxiomLess((0, "center_y"), (1, "center_y")),
)

_IS_UNDER = (
    AxiomLess((1, "center_y"), (0, "center_y")),
    AxiomLess((1, "ymax"), (0, "ymax"), LEGS),
)

SEEN_RULES: dict[str, tuple[tuple[AxiomLess, ...], ...]] = {
    "On": tuple((_within(one), AxiomLess((one, "center_x"), (1 - one, "xmax")), *_RESTS) for one in (0, 1)),
    "Under": tuple((_within(one), AxiomLess((one, "center_x"), (1 - one, "xmax")), *_IS_UNDER) for one in (0, 1)),
    "NextTo": tuple(
        (
            AxiomLess((left, "xmax"), (1 - left, "center_x")),
            AxiomLess((left, "center_x"), (1 - left, "xmin")),
            AxiomLess((1 - left, "xmin"), (left, "xmax"), REACH),
            AxiomLess((0, "ymin"), (1, "ymax")),
            AxiomLess((1, "ymin"), (0, "ymax")),
        )
        for left in (0, 1)
    ),
}
"""For each relation the alternatives, all parts of one of which hold."""


class SeenScene(Scene):
    """A scene whose relations were seen in the boxes."""

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return, as text with numbers, what makes the atom hold or fail for these objects."""
        if atom.predicate not in SEEN_RULES:
            return super().evidence(atom, objects)
        first, second = (self.objects[number].box for number in objects)
        compared = [_compared(way, first, second) for way in SEEN_RULES[atom.predicate]]
        return max(compared)[1]


def with_seen_relations(scene: Scene, formula: Formula) -> Scene:
    """Return the scene with those relations of a formula that show in the boxes.

    A scene that records relations stays what it is, and one of whose relations boxes do not decide all that are used.
    """
    used = {atom.predicate for atom in atoms(formula)} & RECORDED_PREDICATES
    if scene.relations is not None or not used or not used <= SEEN_RULES.keys():
        return scene
    pairs = list(permutations(range(len(scene)), 2))
    boxes = [obj.box for obj in scene.objects]
    found = (SceneRelation(name, a, b) for name in sorted(used) for a, b in pairs if is_seen(name, boxes[a], boxes[b]))
    return SeenScene(scene.objects, frozenset(found))


def is_seen(predicate: str, first: Box, second: Box) -> bool:
    """Return whether two boxes show a relation."""
    return any(all(_holds(part, first, second) for part in way) for way in SEEN_RULES[predicate])


def _holds(part: AxiomLess, first: Box, second: Box) -> bool:
    small, large = _lengths(part, first, second)
    return small < large + part.plus


def _lengths(part: AxiomLess, *boxes: Box) -> tuple[float, float]:
    return getattr(boxes[part.small[0]], part.small[1]), getattr(boxes[part.large[0]], part.large[1])


def _compared(way: tuple[AxiomLess, ...], first: Box, second: Box) -> tuple[int, str]:
    """Return how many parts of an alternative hold, and the first that fails in words; all if none fails."""
    failed = [part for part in way if not _holds(part, first, second)]
    shown = failed[:1] or way
    return len(way) - len(failed), ", ".join(_words(part, first, second) for part in shown)


def _words(part: AxiomLess, first: Box, second: Box) -> str:
    small, large = _lengths(part, first, second)
    sign = "<" if small < large + part.plus else "≥"
    whose = ("first", "second")
    one, other = (f"{MEASURE_NAMES[measure]} of the {whose[number]}" for number, measure in (part.small, part.large))
    return f"{one} {small:g} {sign} {other} {large:g}{f' + {part.plus}' if part.plus else ''}"
