"""Spatial axioms for the boxes of related objects, and rules to detect relations from boxes.

Boxes alone cannot show that a cup is on a table and not behind it, so a scene records these relations. But a recorded
relation has consequences for the boxes, and these are the axioms: an object inside a box lies within its width.
`LeftOf`, `RightOf`, `Above` and `Below` must hold clearly: the centre of each object lies beyond the other. Together
the axioms show which instructions no image can satisfy. They are necessary conditions, stated in
docs/reference/suites/natural.md; solver and check share this definition. So do drawn scenes, in which the axioms decide
what an image shows (docs/explanation/drawings.md).

A detector finds boxes but records no relations. In a photograph, a dog on a couch overlaps the couch, and its lower
edge lies within the couch. An object on another therefore reaches it, ends above its lower edge, and has its centre
above the other's centre; horizontally, the centre of one lies within the other. An object next to another is beside it
at the same height, less than 150 of 1000 away, and may overlap its edge but not its centre. An object under another has
its centre below the other's centre and reaches down to about the other's lower edge: a cat under a table does, a donut
on a toilet does not. These definitions are for judging (`SEEN_RULES`, docs/explanation/semantics.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

from formalimg.logic.syntax import Atom, Formula, atoms
from formalimg.logic.verification import verify
from formalimg.logic.world import members
from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import Box
from formalimg.scenes.rules import MEASURE_NAMES
from formalimg.scenes.scene import RECORDED_PREDICATES, Scene, SceneRelation
from formalimg.scenes.solver.inequalities import Alternatives, Inequality, Term

CARRIERS = {"On": 1, "In": 1, "Holding": 0}
"""Relations in which one object carries the other, and which argument is the carrier."""

REACH = 150  # Objects next to each other are less than this apart
CONTACT = 20  # How far above an object another may end that still touches it
LEAST_OVERLAP, MOST_HIDDEN = 0.15, 0.45
"""One object is in front of another if it covers this much of the smaller box, and no more of the hidden one."""


class AxiomLess(NamedTuple):
    """An inequality: a measure of one argument is less than a measure of another plus an offset."""

    small: tuple[int, Measure]
    large: tuple[int, Measure]
    plus: int = 0

    def inequality(self, margin: int) -> Inequality:
        """Return the equivalent integer inequality with a margin. Lengths are doubled to keep centres integral."""
        terms = (Term(1, *self.large), Term(-1, *self.small))
        return Inequality(terms, 2 * (margin - self.plus) if margin else 1 - 2 * self.plus)


def _beyond_center(first: int, start: Measure, center: Measure, end: Measure) -> tuple[tuple[AxiomLess, ...], ...]:
    """Return the condition that each of two objects lies beyond the centre of the other."""
    return ((AxiomLess((first, end), (1 - first, center)), AxiomLess((first, center), (1 - first, start))),)


_OVERLAP_ACROSS = (AxiomLess((0, "xmin"), (1, "xmax")), AxiomLess((1, "xmin"), (0, "xmax")))
_OVERLAP_DOWN = (AxiomLess((0, "ymin"), (1, "ymax")), AxiomLess((1, "ymin"), (0, "ymax")))

_ON = (
    AxiomLess((1, "xmin"), (0, "center_x")),
    AxiomLess((0, "center_x"), (1, "xmax")),
    AxiomLess((1, "ymin"), (0, "ymax"), CONTACT),
    AxiomLess((0, "ymax"), (1, "ymax")),
    AxiomLess((0, "center_y"), (1, "center_y")),
)
_SIDES: tuple[tuple[Measure, Measure], ...] = (("xmin", "xmax"), ("ymin", "ymax"))

AXIOMS: dict[str, tuple[tuple[AxiomLess, ...], ...]] = {
    # The middle of what lies on something is over it; it ends at its top or in front of it, and stands out above.
    "On": (_ON,),
    # What is inside lies within the width and ends within; less than half of it may stick out at the top.
    "In": (
        (
            AxiomLess((1, "xmin"), (0, "xmin")),
            AxiomLess((0, "xmax"), (1, "xmax")),
            AxiomLess((1, "ymin"), (0, "center_y")),
            AxiomLess((0, "ymax"), (1, "ymax")),
        ),
    ),
    "LeftOf": _beyond_center(0, "xmin", "center_x", "xmax"),
    "RightOf": _beyond_center(1, "xmin", "center_x", "xmax"),
    "Above": _beyond_center(0, "ymin", "center_y", "ymax"),
    "Below": _beyond_center(1, "ymin", "center_y", "ymax"),
    "Holding": ((*_OVERLAP_ACROSS, *_OVERLAP_DOWN),),
    # Side by side at the same height, one just left of the other.
    "NextTo": tuple(
        (
            AxiomLess((first, "xmax"), (1 - first, "xmin")),
            AxiomLess((1 - first, "xmin"), (first, "xmax"), REACH),
            *_OVERLAP_DOWN,
        )
        for first in (0, 1)
    ),
    # Of concepts: higher up without touching; on something and standing out above it; apart on some side.
    "HigherUp": ((AxiomLess((0, "ymax"), (1, "ymin"), -CONTACT),),),
    "LowerDown": ((AxiomLess((1, "ymax"), (0, "ymin"), -CONTACT),),),
    "OnTopOf": ((*_ON, AxiomLess((0, "ymin"), (1, "ymin"))),),
    "Outside": tuple(
        (AxiomLess((first, end), (1 - first, start), -CONTACT),) for start, end in _SIDES for first in (0, 1)
    ),
}
"""For each relation the alternatives, all parts of one of which hold."""

NATURAL_RELATIONS = ("On", "In", "LeftOf", "RightOf", "Above", "Below", "Holding", "NextTo")
"""The relations of Natural formulas, and of published ones."""

DIRECTIONS = ("LeftOf", "RightOf", "Above", "Below")  # The relations that are read from boxes, and not recorded


@cache
def axiom_alternatives(predicate: str, margin: int) -> Alternatives:
    """Return the geometric requirements of a relation, with a margin."""
    return tuple(tuple(part.inequality(margin) for part in way) for way in AXIOMS[predicate])


def is_natural_witness(formula: Formula, scene: Scene, margin: int = 0, *, style: str | None = None) -> bool:
    """Return whether a scene satisfies a Natural formula and all spatial axioms by a margin."""
    world = ClearScene(scene.objects, scene.relations, margin)
    return verify(formula, world, style=style).passed and not axiom_violations(scene, margin)


@dataclass(frozen=True)
class ClearScene(Scene):
    """A scene in which directions hold only if their axioms are satisfied by a margin."""

    margin: int = 0

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        """Return the objects b of `among` with predicate(a, b) for some a of `firsts`."""
        if predicate not in DIRECTIONS:
            return super().seconds(predicate, firsts, among)
        return sum(1 << b for b in members(among) if any(self._is_clear(predicate, a, b) for a in members(firsts)))

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        """Return the objects a of `among` with predicate(a, b) for some b of `seconds`."""
        if predicate not in DIRECTIONS:
            return super().firsts(predicate, seconds, among)
        return sum(1 << a for a in members(among) if any(self._is_clear(predicate, a, b) for b in members(seconds)))

    def pairs(self, predicate: str) -> None:
        """Return None, because sets are fast enough for scenes of this size."""

    @staticmethod
    def grouped(scenes: Sequence[Scene]) -> None:
        """Return None, like `pairs`."""

    def _is_clear(self, predicate: str, first: int, second: int) -> bool:
        return fits_axiom(predicate, self.objects[first].box, self.objects[second].box, self.margin)


def find_carrier(relation: SceneRelation) -> tuple[int, int] | None:
    """Return the carried object and its carrier, or None if the relation does not involve carrying."""
    carrier_index = CARRIERS.get(relation.predicate)
    if carrier_index is None:
        return None
    pair = (relation.first, relation.second)
    return pair[1 - carrier_index], pair[carrier_index]


def axiom_violations(scene: Scene, margin: int = 0) -> list[str]:
    """Return all axiom violations of a scene with recorded relations.

    In addition to the axioms of single relations, an object has at most one carrier, no object carries itself directly
    or indirectly, and boxes overlap only if one object carries the other, directly or indirectly.
    """
    relations = sorted(scene.relations or ())
    boxes = [obj.box for obj in scene.objects]
    violations = [
        f"{name}({scene.describe(first)}, {scene.describe(second)}) does not fit the boxes"
        for name, first, second in relations
        if name in AXIOMS and name not in DIRECTIONS and not fits_axiom(name, boxes[first], boxes[second], margin)
    ]
    places = [pair for relation in relations if (pair := find_carrier(relation)) is not None]
    counts = Counter(thing for thing, _ in places)
    violations += [f"{scene.describe(thing)} has two places" for thing in sorted(counts) if counts[thing] > 1]
    chains = carrier_chains(scene)
    violations += [f"{scene.describe(thing)} carries itself" for thing, chain in enumerate(chains) if thing in chain]
    for first_object, second_object in combinations(range(len(scene)), 2):
        if (
            second_object not in chains[first_object]
            and first_object not in chains[second_object]
            and _boxes_overlap(boxes[first_object], boxes[second_object])
        ):
            violations.append(f"{scene.describe(first_object)} and {scene.describe(second_object)} overlap")
    return violations


def fits_axiom(predicate: str, first: Box, second: Box, margin: int = 0) -> bool:
    """Return whether two boxes satisfy the axiom of a relation by a margin."""
    return any(all(part.holds(first, second) for part in way) for way in axiom_alternatives(predicate, margin))


def occludes(front: Box, back: Box) -> bool:
    """Return whether the overlap of two boxes is consistent with one object occluding the other."""
    across = min(back.xmax, front.xmax) - max(back.xmin, front.xmin)
    down = min(back.ymax, front.ymax) - max(back.ymin, front.ymin)
    covered = max(across, 0) * max(down, 0)
    return LEAST_OVERLAP * min(back.area, front.area) <= covered <= MOST_HIDDEN * back.area and covered > 0


def carrier_chains(scene: Scene) -> list[list[int]]:
    """Return the direct and indirect carriers of each object in a scene."""
    carriers = dict(pair for relation in sorted(scene.relations or ()) if (pair := find_carrier(relation)) is not None)
    return [list(_follow_carriers(thing, carriers)) for thing in range(len(scene))]


def _follow_carriers(thing: int, carriers: dict[int, int]) -> Iterator[int]:
    """Yield the direct and indirect carriers of an object, stopping after at most one cycle."""
    for _ in carriers:
        if thing not in carriers:
            return
        thing = carriers[thing]
        yield thing


def _boxes_overlap(first: Box, second: Box) -> bool:
    return (
        first.xmin < second.xmax and second.xmin < first.xmax and first.ymin < second.ymax and second.ymin < first.ymax
    )


TOUCH = 50  # How far above a thing what is on it may end: edges of detected boxes are off by as much
LEGS = 100  # How far above the lower edge of a thing, as of the legs of a table, what is under it may end


def _is_across(first: int) -> tuple[AxiomLess, AxiomLess]:
    """Return the condition that the centre of one box lies between the left and right edges of the other."""
    center: tuple[int, Measure] = (first, "center_x")
    return AxiomLess((1 - first, "xmin"), center), AxiomLess(center, (1 - first, "xmax"))


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
    "On": tuple((*_is_across(first), *_RESTS) for first in (0, 1)),
    "Under": tuple((*_is_across(first), *_IS_UNDER) for first in (0, 1)),
    "NextTo": tuple(
        (
            AxiomLess((first, "xmax"), (1 - first, "center_x")),
            AxiomLess((first, "center_x"), (1 - first, "xmin")),
            AxiomLess((1 - first, "xmin"), (first, "xmax"), REACH),
            AxiomLess((0, "ymin"), (1, "ymax")),
            AxiomLess((1, "ymin"), (0, "ymax")),
        )
        for first in (0, 1)
    ),
}
"""For each relation the alternatives, all parts of one of which hold."""


class SeenScene(Scene):
    """A scene whose relations were detected from the boxes."""

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        """Return the evidence, including measurements, that an atom holds or fails for the given objects."""
        if atom.predicate not in SEEN_RULES:
            return super().evidence(atom, objects)
        first, second = (self.objects[number].box for number in objects)
        compared = [_format_alternative(way, first, second) for way in SEEN_RULES[atom.predicate]]
        return max(compared)[1]


def with_seen_relations(scene: Scene, formula: Formula) -> Scene:
    """Return the scene with the relations of a formula that can be detected from its boxes.

    The scene is returned unchanged if it records relations or if the formula uses a relation that boxes cannot decide.
    """
    used = {atom.predicate for atom in atoms(formula)} & RECORDED_PREDICATES
    if scene.relations is not None or not used or not used <= SEEN_RULES.keys():
        return scene
    pairs = list(permutations(range(len(scene)), 2))
    boxes = [obj.box for obj in scene.objects]
    relations = (
        SceneRelation(name, a, b) for name in sorted(used) for a, b in pairs if is_seen(name, boxes[a], boxes[b])
    )
    return SeenScene(scene.objects, frozenset(relations))


def is_seen(predicate: str, first: Box, second: Box) -> bool:
    """Return whether a relation can be detected from two boxes."""
    return any(all(_is_met(part, first, second) for part in way) for way in SEEN_RULES[predicate])


def _is_met(part: AxiomLess, first: Box, second: Box) -> bool:
    small, large = _measure_lengths(part, first, second)
    return small < large + part.plus


def _measure_lengths(part: AxiomLess, *boxes: Box) -> tuple[float, float]:
    return getattr(boxes[part.small[0]], part.small[1]), getattr(boxes[part.large[0]], part.large[1])


def _format_alternative(way: tuple[AxiomLess, ...], first: Box, second: Box) -> tuple[int, str]:
    """Return how many conditions of an alternative hold, and a description of the first that fails (or all)."""
    failed = [part for part in way if not _is_met(part, first, second)]
    relevant = failed[:1] or way
    return len(way) - len(failed), ", ".join(_format_comparison(part, first, second) for part in relevant)


def _format_comparison(part: AxiomLess, first: Box, second: Box) -> str:
    small, large = _measure_lengths(part, first, second)
    sign = "<" if small < large + part.plus else "≥"
    owners = ("first", "second")
    small_name, large_name = (
        f"{MEASURE_NAMES[measure]} of the {owners[number]}" for number, measure in (part.small, part.large)
    )
    return f"{small_name} {small:g} {sign} {large_name} {large:g}{f' + {part.plus}' if part.plus else ''}"
