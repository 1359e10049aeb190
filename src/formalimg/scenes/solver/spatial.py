"""Solve Natural formulas under the spatial axioms.

Classes and attributes are used as stated (the ontology decides whether they are compatible); the solver finds the
spatial layout: which object carries which, and where the boxes lie. Relations that are not required do not hold.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Count, Formula, atoms, subformulas
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES, SceneObject
from formalimg.scenes.rules import Reading
from formalimg.scenes.scene import Scene, SceneRelation
from formalimg.scenes.solver.constraint_model import ClaimModel, NoSolution
from formalimg.scenes.solver.inequalities import alternatives
from formalimg.scenes.solver.instantiation import (
    GroundAtom,
    GroundClaim,
    ObjectSlots,
    build_distinct_slots,
    instantiate,
)
from formalimg.scenes.solver.layout import FreeBox, FreeLayout, initial_boxes
from formalimg.scenes.solver.nnf import build_claim, conjuncts
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solver.search import find_styles, minimal_conflict
from formalimg.scenes.spatial_relations import (
    DIRECTIONS,
    NATURAL_RELATIONS,
    axiom_alternatives,
    find_carrier,
    is_natural_witness,
)

_LAYOUT = FreeLayout(unit=10, min_side=60, max_side=900, gap=10, border=0)
_PROOF_LAYOUT = FreeLayout(unit=5, min_side=20, max_side=1000, gap=0, border=0)
_EFFORT, _PROOF_EFFORT = 2.0, 10.0


def solve_natural(
    formula: Formula | str, *, instances: int = 2, margin: int = 20, seed: int = 0
) -> Witness | Unsatisfiable:
    """Find a layout that satisfies a Natural formula and the spatial axioms, or prove that none exists.

    Args:
        formula: a closed formula in the Natural predicates, `Above` and `Below`. Every variable must have its own
            object, as in synthesized items: variables never share one.
        instances: how many objects meet the condition of each `forall`; one if that many do not fit.
        margin: the length by which relations hold or fail, on the canvas of 1000.
        seed: selects among layouts.

    Raises:
        FormulaError: if it uses other predicates, or counts.
        SolverLimitError: if it could be neither satisfied nor refuted.
    """
    if isinstance(formula, str) or formula.span.end == 0:
        formula = parse(str(formula))
    _require_natural(formula)
    renamed = rename_apart(formula)
    for number in dict.fromkeys([instances, 1]):
        witness = _try_layout(renamed, number, margin, seed)
        if isinstance(witness, Witness):
            return witness
    if _try_layout(renamed, 1, 0, seed, proof=True) != "impossible":
        raise SolverLimitError("neither a comfortable layout nor a contradiction was found")
    pieces = conjuncts(renamed)

    def impossible(selection: frozenset[int]) -> bool:
        return _try_layout(renamed, 1, 0, seed, proof=True, selection=selection) == "impossible"

    conflict = minimal_conflict(len(pieces), impossible)
    return Unsatisfiable(formula, None, tuple(pieces[number] for number in conflict))


def _require_natural(formula: Formula) -> None:
    predicates = ("Is", *ATTRIBUTE_PREDICATES, *NATURAL_RELATIONS, STYLE_PREDICATE)
    problems = [
        Problem("undecided", f"the spatial axioms say nothing of {atom.predicate}", atom.span)
        for atom in atoms(formula)
        if atom.predicate not in predicates
    ]
    problems += [
        Problem(
            "undecided", "the spatial axioms say nothing of counts: solve it as boxes, or write it without", node.span
        )
        for node in subformulas(formula)
        if isinstance(node, Count)
    ]
    if problems:
        raise FormulaError(problems)


def _try_layout(
    formula: Formula,
    instances: int,
    margin: int,
    seed: int,
    *,
    proof: bool = False,
    selection: frozenset[int] | None = None,
) -> Witness | str:
    """Run one attempt. Return a verified witness, or "impossible", or "undecided"."""
    claim = build_claim(formula) if selection is None else build_claim(formula, selection)
    slots = build_distinct_slots(claim, instances)
    if not slots.count:
        slots.add()
    ground = instantiate(claim, slots, instances)
    if ground is None or not _is_about_slots(ground):
        return "undecided"
    solution = _SpatialModel(ground, slots, _PROOF_LAYOUT if proof else _LAYOUT, margin, seed).solve(
        _PROOF_EFFORT if proof else _EFFORT
    )
    if isinstance(solution, str) or proof:
        return solution if isinstance(solution, str) else "possible"
    scene, style = solution
    styles = find_styles(formula)
    if not is_natural_witness(formula, scene, margin, style=style or (styles[0] if styles else None)):
        return "undecided"  # a disjunction that the layout does not decide: never a witness that was not verified
    bindings = {name: slot for name, slot in slots.names.items() if slot < len(scene)}
    return Witness(scene, formula, margin, instances, bindings, style)


def _is_about_slots(claim: GroundClaim) -> bool:
    if isinstance(claim, GroundAtom):
        return all(isinstance(obj, int) for obj in claim.objects)
    return isinstance(claim, bool) or all(map(_is_about_slots, claim.parts))


class _SpatialModel(ClaimModel):
    """Constraint model with a literal for each relation, linked to its geometric requirements."""

    def __init__(self, claim: GroundClaim, slots: ObjectSlots, layout: FreeLayout, margin: int, seed: int) -> None:
        super().__init__(slots, seed)
        self.margin = margin
        rng = random.Random(f"layout {seed}")
        self.boxes = [FreeBox(self.model, layout, box) for box in initial_boxes(slots.count, rng)]
        self.relations: dict[tuple[str, int, int], Any] = {}
        self.words: dict[tuple[str, int | None, str], Any] = {}
        self.require(claim, None)
        self.require_places()
        self.require_solid(layout.gap)

    def solve(self, effort: float) -> tuple[Scene, str | None] | NoSolution:
        solver = self.run_solver(effort)
        if isinstance(solver, str):
            return solver
        true = {key for key, literal in self.words.items() if solver.boolean_value(literal)}
        relations = [SceneRelation(*key) for key, literal in self.relations.items() if solver.boolean_value(literal)]
        objects = [self.object(slot, self.boxes[slot].box(solver), true) for slot in range(self.slots.count)]
        style = next((word for predicate, _, word in true if predicate == STYLE_PREDICATE), None)
        return Scene.of(objects, relations), style

    def object(self, slot: int, box: Any, true: set[tuple[str, int | None, str]]) -> SceneObject:
        possible = self.slots.words[slot]["class"]
        label = next((word for predicate, number, word in true if (predicate, number) == ("Is", slot)), min(possible))
        words: dict[str, list[str]] = {}
        for predicate, owner, word in sorted(true, key=str):
            if owner == slot and predicate in ATTRIBUTE_PREDICATES:
                words.setdefault(ATTRIBUTE_PREDICATES[predicate], []).append(word)
        single_words = {kind: values[0] for kind, values in words.items() if kind != "state"}
        return SceneObject(label or "thing", box, **single_words, states=tuple(words.get("state", ())))

    # --- claims

    def require_atom(self, atom: GroundAtom, when: Any) -> None:
        """Add a constraint that the atom holds whenever the literal `when` does, or always if `when` is None."""
        predicate, objects, _, holds = atom
        if predicate in DIRECTIONS:
            reading = Reading.by_margin(self.margin)
            ways = axiom_alternatives(predicate, self.margin) if holds else alternatives(predicate, False, reading)
            self.require_one(ways, objects, when)
            return
        literal = self.relation(predicate, *objects) if len(objects) == 2 else self.word(atom)
        self.enforce(self.model.add_bool_or([literal if holds else literal.negated()]), when)

    def word(self, atom: GroundAtom) -> Any:
        """Return the literal for an atom about a word. Words other than states exclude each other."""
        slot = atom.objects[0] if atom.objects else None
        assert slot is None or isinstance(slot, int)
        assert atom.word is not None
        key = (atom.predicate, slot, atom.word)
        if key not in self.words:
            literal = self.words[key] = self.model.new_bool_var("")
            for (predicate, other_slot, _), other_literal in list(self.words.items())[:-1]:
                if (predicate, other_slot) == key[:2] and predicate != "HasState":
                    self.model.add_bool_or([literal.negated(), other_literal.negated()])
        return self.words[key]

    def relation(self, predicate: str, first: Any, second: Any) -> Any:
        """Return the literal for a recorded relation, which implies the axiom of that relation."""
        key = (predicate, first, second)
        if key not in self.relations:
            literal = self.relations[key] = self.model.new_bool_var("")
            self.require_one(axiom_alternatives(predicate, self.margin), (first, second), literal)
        return self.relations[key]

    # --- the axioms about all objects

    def carried(self) -> Iterator[tuple[int, int, Any]]:
        """Yield each possible carrier as an object, its carrier and the literal of the relation."""
        for (predicate, first, second), literal in self.relations.items():
            pair = find_carrier(SceneRelation(predicate, first, second))
            if pair is not None:
                yield *pair, literal

    def require_places(self) -> None:
        """Require that each object has at most one carrier and that carriers form no cycle."""
        count = self.slots.count
        depth = [self.model.new_int_var(0, count, "") for _ in range(count)]
        places: dict[int, list[Any]] = {}
        for thing, carrier, literal in self.carried():
            places.setdefault(thing, []).append(literal)
            self.model.add(depth[thing] >= depth[carrier] + 1).only_enforce_if(literal)
        for literals in places.values():
            self.model.add_at_most_one(literals)

    def require_solid(self, gap: int) -> None:
        """Require that boxes do not overlap unless one object carries the other, directly or indirectly."""
        above = self.ancestors()
        for pair in combinations(range(self.slots.count), 2):
            ways = [above[key] for key in (pair, pair[::-1]) if key in above]
            self.model.add_bool_or([*ways, *self.separation_literals(*pair, gap)])

    def ancestors(self) -> dict[tuple[int, int], Any]:
        """Return a literal for each pair of object and potential direct or indirect carrier."""
        direct: dict[tuple[int, int], list[Any]] = {}
        for thing, carrier, literal in self.carried():
            direct.setdefault((thing, carrier), []).append(literal)
        reach = set(direct)
        while more := {(a, c) for a, b in direct for b2, c in reach if b == b2 and a != c} - reach:
            reach |= more
        above = {pair: self.model.new_bool_var("") for pair in sorted(reach)}
        for (thing, carrier), literal in above.items():
            ways = list(direct.get((thing, carrier), ()))
            for (start, middle), steps in direct.items():
                if start == thing and (middle, carrier) in above:
                    for step in steps:
                        conjunction = self.model.new_bool_var("")
                        self.model.add_implication(conjunction, step)
                        self.model.add_implication(conjunction, above[middle, carrier])
                        ways.append(conjunction)
            self.model.add_bool_or(ways).only_enforce_if(literal)
        return above
