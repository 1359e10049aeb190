"""The constraint problem: expanded claims, bodies and words, put to OR-tools CP-SAT.

Every fact gets a variable in one direction only: where the variable is true, the fact is so by the margin. Nothing is
said about facts on which the truth of the formula does not rest.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from formalimg.scenes.box import Box
from formalimg.scenes.rules import Measure
from formalimg.scenes.solving.bodies import Layout
from formalimg.scenes.solving.expanding import AtLeast, Conjunction, Piece, Placed
from formalimg.scenes.solving.inequalities import holds_of_itself, ways
from formalimg.scenes.solving.ordering import Closure, excluded_separations, implied_order
from formalimg.scenes.solving.places import OTHER, Places, Shadow
from formalimg.scenes.solving.unknowns import Unknowns

Outcome = Literal["impossible", "undecided"]


class Arrangement(NamedTuple):
    """A solution: for each place its box, its words as far as they matter, and the place it coincides with."""

    boxes: tuple[Box, ...]
    words: tuple[Mapping[str, str], ...]
    same_as: tuple[int, ...]
    style: str | None


class Attempt(NamedTuple):
    """What to solve: how objects are laid out, the margin, the seed, and how long to try (in solver time)."""

    layout: Layout
    margin: int
    seed: int
    effort: float


def arrange(piece: Piece, places: Places, attempt: Attempt) -> Arrangement | Outcome:
    """Find boxes and words for the places that make a piece true."""
    if piece is False or any(not words for kinds in places.words for words in kinds.values()):
        return "impossible"
    closure = Closure(places.count, _certain_orders(piece))
    return "impossible" if closure.is_circular else _Problem(piece, places, attempt, closure).solve()


def _certain_orders(piece: Piece) -> Iterator[tuple[Measure, int, int]]:
    """The strict orders of places that are certain."""
    for fact in piece.parts if isinstance(piece, Conjunction) else (piece,):
        if isinstance(fact, Conjunction):
            yield from _certain_orders(fact)
        elif isinstance(fact, Placed):
            before = implied_order(fact.predicate, fact.holds)
            objects = fact.objects
            if before and before.strict and isinstance(objects[0], int) and isinstance(objects[1], int):
                yield before.order, objects[before.first], objects[1 - before.first]  # type: ignore[misc]


class _Problem:
    def __init__(self, piece: Piece, places: Places, attempt: Attempt, closure: Closure) -> None:
        from ortools.sat.python import cp_model

        self.cp = cp_model
        self.model = cp_model.CpModel()
        self.places = places
        self.attempt = attempt
        self.literals: dict[Placed | Conjunction | AtLeast, Any] = {}
        chance = random.Random(f"layout {attempt.seed}")
        self.unknowns = Unknowns(self.model, places, attempt.layout, closure, chance)
        self.require(piece, None)
        self.unknowns.link_coincident()

    # --- solving

    def solve(self) -> Arrangement | Outcome:
        solver = self.cp.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = 1
        parameters.random_seed = self.attempt.seed % (1 << 31)
        parameters.max_deterministic_time = self.attempt.effort
        parameters.linearization_level = 0
        # Else what is free shrinks to the smallest size and the first place, and the hints are lost.
        parameters.keep_all_feasible_solutions_in_presolve = True
        status = solver.solve(self.model)
        if status == self.cp.INFEASIBLE:
            return "impossible"
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return "undecided"
        return Arrangement(
            tuple(body.box(solver) for body in self.unknowns.bodies),
            tuple(self.found_words(place, solver) for place in range(self.places.count)),
            tuple(self.found_same(place, solver) for place in range(self.places.count)),
            next((word for word, literal in self.unknowns.styles.items() if solver.boolean_value(literal)), None),
        )

    def found_words(self, place: int, solver: Any) -> dict[str, str]:
        found = {}
        for kind, possible in self.places.words[place].items():
            literals = self.unknowns.words.get((place, kind))
            if len(possible) == 1:
                (found[kind],) = possible
            elif literals is not None:
                found[kind] = next(word for word, literal in literals.items() if solver.boolean_value(literal))
            elif len(possible) <= len(self.places.mentioned[kind]):  # a certain "not this one"
                found[kind] = OTHER if OTHER in possible else min(possible)
        return found

    def found_same(self, place: int, solver: Any) -> int:
        pairs = ((one, literal) for (one, other), literal in self.unknowns.same.items() if other == place)
        return next((one for one, literal in pairs if solver.boolean_value(literal)), place)

    # --- what is true

    def require(self, piece: Piece, when: Any) -> None:
        """A piece is true, whenever the literal `when` is (always, if that is None)."""
        match piece:
            case Conjunction(parts):
                for part in parts:
                    self.require(part, when)
            case AtLeast(1, parts):
                self.enforced(self.model.add_bool_or([self.literal(part) for part in parts]), when)
            case AtLeast(number, parts):
                self.enforced(self.model.add(sum(self.literal(part) for part in parts) >= number), when)
            case Placed():
                self.require_fact(piece, when)
            case False:
                self.enforced(self.model.add_bool_or([]), when)

    def literal(self, piece: Piece) -> Any:
        """A literal that is true only if the piece is."""
        if isinstance(piece, bool):
            return self.model.new_constant(piece)
        if piece not in self.literals:
            word = self.unknowns.word_literal(piece) if isinstance(piece, Placed) else None
            if word is None:
                word = self.model.new_bool_var("")
                self.require(piece, word)
            self.literals[piece] = word
        return self.literals[piece]

    def enforced(self, constraint: Any, when: Any) -> None:
        if when is not None:
            constraint.only_enforce_if(when)

    def require_fact(self, fact: Placed, when: Any) -> None:
        word = self.unknowns.word_literal(fact)
        if word is not None:
            self.enforced(self.model.add_bool_or([word]), when)
            return
        self.require_order(fact, when)
        found = ways(fact.predicate, fact.holds, self.attempt.margin)
        same = self.same_literal(fact)
        if len(found) == 1 and same is None:
            self.require_way(found[0], fact, when)
            return
        literals = [] if same is None else [same]
        for way in found:
            literals.append(self.model.new_bool_var(""))
            self.require_way(way, fact, literals[-1])
        self.enforced(self.model.add_bool_or(literals), when)

    def require_order(self, fact: Placed, when: Any) -> None:
        before = implied_order(fact.predicate, fact.holds)
        if before is not None:
            first, second = fact.objects[before.first], fact.objects[1 - before.first]
            gap = self.unknowns.rank(second, before.order) - self.unknowns.rank(first, before.order)
            self.enforced(self.model.add(gap >= int(before.strict)), when)

        for axis, argument in excluded_separations(fact.predicate, fact.holds):
            separation = self.unknowns.separations.get((axis, fact.objects[argument], fact.objects[1 - argument]))  # type: ignore[arg-type]
            if separation is not None:
                self.enforced(self.model.add_bool_or([separation.negated()]), when)

    def require_way(self, way: Any, fact: Placed, when: Any) -> None:
        for inequality in way:
            total = sum(
                term.factor * self.unknowns.measure(fact.objects[term.obj], term.measure) for term in inequality.terms
            )
            self.enforced(self.model.add(total >= inequality.bound), when)

    def same_literal(self, fact: Placed) -> Any:
        """A literal that both objects of a fact are one, where the fact is then true whatever the margin."""
        if not self.attempt.margin or len(fact.objects) != 2 or holds_of_itself(fact.predicate) != fact.holds:
            return None
        match fact.objects:
            case (int(one), int(other)):
                return self.unknowns.same.get((min(one, other), max(one, other)))
            case (int(place), Shadow() as shadow) | (Shadow() as shadow, int(place)):
                return self.unknowns.choice(shadow)[place]
        return None
