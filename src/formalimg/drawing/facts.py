"""Facts: the required content of a drawing, object by object, for both formulas and briefs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.drawing.scene import RECORD_OF, SceneBrief, material_word, relation_word
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES, Box, SceneObject
from formalimg.scenes.scene import SceneRelation
from formalimg.scenes.solver.instantiation import (
    Conjunction,
    GroundAtom,
    GroundClaim,
    build_distinct_slots,
    instantiate,
)
from formalimg.scenes.solver.nnf import build_claim
from formalimg.scenes.solver.results import Unsatisfiable
from formalimg.scenes.solver.spatial import solve_natural
from formalimg.scenes.spatial_relations import CARRIERS, DIRECTIONS, fits_axiom

NO_BOX = Box(0, 0, 0, 0)  # The box of an object without a place


class Fact(NamedTuple):
    """A required relation between two objects, identified by number."""

    predicate: str
    first: int
    second: int

    @property
    def carried(self) -> tuple[int, int] | None:
        """The carried object and its carrier; None if the relation does not involve carrying."""
        position = CARRIERS.get(RECORD_OF.get(self.predicate, ""))
        ends = (self.first, self.second)
        return None if position is None else (ends[1 - position], ends[position])


@dataclass(frozen=True)
class DrawnFacts:
    """The required content of a drawing."""

    objects: tuple[SceneObject, ...]  # the objects, without places
    sizes: tuple[str | None, ...]  # for each object "tiny", "huge" or None
    facts: tuple[Fact, ...]  # the relations that must hold
    style: str | None = None  # the style of the image; None if any will do

    @property
    def records(self) -> frozenset[SceneRelation]:
        """The relations that must be recorded in the scene."""
        recorded = [fact for fact in self.facts if fact.predicate in RECORD_OF]
        return frozenset(SceneRelation(RECORD_OF[fact.predicate], fact.first, fact.second) for fact in recorded)


def brief_facts(brief: SceneBrief) -> DrawnFacts:
    """Expand a brief into facts: one entry per object, and the relations between them.

    Relations that drawn scenes do not support are left out; `why_not_drawable` reports them.
    """
    objects: list[SceneObject] = []
    sizes: list[str | None] = []
    groups: list[list[int]] = []
    for entry in brief.objects:
        material = None if entry.material is None else material_word(entry.material)
        groups.append(list(range(len(objects), len(objects) + entry.number)))
        look = SceneObject(entry.item, NO_BOX, entry.color, material, entry.shape, entry.states)
        objects += [look] * entry.number
        sizes += [entry.size] * entry.number
    facts = []
    for relation in brief.relations:
        word = relation_word(relation.name)
        if word is not None:
            pairs = word.pairs(groups[relation.first], groups[relation.second])
            facts += [Fact(word.predicate, first, second) for first, second in pairs]
    return DrawnFacts(tuple(objects), tuple(sizes), tuple(dict.fromkeys(facts)), brief.style)


def formula_facts(formula: Formula | str, seed: int = 0, crowd: int = 8) -> DrawnFacts | Unsatisfiable:
    """Return facts that satisfy a Natural formula, or a proof that none exist.

    The facts of a conjunction are read directly; if there are alternatives, the solver of Natural formulas chooses.
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    for instances in (2, 1):
        conjunction = _read_conjunction(parsed, instances)
        if conjunction is not None and (instances == 1 or len(conjunction.objects) <= crowd):
            return conjunction
    witness = solve_natural(parsed, seed=seed)
    if isinstance(witness, Unsatisfiable):
        return witness
    scene = witness.scene
    pairs = [(a, b) for a in range(len(scene)) for b in range(len(scene)) if a != b]
    facts = [Fact(*relation) for relation in sorted(scene.relations or ())]
    facts += [
        Fact(name, a, b)
        for name in DIRECTIONS
        for a, b in pairs
        if f"({name} " in str(parsed) and fits_axiom(name, scene.objects[a].box, scene.objects[b].box)
    ]
    return DrawnFacts(scene.objects, (None,) * len(scene), tuple(facts), witness.style)


def _read_conjunction(formula: Formula, instances: int) -> DrawnFacts | None:
    """Return the facts of a formula that determines them completely; None for other formulas."""
    claim = build_claim(rename_apart(formula))
    slots = build_distinct_slots(claim, instances)
    ground = instantiate(claim, slots, instances)
    atoms = None if ground is None else list(_conjuncts(ground))
    if atoms is None or any(atom is None for atom in atoms):
        return None
    words: list[dict[str, list[str]]] = [{} for _ in range(slots.count)]
    facts, styles = [], []
    for atom in atoms:
        assert atom is not None
        if atom.predicate == STYLE_PREDICATE:
            styles.append(atom.word)
        elif len(atom.objects) == 2:
            facts.append(Fact(atom.predicate, int(atom.objects[0]), int(atom.objects[1])))  # type: ignore[arg-type]
        elif atom.predicate in ATTRIBUTE_PREDICATES and atom.word is not None:
            words[int(atom.objects[0])].setdefault(ATTRIBUTE_PREDICATES[atom.predicate], []).append(atom.word)  # type: ignore[arg-type]
        else:
            return None
    labels = [next(iter(possible["class"])) for possible in slots.words if len(possible["class"]) == 1]
    is_ambiguous = any(len(set(values)) > 1 for kinds in words for kind, values in kinds.items() if kind != "state")
    if len(labels) != slots.count or not slots.count or len(set(styles)) > 1 or is_ambiguous:
        return None
    objects = tuple(
        SceneObject(
            label,
            NO_BOX,
            **{kind: values[0] for kind, values in kinds.items() if kind != "state"},
            states=tuple(dict.fromkeys(kinds.get("state", ()))),
        )
        for label, kinds in zip(labels, words, strict=True)
    )
    return DrawnFacts(objects, (None,) * len(objects), tuple(dict.fromkeys(facts)), styles[0] if styles else None)


def _conjuncts(claim: GroundClaim) -> Iterator[GroundAtom | None]:
    """Yield the atoms of a conjunction, or None for a part that is not an atom about fixed objects."""
    if isinstance(claim, Conjunction):
        for part in claim.parts:
            yield from _conjuncts(part)
    elif isinstance(claim, GroundAtom) and claim.holds and all(isinstance(obj, int) for obj in claim.objects):
        yield claim
    elif claim is not True:
        yield None
