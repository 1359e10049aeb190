"""Solve formulas by searching over layouts, object counts and margins, and find minimal conflicts.

`solve` is the entry point: it tries neat witnesses first, then a proof, and finally any other witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import TypeAlias

from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.evaluation import TooHardError
from formalimg.logic.parser import as_formula, parse
from formalimg.logic.syntax import DISTINCT, Formula, Value, atoms
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import STYLE_PREDICATE, verify
from formalimg.scenes.rules import AS_READ, BINARY_RULES, UNARY_RULES, Reading
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.appearance import assign_words, find_unmentioned_style, fit_aspects
from formalimg.scenes.solver.constraint_model import Arrangement, NoSolution, SolverAttempt, arrange_slots
from formalimg.scenes.solver.inequalities import DEFAULT_MARGIN, keeps_margin
from formalimg.scenes.solver.instantiation import (
    WORD_PREDICATES,
    GroundClaim,
    ObjectSlots,
    build_distinct_slots,
    build_shared_slots,
    instantiate,
)
from formalimg.scenes.solver.layout import (
    PROOF_LAYOUT,
    TIGHT_LAYOUT,
    GridLayout,
    Layout,
    comfortable_layout,
    has_large_cells,
)
from formalimg.scenes.solver.nnf import Claim, build_claim, conjuncts, max_objects_needed
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable, Witness

InstantiatedClaim: TypeAlias = tuple[ObjectSlots, GroundClaim | None]  # None: it would have too many parts

_MAX_OBJECT_BOUND = 40  # Larger bounds on the number of objects are not used
_MAX_CHECKS = 150  # The maximum sets of conjuncts that are tried to minimize a conflict

# Time limits of single attempts, in deterministic solver time (about a second each on a slow machine).
_NEAT, _FREE, _PROOF, _PIECE = 0.1, 1.0, 10.0, 1.0
_MAX_SPENT = 15.0

_BARE = Reading.by_margin(0)  # The rules as they are
_MAX_MARGIN = 60
_MAX_INSTANCES = 12
_MAX_OBJECTS = 20


def solve(
    formula: Formula | str,
    *,
    instances: int = 2,
    margin: int = DEFAULT_MARGIN,
    seed: int = 0,
    max_objects: int = 6,
    effort: float = 1.0,
    allow_fallback: bool = True,
    as_read: bool = False,
) -> Witness | Unsatisfiable:
    """Find a scene that satisfies a formula under strict semantics, or prove that none exists.

    Args:
        formula: a closed formula in the Knolling predicates (and `IsStyle`), parsed or as text.
        instances: how many objects should meet the condition of each `forall`; one if that many are impossible.
        margin: the length, on the canvas of 1000, by which relations should hold or fail; areas differ by half that
            number in percent. It is halved until it is possible; `Witness.margin` is the margin reached.
        seed: selects among witnesses. The same formula and seed give the same witness.
        max_objects: how many objects are considered for a proof if the formula itself sets no bound.
        effort: multiplies the time limits; 1 decides nearly everything.
        allow_fallback: whether to fall back to a smaller margin, fewer instances, a crowded scene or a proof. If not,
            only a comfortable scene with the full margin is searched for, which is quick either way.
        as_read: whether relations must hold as a person reads them (`AS_READ`) and not just by `margin`, without
            falling back to less.

    Raises:
        FormulaError: if a variable is unbound or a predicate is not decided by boxes and colours.
        SolverLimitError: if the formula could be neither satisfied nor refuted within the effort, or a witness is too
            hard to check.
    """
    formula = as_formula(formula)
    if formula.span.end == 0:
        formula = parse(str(formula))  # a formula built by code has no positions in a text yet
    _require_solvable(formula)
    if not 0 <= margin <= _MAX_MARGIN:
        raise FormalimgError(f"margin {margin} is out of range: use 0 to {_MAX_MARGIN}")
    if not 1 <= instances <= _MAX_INSTANCES or not 1 <= max_objects <= _MAX_OBJECTS or effort <= 0:
        raise FormalimgError(
            f"instances must be 1 to {_MAX_INSTANCES}, max_objects 1 to {_MAX_OBJECTS}, and effort more than 0"
        )
    try:
        reading = AS_READ if as_read else Reading.by_margin(margin)
        fallback = allow_fallback and not as_read
        return Search(formula, instances, reading, seed, max_objects, effort, fallback).run()
    except TooHardError as error:
        message = f"a scene was found, but whether it is a witness is unknown: {error.problems[0].message}"
        raise SolverLimitError(message) from error
    except RecursionError as error:  # `iff` in `iff` grows with each level
        raise SolverLimitError("the formula is nested too deep to be solved: write it flatter") from error


def _require_solvable(formula: Formula) -> None:
    decided = (*WORD_PREDICATES, *UNARY_RULES, *BINARY_RULES, DISTINCT, STYLE_PREDICATE)
    reason = "it places boxes, and solves formulas in the knolling predicates"
    problems = [
        Problem("undecided", f"the solver cannot decide {atom.predicate}: {reason}", atom.span)
        for atom in atoms(formula)
        if atom.predicate not in decided
    ]
    if problems:
        raise FormulaError(problems)
    styles = find_styles(formula)
    verify(formula, Scene.of([]), style=styles[0] if styles else None)  # raises for everything else that is wrong


def find_styles(formula: Formula) -> list[str]:
    """Return the styles mentioned in a formula, in alphabetical order."""
    words = (atom.arguments[0] for atom in atoms(formula) if atom.predicate == STYLE_PREDICATE and atom.arguments)
    return sorted({word.text for word in words if isinstance(word, Value)})


@dataclass
class Search:
    """A search that tries tidy witnesses first, then a proof, then any other witness."""

    formula: Formula
    instances: int
    reading: Reading
    seed: int
    max_objects: int
    effort: float
    allow_fallback: bool = True
    spent: float = 0  # on attempts that were given up
    instantiated: dict[tuple[int, int], InstantiatedClaim] = field(default_factory=dict)  # by objects and instances

    def run(self) -> Witness | Unsatisfiable:
        """Run the search and return a witness or a proof."""
        self.renamed = rename_apart(self.formula)
        claim = build_claim(self.renamed)
        min_count = max(1, build_distinct_slots(claim, self.instances).count)
        witness = self.neat(claim, min_count, self.instances)
        if witness is not None:
            return witness
        if not self.allow_fallback:
            raise SolverLimitError("no comfortable scene with the full margin was found: allow the fallback")
        proof = self.refute(claim)
        if proof == "impossible":
            return self.empty_scene() or self.unsatisfiable(claim)
        max_count = min_count + 2
        if not isinstance(proof, str):
            max_count = max(max_count, len(set(proof.same_as)) + self.instances)
        for instances in dict.fromkeys([self.instances, 1]):
            witness = self.with_some_margin(claim, instances, max_count)
            if witness is not None:
                return witness
        if isinstance(proof, str):
            empty = self.empty_scene()
            if empty is not None:
                return empty
            raise SolverLimitError("neither a witness nor a proof was found: try a larger effort, or a simpler formula")
        return self.witness_that_coincides(claim, proof)

    # --- ways of looking for a witness, the neatest first

    def neat(self, claim: Claim, count: int, instances: int) -> Witness | None:
        """Search for a witness with the full margin, preferring rows and columns."""
        for grid in _candidate_grids(count):
            witness = self.separate(claim, count, instances, grid, self.reading, _NEAT)
            if witness is not None:
                return witness
        return self.separate(claim, count, instances, comfortable_layout(count), self.reading, _FREE)

    def with_some_margin(self, claim: Claim, instances: int, max_count: int) -> Witness | None:
        """Search for a witness with the fewest possible objects, and then for the largest margin."""
        min_count = max(1, build_distinct_slots(claim, instances).count)
        for count in range(min_count, max(min_count, max_count) + 1):
            barely = self.separate(claim, count, instances, TIGHT_LAYOUT, _BARE, _FREE)
            if barely is None:
                continue
            witness = self.neat(claim, count, instances)
            if witness is not None:
                return witness
            margin = self.reading.margin
            while margin:
                margin //= 2
                reading = Reading.by_margin(margin)
                for layout in (comfortable_layout(count), TIGHT_LAYOUT):
                    witness = self.separate(claim, count, instances, layout, reading, _FREE)
                    if witness is not None:
                        return witness
            return barely
        return None

    def separate(
        self, claim: Claim, count: int, instances: int, layout: Layout, reading: Reading, effort: float
    ) -> Witness | None:
        """Search for a witness with `count` objects, binding a distinct object to each variable."""
        instance = self.instantiated.get((count, instances))
        if instance is None:
            slots = build_distinct_slots(claim, instances)
            while slots.count < count:
                slots.add()
            instance = self.instantiated[count, instances] = slots, instantiate(claim, slots, instances)
        arrangement = self.arranged(instance, layout, reading, effort)
        return None if isinstance(arrangement, str) else self.witness(arrangement, instance[0], reading, instances)

    def witness_that_coincides(self, claim: Claim, proof: Arrangement) -> Witness:
        """Return a witness in which variables share objects, used when distinct objects are impossible."""
        slots = self.shared(claim)[0]
        instance = slots, instantiate(claim, slots, 1)
        margin = self.reading.margin
        while margin:
            reading = Reading.by_margin(margin)
            for layout in (comfortable_layout(slots.count), TIGHT_LAYOUT):
                arrangement = self.arranged(instance, layout, reading, _FREE)
                if not isinstance(arrangement, str):
                    return self.witness(arrangement, slots, reading, 1)
            margin //= 2
        return self.witness(proof, slots, _BARE, 1)

    def arranged(
        self, instance: InstantiatedClaim, layout: Layout, reading: Reading, effort: float
    ) -> Arrangement | NoSolution:
        """Run one solver attempt, unless too much time has been spent on inconclusive attempts."""
        slots, claim = instance
        if claim is None or self.spent > _MAX_SPENT:
            return "undecided"
        arrangement = arrange_slots(claim, slots, SolverAttempt(layout, reading, self.seed, effort * self.effort))
        self.spent += effort * (arrangement == "undecided")
        return arrangement

    # --- proofs

    def refute(self, claim: Claim, effort: float = _PROOF) -> Arrangement | NoSolution:
        """Try to satisfy a claim under the least restrictive rules. If this fails, the claim is unsatisfiable."""
        slots, _ = self.shared(claim)
        return self.arranged((slots, instantiate(claim, slots, 1)), PROOF_LAYOUT, _BARE, effort)

    def shared(self, claim: Claim) -> tuple[ObjectSlots, int | None]:
        """Return enough slots for a proof, and the maximum object count that it covers (None if unlimited)."""
        slots = build_shared_slots(claim)
        needed = max_objects_needed(claim, _MAX_OBJECT_BOUND)
        extra = max(0, self.max_objects - (slots.count > 0)) if needed is None else needed - slots.count
        for _ in range(extra):
            slots.add()
        return slots, self.max_objects if needed is None else None

    def unsatisfiable(self, claim: Claim) -> Unsatisfiable:
        """Return a proof of unsatisfiability with a minimal conflict."""
        self.spent = 0
        pieces = conjuncts(self.renamed)
        checks = iter(range(_MAX_CHECKS))

        def impossible(selection: frozenset[int]) -> bool:
            if next(checks, None) is None:
                return False  # then the conflict is correct, but not minimal
            part = build_claim(self.renamed, selection)
            return not self.is_easy(part) and self.refute(part, _PIECE) == "impossible"

        conflict = minimal_conflict(len(pieces), impossible)
        return Unsatisfiable(self.formula, self.shared(claim)[1], tuple(pieces[number] for number in conflict))

    def is_easy(self, claim: Claim) -> bool:
        """Quickly test whether objects in a grid satisfy the claim. Only a positive result is conclusive."""
        slots = build_distinct_slots(claim, 1)
        if not slots.count:
            slots.add()
        grid = GridLayout(10, 10) if slots.count > 4 else GridLayout(5, 5)
        if slots.count > grid.columns * grid.rows:
            return False
        return not isinstance(self.arranged((slots, instantiate(claim, slots, 1)), grid, _BARE, _NEAT), str)

    # --- results

    def empty_scene(self) -> Witness | None:
        """Return the empty scene as a witness if it satisfies the formula."""
        scene = Scene.of([])
        styles = find_styles(self.formula)
        for style in [*styles, find_unmentioned_style(styles)] if styles else [None]:
            if verify(self.formula, scene, style=style):
                return Witness(scene, self.formula, self.reading.margin, 0, {}, style)
        return None

    def witness(self, arrangement: Arrangement, slots: ObjectSlots, reading: Reading, instances: int) -> Witness:
        """Build a witness from the arrangement, verify it and remove unnecessary objects."""
        styles = find_styles(self.formula)
        style = arrangement.style or (find_unmentioned_style(styles) if styles else None)
        own_slots = [slot for slot in range(slots.count) if arrangement.same_as[slot] == slot]
        needed = {arrangement.same_as[slot] for slot in slots.certain}
        boxes, words = [arrangement.boxes[slot] for slot in own_slots], [arrangement.words[slot] for slot in own_slots]
        objects = dict(zip(own_slots, assign_words(boxes, words, slots.mentioned, self.seed), strict=True))
        if not keeps_margin(self.renamed, Scene.of(objects.values()), reading, style=style):
            raise AssertionError(f"not a witness of {self.formula}: {objects}")  # a bug, never an answer
        for slot in reversed(own_slots) if slots.may_coincide else ():
            fewer = {slot_number: obj for slot_number, obj in objects.items() if slot_number != slot}
            spare = slot not in needed and fewer
            if spare and keeps_margin(self.renamed, Scene.of(fewer.values()), reading, style=style):
                objects = fewer
        numbers = {slot: number for number, slot in enumerate(objects)}
        bindings = {name: numbers[arrangement.same_as[slot]] for name, slot in slots.names.items()}
        scene = fit_aspects(self.formula, Scene.of(objects.values()), reading, style)
        return Witness(scene, self.formula, reading.margin, instances, bindings, style)


def _candidate_grids(count: int) -> Iterator[GridLayout]:
    """Yield grids with room for `count` objects, preferring few empty cells and square shapes."""
    side = ceil(sqrt(count))
    shapes = {GridLayout(side, ceil(count / side)), GridLayout(ceil(count / side), side)}
    shapes |= {
        GridLayout(side, side),
        GridLayout(side + 1, side + 1),
        GridLayout(side + 2, side + 2),
        GridLayout(count, side),
        GridLayout(side, count),
    }
    ordered = sorted(shapes, key=lambda grid: (grid.columns * grid.rows, -grid.columns))
    yield from (grid for grid in ordered if has_large_cells(grid))


# --- minimal conflicts

Impossible: TypeAlias = Callable[[frozenset[int]], bool]
"""Returns whether these conjuncts are proven to contradict each other."""


def minimal_conflict(count: int, impossible: Impossible) -> list[int]:
    """Return the indices of conjuncts that contradict each other, none of which can be omitted.

    The conjunction of all conjuncts must be impossible. The QuickXplain algorithm discards halves before single
    conjuncts, since most conjuncts are not part of the conflict.
    """
    return sorted(_run_quickxplain((), False, tuple(range(count)), impossible))


def _run_quickxplain(
    background: Sequence[int], is_new: bool, pieces: Sequence[int], impossible: Impossible
) -> Sequence[int]:
    """Return a minimal subset of `pieces` that contradicts the background."""
    if is_new and impossible(frozenset(background)):
        return ()
    if len(pieces) == 1:
        return pieces
    middle = len(pieces) // 2
    first, second = pieces[:middle], pieces[middle:]
    from_second = _run_quickxplain((*background, *first), bool(first), second, impossible)
    from_first = _run_quickxplain((*background, *from_second), bool(from_second), first, impossible)
    return (*from_first, *from_second)
