"""Verify a formula in a group of scenes in vectorized form.

Truth tables of its parts have the scenes along the first axis and one axis for each free variable. Claims about a
single variable are evaluated first, which leaves few candidate objects. A conjunction stays a list of tables for as
long as possible. The plan is made once per formula. It uses neither the prenex form nor the game over its clauses, so
that verification and game can check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import and_, or_
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg.logic.constraints import Semantics
from formalimg.logic.soft_score.group_game import AtomTables, GroupLiterals
from formalimg.logic.soft_score.payoffs import MAX_AXES, BoolArray
from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Iff, Implies, Not, Or, Value
from formalimg.logic.variables import bound_variables, existential_block
from formalimg.logic.world import MAX_ROWS

MAX_CELLS = 4_000_000  # The maximum cells of a table over all scenes of a group
_Scope: TypeAlias = tuple[int, ...]  # Numbers of variables, ascending: the axes of a table after that of the scenes


class TooWideForGroupsError(Exception):
    """Raised if a table would have too many cells. The scenes must then be verified one by one."""


class _Picks(NamedTuple):
    """The candidate objects for a variable in each scene, and a mask of the valid ones."""

    objects: NDArray[np.intp]
    valid: BoolArray


class _Group(NamedTuple):
    """A group of scenes with the truth tables of atoms and the candidates for each variable."""

    atoms: AtomTables
    scenes: NDArray[np.intp]
    picks: Sequence[_Picks]


_Compute: TypeAlias = Callable[[_Group], list[BoolArray]]  # Returns tables, all of which have to be true


class _Claim(NamedTuple):
    """The evaluation plan for a part of a formula: the scopes of its tables and a function to compute them."""

    scopes: tuple[_Scope, ...]
    compute: _Compute


class GroupVerifier:
    """Verifies a formula in groups of scenes."""

    def __init__(self, formula: Formula, semantics: Semantics, literals: GroupLiterals) -> None:
        self._strict = semantics == "strict"
        self._literals = literals
        self._numbers = {name: number for number, name in enumerate(bound_variables(formula))}
        self._alone: list[list[tuple[int, bool]]] = [[] for _ in self._numbers]  # rows about a variable, and signs
        self._tables: set[_Scope] = set()
        self._claim = self._plan(formula)
        longest = max(map(len, self._alone), default=0)
        filled = [[*rows, *[(-1, False)] * (longest - len(rows))] for rows in self._alone]  # the last row: all objects
        self._rows = np.array([[row for row, _ in rows] for rows in filled], np.intp).reshape(len(filled), longest)
        self._negative = np.array([[sign for _, sign in rows] for rows in filled], np.bool).reshape(
            len(filled), longest
        )

    def holds(self, atoms: AtomTables) -> list[bool]:
        """Return, for each scene, whether the formula holds. No scene may be empty."""
        verdicts = np.ones(len(atoms.present), np.bool)
        for table in self._claim.compute(_Group(atoms, np.arange(len(verdicts)), self._picks(atoms))):
            verdicts &= table
        holds: list[bool] = verdicts.tolist()
        return holds

    def _picks(self, atoms: AtomTables) -> list[_Picks]:
        possible = atoms.sets[:, self._rows] ^ self._negative[..., None]
        candidates = possible.all(axis=2) & atoms.present[:, None]
        number = candidates.sum(axis=2)
        sizes = np.maximum(number.max(axis=0), 1).tolist()
        largest = max([prod([sizes[variable] for variable in scope]) for scope in self._tables], default=0)
        widest = max(map(len, self._tables), default=0)
        if largest > MAX_ROWS or largest * len(candidates) > MAX_CELLS or widest > MAX_AXES:
            raise TooWideForGroupsError
        order = np.argsort(~candidates, axis=2, kind="stable")
        valid = np.arange(candidates.shape[2]) < number[..., None]
        return [_Picks(order[:, variable, :size], valid[:, variable, :size]) for variable, size in enumerate(sizes)]

    def _plan(self, formula: Formula) -> _Claim:
        match formula:
            case Atom():
                return self._plan_atom(formula)
            case And() | Exists():
                return self._plan_block(*existential_block(formula))
            case Forall(variable, Implies(antecedent, consequent)):
                return self._plan_forall(self._numbers[variable.name], antecedent, consequent)
            case Forall(variable, body):
                return self._plan_forall(self._numbers[variable.name], None, body)
            case Not(body):
                return self._negated(self._plan(body))
            case Or(parts):
                return self._all([self._plan(part) for part in parts], or_)
            case Implies(antecedent, consequent):
                return self._all([self._negated(self._plan(antecedent)), self._plan(consequent)], or_)
            case Iff(left, right):
                left_claim, right_claim = self._all([self._plan(left)]), self._all([self._plan(right)])
                return self._all(
                    [
                        self._all([left_claim, right_claim]),
                        self._all([self._negated(left_claim), self._negated(right_claim)]),
                    ],
                    or_,
                )
        raise AssertionError(f"{formula} cannot be verified in groups")

    def _plan_atom(self, atom: Atom) -> _Claim:
        places = [self._numbers[name] for name in atom.variables]
        scope = tuple(sorted(set(places)))
        if not scope:
            word = atom.arguments[0]
            return _Claim(
                ((),), lambda group: [np.array([word == Value(style or "") for style in group.atoms.styles], np.bool)]
            )
        self._tables.add(scope)
        row = self._literals.atom_row(atom, swapped=places != list(scope))
        if len(scope) == 1:
            (variable,) = scope
            return _Claim(
                (scope,), lambda group: [np.take_along_axis(group.atoms.sets[:, row], group.picks[variable].objects, 1)]
            )
        first, second = scope

        def read(group: _Group) -> list[BoolArray]:
            first_objects, second_objects = group.picks[first].objects, group.picks[second].objects
            return [
                group.atoms.pairs[
                    group.scenes[:, None, None], row, first_objects[:, :, None], second_objects[:, None, :]
                ]
            ]

        return _Claim((scope,), read)

    def _leave_alone(self, claims: Sequence[Formula], places: Sequence[int]) -> list[_Claim]:
        """Record the claims about a single bound variable, and plan the remaining claims."""
        planned = []
        for claim in claims:
            atom = claim.body if isinstance(claim, Not) else claim
            variables = {self._numbers[name] for name in atom.variables} if isinstance(atom, Atom) else set()
            if isinstance(atom, Atom) and len(variables) == 1 and variables.issubset(places):
                self._alone[variables.pop()].append((self._literals.atom_row(atom), claim is not atom))
            else:
                planned.append(self._plan(claim))
        return planned

    def _plan_block(self, variables: Sequence[str], claims: Sequence[Formula]) -> _Claim:
        """Plan `exists` over a conjunction by eliminating each variable in turn."""
        remaining = [self._numbers[name] for name in variables]
        parts = [*self._leave_alone(claims, remaining), *[_plan_valid(bound) for bound in remaining]]
        scopes = [scope for part in parts for scope in part.scopes]
        open_tables = dict(enumerate(scopes))
        steps: list[tuple[tuple[int, ...], _Join, int]] = []
        while remaining:
            joined = {bound: {*()}.union(*[s for s in open_tables.values() if bound in s]) for bound in remaining}
            variable = min(remaining, key=lambda bound: len(joined[bound]))
            remaining.remove(variable)
            chosen = tuple(sorted([n for n, scope in open_tables.items() if variable in scope], key=scopes.__getitem__))
            join = self._join([scopes[number] for number in chosen])
            steps.append((chosen, join, 1 + join.scope.index(variable)))
            for number in chosen:
                del open_tables[number]
            open_tables[len(scopes)] = _drop_variable(join.scope, variable)
            scopes.append(_drop_variable(join.scope, variable))

        def compute(group: _Group) -> list[BoolArray]:
            tables = [table for part in parts for table in part.compute(group)]
            for chosen, join, axis in steps:
                tables.append(_any_along(join.combine([tables[number] for number in chosen]), axis))
            return [tables[number] for number in open_tables]

        return _Claim(tuple(open_tables.values()), compute)

    def _plan_forall(self, variable: int, antecedent: Formula | None, consequent: Formula) -> _Claim:
        """Plan `forall` for each table of its consequent. Strict semantics also need an instance of its condition."""
        conditions = [] if antecedent is None else antecedent.parts if isinstance(antecedent, And) else [antecedent]
        condition = self._all([_plan_valid(variable), *self._leave_alone(conditions, [variable])])
        body = self._plan(consequent)
        (condition_scope,) = condition.scopes
        joins = [self._join([condition_scope, scope]) for scope in body.scopes]
        needs_instance = self._strict and antecedent is not None

        def compute(group: _Group) -> list[BoolArray]:
            (meets,) = condition.compute(group)
            tables = [
                ~_any_along(join.combine([meets, ~table]), 1 + join.scope.index(variable))
                for join, table in zip(joins, body.compute(group), strict=True)
            ]
            return [*tables, _any_along(meets, 1 + condition_scope.index(variable))] if needs_instance else tables

        scopes = [
            _drop_variable(scope, variable)
            for scope in [*[join.scope for join in joins], *[condition_scope] * needs_instance]
        ]
        return _Claim(tuple(scopes), compute)

    def _all(self, claims: Sequence[_Claim], connective: Callable[[Any, Any], Any] = and_) -> _Claim:
        """Plan a single table that combines all claims with the given connective."""
        if connective is or_:
            claims = [self._all([claim]) for claim in claims]
        join = self._join([scope for claim in claims for scope in claim.scopes])

        def compute(group: _Group) -> list[BoolArray]:
            return [join.combine([table for claim in claims for table in claim.compute(group)], connective)]

        return _Claim((join.scope,), compute)

    def _negated(self, claim: _Claim) -> _Claim:
        whole = self._all([claim])
        return _Claim(whole.scopes, lambda group: [~table for table in whole.compute(group)])

    def _join(self, scopes: Sequence[_Scope]) -> _Join:
        scope = tuple(sorted({variable for table_scope in scopes for variable in table_scope}))
        self._tables.add(scope)
        spread = [
            (slice(None), *[slice(None) if variable in table_scope else None for variable in scope])
            for table_scope in scopes
        ]
        return _Join(scope, tuple(spread))


class _Join(NamedTuple):
    """A combination of tables: the variables of the result and the broadcast index of each table."""

    scope: _Scope
    spread: tuple[tuple[slice | None, ...], ...]

    def combine(self, tables: Sequence[BoolArray], connective: Callable[[Any, Any], Any] = and_) -> BoolArray:
        """Combine the tables elementwise with the given connective."""
        combined: BoolArray = reduce(
            connective, [table[spread] for table, spread in zip(tables, self.spread, strict=True)]
        )
        return combined


def _any_along(table: BoolArray, axis: int) -> BoolArray:
    reduced: BoolArray = np.logical_or.reduce(table, axis=axis)
    return reduced


def _plan_valid(variable: int) -> _Claim:
    return _Claim(((variable,),), lambda group: [group.picks[variable].valid])


def _drop_variable(scope: _Scope, variable: int) -> _Scope:
    return tuple(index for index in scope if index != variable)
