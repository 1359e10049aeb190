"""Layouts of drawn scenes: boxes of drawable sizes that satisfy the spatial axioms, or the reason why none exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from formalimg.drawing import shapes
from formalimg.drawing.catalog import FRONT, DrawnCatalog, drawn_catalog
from formalimg.drawing.drawability import why_not_drawable, with_surroundings
from formalimg.drawing.facts import DrawnFacts, Fact, brief_facts, formula_facts
from formalimg.drawing.icon import Icon
from formalimg.drawing.layout_model import DrawnLook, LayoutAttempt, LayoutModel
from formalimg.drawing.scene import OCCLUSION, DrawnScene, SceneBrief
from formalimg.drawing.svg import polylines
from formalimg.drawing.truth import brief_concepts, concept_holds, verify_drawn
from formalimg.logic.syntax import Formula
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import Unsatisfiable
from formalimg.scenes.solver.search import minimal_conflict

_ATTEMPTS = (
    LayoutAttempt(0.30, 0.75, 1.3, True, 9, 0.04),
    LayoutAttempt(0.20, 0.5, 1.8, True, 9, 0.06),
    LayoutAttempt(0.18, 0.4, 2.2, False, 9, 0.1),
    LayoutAttempt(0.16, 0.3, 3.0, False, 6, 0.4),
)
"""From comfortable to crowded: the first that works is taken."""

_GRIPS = (0.6, 1.0, 0.3, 0.0)  # How much things in front hide, in layouts tried until they visibly do

_TURNS = 3  # So many layouts of each kind are tried where things touch, until they do so in pixels
_PROOF = _ATTEMPTS[-1]._replace(effort=0.05)
"""What cannot be arranged so is a contradiction; with little effort, because it is only explained."""


@dataclass(frozen=True)
class NoDrawing:
    """The reason why nothing can be drawn: an undrawable word, or contradictory requirements. Evaluates to false."""

    reason: str  # one line
    conflict: tuple[str, ...] = ()  # relations that cannot hold together, as text; empty if that is not the reason

    def __bool__(self) -> bool:
        return False


def solve_drawn(
    request: Formula | str | SceneBrief, *, seed: int = 0, catalog: DrawnCatalog | None = None
) -> DrawnScene | NoDrawing:
    """Find a drawable scene that satisfies a request.

    Args:
        request: a Natural formula, or a brief.
        seed: selects among layouts.
        catalog: what can be drawn; the catalog of the drawn worlds if None.

    Raises:
        FormulaError: if a formula uses predicates that the axioms do not cover.
        SolverLimitError: if a formula could be neither satisfied nor refuted.
    """
    catalog = catalog or drawn_catalog()
    reason = why_not_drawable(request, catalog)
    if reason is not None:
        return NoDrawing(reason)
    if isinstance(request, SceneBrief):
        facts = brief_facts(with_surroundings(request, catalog))
        drawn = arrange(facts, seed=seed, catalog=catalog)
        if isinstance(drawn, DrawnScene):
            wrong = [concept for concept in brief_concepts(request) if not concept_holds(concept, drawn, catalog)]
            if wrong:
                return NoDrawing(f"no layout shows {wrong[0].category} {wrong[0].value!r} beside everything else")
        return drawn
    drawn = NoDrawing("no layout was tried")
    for crowd in (8, 0):
        facts_or_proof = formula_facts(request, seed, crowd)
        if isinstance(facts_or_proof, Unsatisfiable):
            return NoDrawing("it contradicts itself", tuple(map(str, facts_or_proof.conflict)))
        drawn = arrange(facts_or_proof, seed=seed, catalog=catalog)
        if isinstance(drawn, DrawnScene) and verify_drawn(request, drawn, catalog):
            return drawn
    return drawn if isinstance(drawn, NoDrawing) else NoDrawing("no layout of drawable sizes shows all of it")


def arrange(facts: DrawnFacts, *, seed: int = 0, catalog: DrawnCatalog | None = None) -> DrawnScene | NoDrawing:
    """Arrange the objects of the given facts in a scene; all their classes must be in the catalog."""
    from formalimg.drawing.contact import ContactCheck

    looks = object_looks(facts, catalog or drawn_catalog())
    places = [pair[0] for fact in facts.facts if (pair := fact.carried) is not None]
    twice = next((thing for thing in places if places.count(thing) > 1), None)
    if twice is not None:
        return NoDrawing(f"a {facts.objects[twice].label} has one place, and is on, in or held by one thing at most")
    fault = None
    hides = any(fact.predicate == OCCLUSION for fact in facts.facts)
    grips = _GRIPS if hides else (0.0,) * (_TURNS if facts.records else 1)
    for attempt in _ATTEMPTS:
        for turn, grip in enumerate(grips):
            boxes = LayoutModel(facts, looks, attempt._replace(grip=grip), seed + turn).solve()
            if not isinstance(boxes, list):
                continue
            fault = ContactCheck(facts, looks, boxes).find_fault()
            if fault is None:
                objects = [replace(obj, box=box) for obj, box in zip(facts.objects, boxes, strict=True)]
                return DrawnScene(Scene.of(objects, facts.records), facts.style, _painting_order(facts, boxes))
    return _conflict(facts, looks, seed, fault)


def object_looks(facts: DrawnFacts, catalog: DrawnCatalog) -> list[DrawnLook]:
    """Return the layout data of each object: its class settings, icon and anchors."""
    from formalimg.drawing.contact import grip_places, standing_place

    carriers = Counter(fact.second for fact in facts.facts if fact.predicate in ("On", "OnTopOf"))
    held_objects = {fact.second for fact in facts.facts if fact.predicate == "Holding"}
    containers = {fact.second for fact in facts.facts if fact.predicate == "In"}
    looks = []
    for number, obj in enumerate(facts.objects):
        entry = catalog.entry(obj.label)
        variant = entry.variant(obj.states, carries=number in carriers, contains=number in containers)
        icon = catalog.icon(obj.label, variant) or catalog.icon(obj.label)
        assert icon is not None, "why_not_drawable was asked"
        if obj.shape is not None:
            icon = shapes.apply(icon, obj.shape)
        front = catalog.icon(obj.label, FRONT) if entry.paints_front(obj.shape, obj.states) else None
        rim = None if front is None or entry.inside is None else _top(front)
        if not rim or not entry.inside or rim <= entry.inside[1]:
            rim = None  # a front that begins above the window is a wall around it
        height = entry.on if obj.shape is None else 0.0
        stand = standing_place(icon, height, carriers[number]) if number in carriers else None
        grips = grip_places(icon) if number in held_objects else ()
        looks.append(DrawnLook(entry, icon, front, rim, stand, entry.hands(variant), grips))
    return looks


@cache
def _top(icon: Icon) -> float:
    lines = [line for shape in icon.shapes for line in polylines(shape.commands)]
    return max(0.0, min(y for line in lines for _, y in line.points)) / icon.height


def _painting_order(facts: DrawnFacts, boxes: Sequence[Box]) -> tuple[int, ...]:
    """Return the objects from back to front: objects higher in the image come first unless a relation forbids it."""
    before: dict[int, set[int]] = {number: set() for number in range(len(boxes))}
    for fact in facts.facts:
        if fact.predicate == OCCLUSION:
            before[fact.first].add(fact.second)
        elif (pair := fact.carried) is not None:
            before[pair[0]].add(pair[1])
    order: list[int] = []
    remaining = sorted(before, key=lambda number: (boxes[number].ymax, number))
    while remaining:
        order.append(next((number for number in remaining if before[number] <= set(order)), remaining[0]))
        remaining.remove(order[-1])
    return tuple(order)


def _conflict(facts: DrawnFacts, looks: Sequence[DrawnLook], seed: int, fault: Fact | None) -> NoDrawing:
    """Return the relations that cannot be drawn together, or the relation that no pixels show."""

    def impossible(facts_kept: frozenset[int]) -> bool:
        some = replace(facts, facts=tuple(facts.facts[number] for number in sorted(facts_kept)))
        return LayoutModel(some, looks, _PROOF, seed).solve() is None

    everything = frozenset(range(len(facts.facts)))
    if fault is not None:
        return NoDrawing(f"no layout was found whose pixels show {_text(fault, facts)}")
    if any(facts.sizes) and impossible(frozenset()):
        return NoDrawing("size: no layout shows objects of these sizes")
    if not impossible(everything):
        return NoDrawing(f"no layout of {len(looks)} objects of drawable sizes was found")
    conflict = [facts.facts[number] for number in minimal_conflict(len(facts.facts), impossible)]
    texts = tuple(_text(fact, facts) for fact in conflict)
    return NoDrawing(f"these cannot be drawn together: {', '.join(texts) or 'the sizes of the objects'}", texts)


def _text(fact: Fact, facts: DrawnFacts) -> str:
    return f"{fact.predicate}({facts.objects[fact.first].label}, {facts.objects[fact.second].label})"
