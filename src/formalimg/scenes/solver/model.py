"""CP-SAT constraint model of instantiated claims: variables for words, orders, boxes and slots that coincide.

Every ground atom gets a variable in one direction only: where the variable is true, the atom holds by the margin. Atoms
on which the truth of the formula does not depend are not constrained. Variables are created on first use, so that what
the formula does not mention stays free.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import Box
from formalimg.scenes.solver.inequalities import (
    OrderClosure,
    alternatives,
    excluded_separations,
    holds_reflexively,
    implied_order,
)
from formalimg.scenes.solver.instantiation import (
    OTHER_WORD,
    WORD_PREDICATES,
    AtLeast,
    Conjunction,
    GroundAtom,
    GroundClaim,
    ObjectSlots,
    SlotRef,
    UndecidedSlot,
)
from formalimg.scenes.solver.layout import BoxVariables, Expression, GridLayout, Layout, free_boxes, grid_boxes

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


_LARGEST_AREA, _LARGEST_LENGTH = 1_000_000, 2000  # lengths are doubled


class SceneVariables:
    """The variables of a number of slots in a layout."""

    def __init__(
        self, model: cp_model.CpModel, slots: ObjectSlots, layout: Layout, closure: OrderClosure, rng: random.Random
    ) -> None:
        self.model = model
        self.slots = slots
        self.closure = closure
        self.words: dict[tuple[SlotRef, str], dict[str, Any]] = {}
        self.styles: dict[str, Any] = {}
        self.choices: dict[UndecidedSlot, list[Any]] = {}
        self.ranks: dict[tuple[SlotRef, Measure], Any] = {}
        self.undecided_measures: dict[tuple[UndecidedSlot, Measure], Any] = {}
        self.same: dict[tuple[int, int], Any] = {}
        self.own: list[Any] = [None] * slots.count
        self.separations: dict[tuple[int, int, int], Any] = {}
        if slots.may_coincide:
            self.allow_coincidence()
        if isinstance(layout, GridLayout):
            self.boxes: list[BoxVariables] = grid_boxes(model, layout, slots.count, rng)
        else:
            self.boxes = free_boxes(model, layout, self.own, rng)
            self.add_separations(layout.gap)

    # --- words

    def word_literal(self, atom: GroundAtom) -> Any:
        """Return the literal that an atom about words is true; None if it is about something else."""
        if atom.word is None:
            return None
        if atom.objects:
            literals = self.words_of(atom.objects[0], WORD_PREDICATES[atom.predicate])
            literal = literals[atom.word] if atom.word in literals else self.model.new_constant(False)
        else:
            literal = self.style_literal(atom.word)
        return literal if atom.holds else literal.negated()

    def words_of(self, obj: SlotRef, kind: str) -> dict[str, Any]:
        """Return, for each word that an object may have, the literal that it has it."""
        key = (obj, kind)
        if key not in self.words:
            if isinstance(obj, UndecidedSlot):
                self.words[key] = self.undecided_words(obj, kind)
            else:
                possible = [w for w in (*self.slots.mentioned[kind], OTHER_WORD) if w in self.slots.words[obj][kind]]
                literals = {word: self.model.new_bool_var("") for word in possible}
                self.model.add_exactly_one(list(literals.values()))
                if kind == "color" and OTHER_WORD in literals:  # leaves more colours to choose from
                    self.model.add_hint(literals[OTHER_WORD], True)
                self.words[key] = literals
        return self.words[key]

    def style_literal(self, word: str) -> Any:
        """Return the literal that the image has a style; it has one at most."""
        if word not in self.styles:
            literal = self.model.new_bool_var("")
            for other in self.styles.values():
                self.model.add_bool_or([literal.negated(), other.negated()])
            self.styles[word] = literal
        return self.styles[word]

    # --- objects that are chosen among the slots

    def choice(self, undecided: UndecidedSlot) -> list[Any]:
        """Return, for each slot, the literal that an undecided slot is this one."""
        if undecided not in self.choices:
            literals = [self.model.new_bool_var("") for _ in range(self.slots.count)]
            self.model.add_exactly_one(literals)
            self.choices[undecided] = literals
        return self.choices[undecided]

    def undecided_words(self, undecided: UndecidedSlot, kind: str) -> dict[str, Any]:
        """Return the words of the slot that an undecided slot is."""
        literals = {word: self.model.new_bool_var("") for word in (*self.slots.mentioned[kind], OTHER_WORD)}
        for slot, chosen in enumerate(self.choice(undecided)):
            theirs = self.words_of(slot, kind)
            for word, literal in literals.items():
                if word in theirs:
                    self.model.add(literal == theirs[word]).only_enforce_if(chosen)
                else:
                    self.model.add_implication(chosen, literal.negated())
        return literals

    def measure(self, obj: SlotRef, measure: Measure) -> Expression:
        """Return a measure of an object; lengths are doubled."""
        if isinstance(obj, int):
            return self.boxes[obj].measure(measure)
        key = (obj, measure)
        if key not in self.undecided_measures:
            variable = self.model.new_int_var(0, _LARGEST_AREA if measure == "area" else _LARGEST_LENGTH, "")
            for slot, chosen in enumerate(self.choice(obj)):
                self.model.add(variable == self.boxes[slot].measure(measure)).only_enforce_if(chosen)
            self.undecided_measures[key] = variable
        return self.undecided_measures[key]

    def rank(self, obj: SlotRef, order: Measure) -> Any:
        """Return the position of an object in an order."""
        key = (obj, order)
        if key not in self.ranks:
            variable = self.ranks[key] = self.model.new_int_var(0, self.slots.count - 1, "")
            if isinstance(obj, UndecidedSlot):
                for slot, chosen in enumerate(self.choice(obj)):
                    self.model.add(variable == self.rank(slot, order)).only_enforce_if(chosen)
        return self.ranks[key]

    # --- slots that are one object

    def allow_coincidence(self) -> None:
        """Let each slot be an object of its own, or the same object as an earlier slot that is."""
        for slot in range(self.slots.count):
            earlier = [one for one in range(slot) if self.could_be_same(one, slot)]
            if not earlier:
                continue
            self.own[slot] = self.model.new_bool_var("")
            self.model.add_hint(self.own[slot], slot in self.slots.certain)
            for one in earlier:
                literal = self.same[one, slot] = self.model.new_bool_var("")
                if self.own[one] is not None:
                    self.model.add_implication(literal, self.own[one])
            self.model.add_exactly_one([self.own[slot], *(self.same[one, slot] for one in earlier)])

    def add_separations(self, gap: int) -> None:
        """Require of two different objects that one lies before the other, across or down.

        Atoms can exclude some of these separations.
        """
        edges: tuple[tuple[Measure, Measure], ...] = (("xmax", "xmin"), ("ymax", "ymin"))
        for one, other in combinations(range(self.slots.count), 2):
            alternatives = []
            for axis, (end, start) in enumerate(edges):
                for first, second in ((one, other), (other, one)):
                    literal = self.separations[axis, first, second] = self.model.new_bool_var("")
                    apart = self.boxes[second].measure(start) - self.boxes[first].measure(end) >= 2 * gap
                    self.model.add(apart).only_enforce_if(literal)
                    alternatives.append(literal)
            copies = [own.negated() for own in (self.own[one], self.own[other]) if own is not None]
            self.model.add_bool_or([*alternatives, *copies])

    def could_be_same(self, one: int, other: int) -> bool:
        """Return whether two slots may still be the same object."""
        if self.closure.are_distinct(one, other):
            return False
        return all(self.slots.words[one][kind] & self.slots.words[other][kind] for kind in WORD_PREDICATES.values())

    def link_coincident(self) -> None:
        """Give slots that coincide the same box, ranks and words; to be called last."""
        edges: tuple[Measure, ...] = ("xmin", "ymin", "xmax", "ymax")
        for (one, other), same in self.same.items():
            for edge in edges:
                left, right = self.boxes[one].measure(edge), self.boxes[other].measure(edge)
                self.model.add(left == right).only_enforce_if(same)
            for order in {order: None for obj, order in self.ranks if obj in (one, other)}:
                self.model.add(self.rank(one, order) == self.rank(other, order)).only_enforce_if(same)
            for kind in WORD_PREDICATES.values():
                if self.constrains_words(one, kind) or self.constrains_words(other, kind):
                    self.link_words(self.words_of(one, kind), self.words_of(other, kind), same)

    def constrains_words(self, slot: int, kind: str) -> bool:
        """Return whether it matters which word of a kind the slot has."""
        return (slot, kind) in self.words or len(self.slots.words[slot][kind]) <= len(self.slots.mentioned[kind])

    def link_words(self, ours: dict[str, Any], theirs: dict[str, Any], same: Any) -> None:
        """Require the same word of both, if they are the same object."""
        for word in {**ours, **theirs}:
            if word in ours and word in theirs:
                self.model.add(ours[word] == theirs[word]).only_enforce_if(same)
            else:
                self.model.add_implication(same, (ours if word in ours else theirs)[word].negated())


NoSolution = Literal["impossible", "undecided"]


class Arrangement(NamedTuple):
    """A solution: for each slot its box, its words as far as they matter, and the slot it coincides with."""

    boxes: tuple[Box, ...]
    words: tuple[Mapping[str, str], ...]
    same_as: tuple[int, ...]
    style: str | None


class SolverAttempt(NamedTuple):
    """One call of the solver: layout, margin, seed, and time limit (in deterministic solver time)."""

    layout: Layout
    margin: int
    seed: int
    effort: float


def arrange(claim: GroundClaim, slots: ObjectSlots, attempt: SolverAttempt) -> Arrangement | NoSolution:
    """Find boxes and words for the slots that make a claim true."""
    if claim is False or any(not words for kinds in slots.words for words in kinds.values()):
        return "impossible"
    closure = OrderClosure(slots.count, _certain_orders(claim))
    return "impossible" if closure.is_circular else _ConstraintModel(claim, slots, attempt, closure).solve()


def _certain_orders(claim: GroundClaim) -> Iterator[tuple[Measure, int, int]]:
    """Yield the strict orders of slots that are certain."""
    for atom in claim.parts if isinstance(claim, Conjunction) else (claim,):
        if isinstance(atom, Conjunction):
            yield from _certain_orders(atom)
        elif isinstance(atom, GroundAtom):
            before = implied_order(atom.predicate, atom.holds)
            objects = atom.objects
            if before and before.strict and isinstance(objects[0], int) and isinstance(objects[1], int):
                yield before.order, objects[before.first], objects[1 - before.first]  # type: ignore[misc]


class _ConstraintModel:
    def __init__(self, claim: GroundClaim, slots: ObjectSlots, attempt: SolverAttempt, closure: OrderClosure) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model
        self.model = cp_model.CpModel()
        self.slots = slots
        self.attempt = attempt
        self.literals: dict[GroundAtom | Conjunction | AtLeast, Any] = {}
        rng = random.Random(f"layout {attempt.seed}")
        self.variables = SceneVariables(self.model, slots, attempt.layout, closure, rng)
        self.require(claim, None)
        self.variables.link_coincident()

    # --- solving

    def solve(self) -> Arrangement | NoSolution:
        solver = self.cp.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = 1
        parameters.random_seed = self.attempt.seed % (1 << 31)
        parameters.max_deterministic_time = self.attempt.effort
        parameters.linearization_level = 0
        # Otherwise free variables shrink to the smallest size and the first position, and the hints are lost.
        parameters.keep_all_feasible_solutions_in_presolve = True
        status = solver.solve(self.model)
        if status == self.cp.INFEASIBLE:
            return "impossible"
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return "undecided"
        return Arrangement(
            tuple(box.box(solver) for box in self.variables.boxes),
            tuple(self.found_words(slot, solver) for slot in range(self.slots.count)),
            tuple(self.found_same(slot, solver) for slot in range(self.slots.count)),
            next((word for word, literal in self.variables.styles.items() if solver.boolean_value(literal)), None),
        )

    def found_words(self, slot: int, solver: Any) -> dict[str, str]:
        found = {}
        for kind, possible in self.slots.words[slot].items():
            literals = self.variables.words.get((slot, kind))
            if len(possible) == 1:
                (found[kind],) = possible
            elif literals is not None:
                found[kind] = next(word for word, literal in literals.items() if solver.boolean_value(literal))
            elif len(possible) <= len(self.slots.mentioned[kind]):  # a certain "not this one"
                found[kind] = OTHER_WORD if OTHER_WORD in possible else min(possible)
        return found

    def found_same(self, slot: int, solver: Any) -> int:
        pairs = ((one, literal) for (one, other), literal in self.variables.same.items() if other == slot)
        return next((one for one, literal in pairs if solver.boolean_value(literal)), slot)

    # --- what is true

    def require(self, claim: GroundClaim, when: Any) -> None:
        """Require that a claim is true whenever the literal `when` is (always, if that is None)."""
        match claim:
            case Conjunction(parts):
                for part in parts:
                    self.require(part, when)
            case AtLeast(1, parts):
                self.enforce(self.model.add_bool_or([self.literal(part) for part in parts]), when)
            case AtLeast(number, parts):
                self.enforce(self.model.add(sum(self.literal(part) for part in parts) >= number), when)
            case GroundAtom():
                self.require_atom(claim, when)
            case False:
                self.enforce(self.model.add_bool_or([]), when)

    def literal(self, claim: GroundClaim) -> Any:
        """Return a literal that is true only if the claim is."""
        if isinstance(claim, bool):
            return self.model.new_constant(claim)
        if claim not in self.literals:
            word = self.variables.word_literal(claim) if isinstance(claim, GroundAtom) else None
            if word is None:
                word = self.model.new_bool_var("")
                self.require(claim, word)
            self.literals[claim] = word
        return self.literals[claim]

    def enforce(self, constraint: Any, when: Any) -> None:
        if when is not None:
            constraint.only_enforce_if(when)

    def require_atom(self, atom: GroundAtom, when: Any) -> None:
        word = self.variables.word_literal(atom)
        if word is not None:
            self.enforce(self.model.add_bool_or([word]), when)
            return
        self.require_order(atom, when)
        found = alternatives(atom.predicate, atom.holds, self.attempt.margin)
        same = self.same_literal(atom)
        if len(found) == 1 and same is None:
            self.require_way(found[0], atom, when)
            return
        literals = [] if same is None else [same]
        for way in found:
            literals.append(self.model.new_bool_var(""))
            self.require_way(way, atom, literals[-1])
        self.enforce(self.model.add_bool_or(literals), when)

    def require_order(self, atom: GroundAtom, when: Any) -> None:
        before = implied_order(atom.predicate, atom.holds)
        if before is not None:
            first, second = atom.objects[before.first], atom.objects[1 - before.first]
            gap = self.variables.rank(second, before.order) - self.variables.rank(first, before.order)
            self.enforce(self.model.add(gap >= int(before.strict)), when)

        for axis, argument in excluded_separations(atom.predicate, atom.holds):
            separation = self.variables.separations.get((axis, atom.objects[argument], atom.objects[1 - argument]))  # type: ignore[arg-type]
            if separation is not None:
                self.enforce(self.model.add_bool_or([separation.negated()]), when)

    def require_way(self, way: Any, atom: GroundAtom, when: Any) -> None:
        for inequality in way:
            total = sum(
                term.factor * self.variables.measure(atom.objects[term.obj], term.measure) for term in inequality.terms
            )
            self.enforce(self.model.add(total >= inequality.bound), when)

    def same_literal(self, atom: GroundAtom) -> Any:
        """Return a literal that both objects of an atom are one object.

        None where the atom would not then be true whatever the margin.
        """
        if not self.attempt.margin or len(atom.objects) != 2 or holds_reflexively(atom.predicate) != atom.holds:
            return None
        match atom.objects:
            case (int(one), int(other)):
                return self.variables.same.get((min(one, other), max(one, other)))
            case (int(slot), UndecidedSlot() as undecided) | (UndecidedSlot() as undecided, int(slot)):
                return self.variables.choice(undecided)[slot]
        return None
