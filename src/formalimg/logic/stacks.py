"""Clauses stacked: those that are laid out alike are weighed in one go, which is what makes small games quick.

How clauses are stacked does not hang on the scene, so it is worked out once for a component.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.forgetting import Step, steps_of
from formalimg.logic.lifting import QuantifierKind
from formalimg.logic.places import PlacedComponent, PlacedLiteral, Scope, Spreading, scope_of, spread_over

Rows: TypeAlias = NDArray[np.intp]
Numbers: TypeAlias = NDArray[np.int64]


class StackedLiteral(NamedTuple):
    """The literals of one place in stacked clauses.

    Attributes:
        axes: how many variables each has.
        rows: what they ask for, clause by clause.
        narrowed: the variables of theirs that `forall` binds, each behind its axis.
        spreading: how they are laid out over the variables of the clauses.
    """

    axes: int
    rows: Rows
    narrowed: tuple[tuple[int, int], ...]
    spreading: Spreading


class Stack(NamedTuple):
    """Clauses that are laid out alike.

    Attributes:
        literals: their literals: the first of each clause, the second of each, and so on.
        worths: what each clause is worth, one below the other.
        scopes: their variables, each set of them once.
        starts: the first clause of each scope.
    """

    literals: tuple[StackedLiteral, ...]
    worths: Numbers
    scopes: tuple[Scope, ...]
    starts: Rows


class Doubt(NamedTuple):
    """What a pick for a variable that `forall` binds is worth, as far as what is said of that variable alone tells it.

    Attributes:
        variable: which.
        rows: what is said of it alone.
        bounds: what each of these adds, where it holds, to the least and to the most that a pick is worth.
        open: what else may add to each.
        condition: which of these stand in all its clauses of several literals: they fail where its condition applies.
    """

    variable: int
    rows: Rows
    bounds: Numbers
    open: Numbers
    condition: Rows


@dataclass(frozen=True, eq=False)
class Stacks:
    """All clauses of a component.

    Attributes:
        kinds: who picks the object of each variable.
        stacks: the clauses.
    """

    kinds: tuple[QuantifierKind, ...]
    stacks: tuple[Stack, ...]

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The variables of each table that is played over: first each variable alone, then those that clauses join."""
        alone = [(place,) for place in range(len(self.kinds))]
        return (*alone, *(scope for stack in self.stacks for scope in stack.scopes if len(scope) > 1))

    @cached_property
    def free_steps(self) -> tuple[Step, ...]:
        """In which steps variables are forgotten, in the order that suits best."""
        return steps_of(self.kinds, self.scopes, True)

    @cached_property
    def ordered_steps(self) -> tuple[Step, ...]:
        """In which steps variables are forgotten, in the order of the prefix."""
        return steps_of(self.kinds, self.scopes, False)


class _Weighed(NamedTuple):
    """A clause, or what one says of a class besides, and its worth."""

    literals: tuple[PlacedLiteral, ...]
    scope: Scope
    worth: int


class Stacked:
    """A component, stacked.

    Attributes:
        always: its clauses.
        doubts: what is known of each variable that `forall` binds.
        widest: the most variables that a clause has.
    """

    def __init__(self, component: PlacedComponent) -> None:
        """Stack the clauses of a component."""
        kinds = component.kinds
        self._weighed = _weighed(component)
        self.always = _stacks(kinds, self._weighed)
        self.doubts = tuple(_doubt(place, self._weighed) for place, kind in enumerate(kinds) if kind == "forall")
        self.widest = max([1, *(len(weighed.scope) for weighed in self._weighed)])

    @cached_property
    def if_met(self) -> Stacks:
        """Its clauses where the conditions of all `forall`s apply, which makes them shorter."""
        failing = {((doubt.variable,), int(row)) for doubt in self.doubts for row in doubt.condition}
        if not failing:
            return self.always
        left = []
        for literals, _, worth in self._weighed:
            kept = tuple([literal for literal in literals if (literal.scope, literal.row) not in failing])
            scope = scope_of(kept)
            if scope:  # what is left may speak of the style, or of nothing, and is the same whatever is picked
                left.append(_Weighed(kept, scope, worth))
        return _stacks(self.always.kinds, left)


def _weighed(component: PlacedComponent) -> list[_Weighed]:
    """What is worth something, each once: clauses, and what their literals say rightly of classes."""
    found: dict[object, _Weighed] = {}

    def add(literals: tuple[PlacedLiteral, ...], scope: Scope, worth: int) -> None:
        said = tuple([(literal.row, literal.scope) for literal in literals])
        known = found.get(said)
        found[said] = _Weighed(literals, scope, worth if known is None else worth + known.worth)

    for clause in component.clauses:
        add(clause.literals, clause.scope, clause.weight * component.one)
        for literal in clause.literals:
            if literal.of_class:
                add((literal,), literal.scope, 1)
    return list(found.values())


def _stacks(kinds: tuple[QuantifierKind, ...], everything: Sequence[_Weighed]) -> Stacks:
    alike: dict[object, list[_Weighed]] = {}
    for weighed in everything:
        scope = weighed.scope
        # Objects are left out for variables that `forall` binds: so the axes of these have lengths of their own.
        bound = tuple([place if kinds[place] == "forall" else None for place in scope])
        layout = tuple([tuple([scope.index(place) for place in literal.scope]) for literal in weighed.literals])
        alike.setdefault((bound, layout), []).append(weighed)
    return Stacks(kinds, tuple(_stack(found, kinds) for found in alike.values()))


def _stack(found: Sequence[_Weighed], kinds: Sequence[QuantifierKind]) -> Stack:
    ordered = sorted(found, key=lambda weighed: weighed.scope)
    scopes = [weighed.scope for weighed in ordered]
    starts = [number for number, scope in enumerate(scopes) if number == 0 or scope != scopes[number - 1]]
    literals = []
    for alike in zip(*[weighed.literals for weighed in ordered], strict=True):
        places = alike[0].scope
        narrowed = tuple((axis, place) for axis, place in enumerate(places, 1) if kinds[place] == "forall")
        rows = np.array([literal.row for literal in alike], np.intp)
        literals.append(StackedLiteral(len(places), rows, narrowed, (slice(None), *spread_over(scopes[0], places))))
    worths = np.array([weighed.worth for weighed in ordered], np.int64)
    column = worths.reshape(len(ordered), *[1] * len(scopes[0]))
    return Stack(tuple(literals), column, tuple(scopes[start] for start in starts), np.array(starts, np.intp))


def _doubt(place: int, everything: Sequence[_Weighed]) -> Doubt:
    bounds: dict[int, list[int]] = {}
    left_open = 0
    conditions: list[Collection[int]] = []
    for literals, scope, worth in everything:
        if place not in scope:
            continue
        alone = [literal.row for literal in literals if literal.scope == (place,)]
        if alone:
            bound = bounds.setdefault(alone[0], [0, 0])
            bound[0] += worth
            bound[1] += worth * (len(literals) == 1)
        if len(literals) > 1:
            conditions.append(alone)
        if len(literals) > 1 or not alone:
            left_open += worth
    condition = [row for row in conditions[0] if all(row in others for others in conditions)] if conditions else []
    return Doubt(
        place,
        np.array(list(bounds), np.intp),
        np.array(list(bounds.values()), np.int64).reshape(len(bounds), 2).T,
        np.array([[0], [left_open]], np.int64),
        np.array(condition, np.intp),
    )
