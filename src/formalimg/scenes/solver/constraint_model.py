"""CP-SAT constraint model for instantiated claims.

The variable of a ground atom works in one direction only: if it is true, the atom holds by the margin. Atoms on which
the truth of the formula does not depend are not constrained.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from formalimg.logic.syntax import DISTINCT
from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import Box
from formalimg.scenes.rules import Reading
from formalimg.scenes.solver.inequalities import (
    Alternatives,
    OrderClosure,
    alternatives,
    find_excluded_separations,
    find_implied_order,
    holds_reflexively,
)
from formalimg.scenes.solver.instantiation import (
    OTHER_WORD,
    AtLeast,
    Conjunction,
    GroundAtom,
    GroundClaim,
    ObjectSlots,
    UndecidedSlot,
)
from formalimg.scenes.solver.layout import Layout
from formalimg.scenes.solver.scene_variables import SceneVariables

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

NoSolution = Literal["impossible", "undecided"]


class Arrangement(NamedTuple):
    """A solution: the box, the constrained words and the coinciding slot of each slot."""

    boxes: tuple[Box, ...]
    words: tuple[Mapping[str, str], ...]
    same_as: tuple[int, ...]
    style: str | None


class SolverAttempt(NamedTuple):
    """Parameters of a solver call: layout, reading, seed and limit on deterministic time."""

    layout: Layout
    reading: Reading
    seed: int
    effort: float


def arrange_slots(claim: GroundClaim, slots: ObjectSlots, attempt: SolverAttempt) -> Arrangement | NoSolution:
    """Find boxes and words for the slots that satisfy a claim."""
    if claim is False or any(not words for kinds in slots.words for words in kinds.values()):
        return "impossible"
    closure = OrderClosure(slots.count, _certain_orders(claim), _certain_differences(claim))
    return "impossible" if closure.is_circular else _ConstraintModel(claim, slots, attempt, closure).solve()


def _certain_orders(claim: GroundClaim) -> Iterator[tuple[Measure, int, int]]:
    for atom, objects in _certain_pairs(claim):
        before = find_implied_order(atom.predicate, atom.holds)
        if before and before.strict:
            yield before.order, objects[before.first], objects[1 - before.first]


def _certain_differences(claim: GroundClaim) -> Iterator[tuple[int, int]]:
    return (objects for atom, objects in _certain_pairs(claim) if atom.predicate == DISTINCT and atom.holds)


def _certain_pairs(claim: GroundClaim) -> Iterator[tuple[GroundAtom, tuple[int, int]]]:
    """Yield the binary atoms over slots that must hold for the claim to hold."""
    for atom in claim.parts if isinstance(claim, Conjunction) else (claim,):
        if isinstance(atom, Conjunction):
            yield from _certain_pairs(atom)
        elif isinstance(atom, GroundAtom):
            match atom.objects:
                case (int(first), int(second)):
                    yield atom, (first, second)


class BoxModel:
    """Constraint model of boxes, each with a `measure` method whose lengths are doubled."""

    boxes: Sequence[Any]

    def __init__(self, seed: int) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model
        self.model = cp_model.CpModel()
        self.seed = seed

    def run_solver(self, effort: float) -> cp_model.CpSolver | NoSolution:
        """Run the solver within a deterministic time limit and return it if it finds a solution."""
        solver = self.cp.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = 1
        parameters.random_seed = self.seed % (1 << 31)
        parameters.max_deterministic_time = effort
        parameters.linearization_level = 0
        # Otherwise free variables shrink to the smallest size and the first position, and the hints are lost.
        parameters.keep_all_feasible_solutions_in_presolve = True
        status = solver.solve(self.model)
        if status == self.cp.INFEASIBLE:
            return "impossible"
        return solver if status in (self.cp.OPTIMAL, self.cp.FEASIBLE) else "undecided"

    def enforce(self, constraint: Any, when: Any) -> None:
        """Enforce a constraint only when the literal `when` is true, or always if it is None."""
        if when is not None:
            constraint.only_enforce_if(when)

    def require_one(self, ways: Alternatives, objects: tuple[Any, ...], when: Any = None) -> None:
        """Add a constraint that one of the alternatives holds for two boxes."""
        literals = [when] if len(ways) == 1 else [self.model.new_bool_var("") for _ in ways]
        for way, literal in zip(ways, literals, strict=True):
            for terms, bound in way:
                total = sum(term.factor * self.boxes[objects[term.obj]].measure(term.measure) for term in terms)
                self.enforce(self.model.add(total >= bound), literal)
        if len(ways) > 1:
            self.enforce(self.model.add_bool_or(literals), when)

    def separation_literals(self, first: int, second: int, gap: int) -> list[Any]:
        """Return literals that each imply that two boxes are apart by a gap, on one of four sides."""
        literals = []
        for before, after in ((first, second), (second, first)):
            for start, end in (("xmin", "xmax"), ("ymin", "ymax")):
                literals.append(self.model.new_bool_var(""))
                distance = self.boxes[after].measure(start) - self.boxes[before].measure(end)
                self.model.add(distance >= 2 * gap).only_enforce_if(literals[-1])
        return literals


class ClaimModel(BoxModel):
    """Constraint model of a ground claim. Subclasses implement the constraints for atoms."""

    def __init__(self, slots: ObjectSlots, seed: int) -> None:
        super().__init__(seed)
        self.slots = slots
        self.literals: dict[GroundClaim, Any] = {}

    def require(self, claim: GroundClaim, when: Any) -> None:
        """Add a constraint that the claim holds whenever the literal `when` does, or always if `when` is None."""
        match claim:
            case Conjunction(parts):
                for part in parts:
                    self.require(part, when)
            case AtLeast(number, parts):
                literals = [self.literal(part) for part in parts]
                self.enforce(self.at_least(number, literals), when)
            case GroundAtom():
                self.require_atom(claim, when)
            case False:
                self.enforce(self.model.add_bool_or([]), when)

    def at_least(self, number: int, literals: list[Any]) -> Any:
        """Add a constraint that at least `number` of the literals are true."""
        return self.model.add(sum(literals) >= number)

    def literal(self, claim: GroundClaim) -> Any:
        """Return a literal that implies the claim."""
        if isinstance(claim, bool):
            return self.model.new_constant(claim)
        if claim not in self.literals:
            literal = self.atom_literal(claim) if isinstance(claim, GroundAtom) else None
            if literal is None:
                literal = self.model.new_bool_var("")
                self.require(claim, literal)
            self.literals[claim] = literal
        return self.literals[claim]

    def require_atom(self, atom: GroundAtom, when: Any) -> None:
        """Add a constraint that the atom holds whenever the literal `when` does."""
        raise NotImplementedError

    def atom_literal(self, atom: GroundAtom) -> Any:
        """Return the literal equivalent to an atom, or None if it must be constrained instead."""
        return None


class _ConstraintModel(ClaimModel):
    def __init__(self, claim: GroundClaim, slots: ObjectSlots, attempt: SolverAttempt, closure: OrderClosure) -> None:
        super().__init__(slots, attempt.seed)
        self.attempt = attempt
        rng = random.Random(f"layout {attempt.seed}")
        self.variables = SceneVariables(self.model, slots, attempt.layout, closure, rng)
        self.require(claim, None)
        self.variables.link_coincident()

    # --- solving

    def solve(self) -> Arrangement | NoSolution:
        solver = self.run_solver(self.attempt.effort)
        if isinstance(solver, str):
            return solver
        return Arrangement(
            tuple(box.box(solver) for box in self.variables.boxes),
            tuple(self.found_words(slot, solver) for slot in range(self.slots.count)),
            tuple(self.found_same(slot, solver) for slot in range(self.slots.count)),
            next((word for word, literal in self.variables.styles.items() if solver.boolean_value(literal)), None),
        )

    def found_words(self, slot: int, solver: Any) -> dict[str, str]:
        words = {}
        for kind, possible in self.slots.words[slot].items():
            literals = self.variables.words.get((slot, kind))
            if len(possible) == 1:
                (words[kind],) = possible
            elif literals is not None:
                words[kind] = next(word for word, literal in literals.items() if solver.boolean_value(literal))
            elif len(possible) <= len(self.slots.mentioned[kind]):  # a certain "not this one"
                words[kind] = OTHER_WORD if OTHER_WORD in possible else min(possible)
        return words

    def found_same(self, slot: int, solver: Any) -> int:
        pairs = ((earlier, literal) for (earlier, later), literal in self.variables.same.items() if later == slot)
        return next((earlier for earlier, literal in pairs if solver.boolean_value(literal)), slot)

    # --- what is true

    def at_least(self, number: int, literals: list[Any]) -> Any:
        return self.model.add_bool_or(literals) if number == 1 else super().at_least(number, literals)

    def atom_literal(self, atom: GroundAtom) -> Any:
        identity_literal = self.variables.own_literal(atom)
        return self.variables.word_literal(atom) if identity_literal is None else identity_literal

    def require_atom(self, atom: GroundAtom, when: Any) -> None:
        literal = self.atom_literal(atom)
        if literal is not None:
            self.enforce(self.model.add_bool_or([literal]), when)
            return
        if atom.predicate == DISTINCT:
            self.require_difference(atom, when)
            return
        self.require_order(atom, when)
        ways = alternatives(atom.predicate, atom.holds, self.attempt.reading)
        same = self.same_literal(atom)
        if len(ways) == 1 and same is None:
            self.require_way(ways[0], atom, when)
            return
        literals = [] if same is None else [same]
        for way in ways:
            literals.append(self.model.new_bool_var(""))
            self.require_way(way, atom, literals[-1])
        self.enforce(self.model.add_bool_or(literals), when)

    def require_difference(self, atom: GroundAtom, when: Any) -> None:
        first, second = map(self.variables.identity, atom.objects)
        if not (isinstance(first, int) and isinstance(second, int)):
            self.enforce(self.model.add(first != second if atom.holds else first == second), when)
        elif (first != second) != atom.holds:
            self.enforce(self.model.add_bool_or([]), when)

    def require_order(self, atom: GroundAtom, when: Any) -> None:
        before = find_implied_order(atom.predicate, atom.holds)
        if before is not None:
            first, second = atom.objects[before.first], atom.objects[1 - before.first]
            gap = self.variables.rank(second, before.order) - self.variables.rank(first, before.order)
            self.enforce(self.model.add(gap >= int(before.strict)), when)

        for axis, argument in find_excluded_separations(atom.predicate, atom.holds):
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
        """Return a literal for whether the two objects of an atom are identical.

        Return None if identity alone would not make the atom true for every margin.
        """
        if not self.attempt.reading.margin or len(atom.objects) != 2 or holds_reflexively(atom.predicate) != atom.holds:
            return None
        match atom.objects:
            case (int(one), int(other)):
                return self.variables.same.get((min(one, other), max(one, other)))
            case (int(slot), UndecidedSlot() as undecided) | (UndecidedSlot() as undecided, int(slot)):
                return self.variables.choice(undecided)[slot]
        return None
