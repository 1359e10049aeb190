"""Convert formulas to prenex form, group clauses into components and compute the complexity K.

The steps (FormalImg, Definition 2 and appendix C.1) are: push negations down to the atoms and move every quantifier to
the front; distribute the rest into clauses; group clauses that share variables into components. A counting quantifier
stays in place as one literal, a *count*; its variables are linked by the atoms in it, and each counts once for K.

The prenex form is equivalent under the classical reading of `forall`, in non-empty scenes. It lacks the `implies` that
the strict reading needs, so scenes are verified against the formula itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.parser import as_formula
from formalimg.logic.syntax import DISTINCT, And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or, atoms
from formalimg.logic.variables import (
    FreshNames,
    bound_variables,
    free_variables,
    group_connected,
    rename_arguments,
    rename_variables,
    require_closed,
)

MAX_LITERALS = 20_000
"""The maximum literals of a prenex form: nested `iff`s double them, an `or` of `and`s multiplies them."""

ClauseKind = OneOf["object", "attribute", "relation", "condition", "style", "count"]
QuantifierKind = OneOf["exists", "forall"]


class Literal(NamedTuple):
    """An atom or a count, possibly negated."""

    atom: Atom | Count
    positive: bool

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the free variables, in order of appearance. The variable bound by a count is excluded."""
        if isinstance(self.atom, Atom):
            return self.atom.variables
        free = free_variables(self.atom)
        return tuple(dict.fromkeys(name for atom in atoms(self.atom) for name in atom.variables if name in free))

    @property
    def predicates(self) -> tuple[str, ...]:
        """The distinct predicates of the literal, in text order."""
        if isinstance(self.atom, Atom):
            return (self.atom.predicate,)
        return tuple(dict.fromkeys(atom.predicate for atom in atoms(self.atom)))

    @property
    def formula(self) -> Formula:
        """The literal converted to a formula."""
        return self.atom if self.positive else Not(self.atom, self.atom.span)


class Quantifier(NamedTuple):
    """A quantifier in the prefix."""

    kind: QuantifierKind
    variable: str


class _Conjunction(NamedTuple):
    parts: tuple[_Matrix, ...]


class _Disjunction(NamedTuple):
    parts: tuple[_Matrix, ...]


_Matrix: TypeAlias = Literal | _Conjunction | _Disjunction


@dataclass(frozen=True)
class Clause:
    """A conjunct of the prenex form, which is a literal or a disjunction of literals."""

    literals: tuple[Literal, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the distinct variables in the clause, in order of appearance."""
        return tuple(dict.fromkeys(name for literal in self.literals for name in literal.variables))

    @cached_property
    def variables(self) -> frozenset[str]:
        """Names of the variables in the clause."""
        return frozenset(self.names)

    @cached_property
    def predicates(self) -> tuple[str, ...]:
        """The distinct predicates of the clause, in alphabetical order."""
        return tuple(sorted({word for literal in self.literals for word in literal.predicates}))

    @property
    def formula(self) -> Formula:
        """The clause converted to a formula, with its variables left free."""
        if len(self.literals) == 1:
            return self.literals[0].formula
        return Or(tuple(literal.formula for literal in self.literals))

    @cached_property
    def text(self) -> str:
        """The clause in formula notation."""
        return str(self.formula)

    @cached_property
    def kind(self) -> ClauseKind:
        """The kind of claim that the clause makes.

        A single literal is an `object` (its class), a `style` (no variable), an `attribute` (one variable), a
        `relation`, or a `count`; a disjunction, such as "not a watch, or below the cup", is a `condition`.
        """
        if len(self.literals) > 1:
            return "condition"
        atom = self.literals[0].atom
        if isinstance(atom, Count):
            return "count"
        if atom.predicate == "Is":
            return "object"
        if not atom.variables:
            return "style"
        return "attribute" if len(atom.variables) == 1 else "relation"

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Component:
    """Clauses connected by shared variables, with the quantifiers that bind them."""

    prefix: tuple[Quantifier, ...]
    clauses: tuple[Clause, ...]

    @property
    def text(self) -> str:
        """The component in formula notation."""
        body = " ".join(clause.text for clause in self.clauses)
        if len(self.clauses) > 1:
            body = f"(and {body})"
        opened = "".join(f"({kind} ?{variable} " for kind, variable in self.prefix)
        return f"{opened}{body}{')' * len(self.prefix)}"


@dataclass(frozen=True)
class PrenexForm:
    """A formula in prenex form, represented as a conjunction of components."""

    components: tuple[Component, ...]

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """All clauses, in component order."""
        return tuple(clause for component in self.components for clause in component.clauses)

    @property
    def text(self) -> str:
        """The prenex form in formula notation. Each component can be parsed back into a closed formula."""
        if len(self.components) == 1:
            return self.components[0].text
        return f"(and {' '.join(component.text for component in self.components)})"


def to_prenex(formula: Formula | str) -> PrenexForm:
    """Convert a closed formula to prenex form."""
    formula = as_formula(formula)
    prefix, matrix = _extract_quantifiers(formula)
    expected = _measure_size(matrix)
    if expected.literals > MAX_LITERALS:
        raise _too_large(
            formula, f"{_format_count(expected.clauses)} clauses with {_format_count(expected.literals)} literals"
        )
    all_clauses = list(map(Clause, _distribute_clauses(matrix)))
    groups = group_connected([clause.variables for clause in all_clauses])
    return PrenexForm(
        tuple(
            Component(
                tuple(quantifier for quantifier in prefix if quantifier.variable in variables),
                tuple(all_clauses[index] for index in members),
            )
            for variables, members in groups
        )
    )


def clauses(formula: Formula | str) -> list[Clause]:
    """Return the clauses of a formula, which are the conjuncts of its prenex form."""
    return list(to_prenex(formula).clauses)


def complexity(formula: Formula | str) -> int:
    """Return the complexity K, which is the number of variables in the largest component."""
    return max(component_sizes(formula), default=0)


def component_sizes(formula: Formula | str) -> list[int]:
    """Return the number of variables in each component, in text order, omitting components without variables.

    The clause form is not computed, so this also works for formulas with too many clauses.
    """
    _, matrix = _extract_quantifiers(as_formula(formula))
    return [len(variables) for variables, _ in group_connected(_link_variables(matrix)) if variables]


# --- step 1: the matrix


class _PrenexBuilder:
    """Collects quantifiers and literals in a single pass over a formula."""

    def __init__(self, formula: Formula, bound: list[str]) -> None:
        self.formula = formula
        self.fresh = FreshNames(bound)
        self.prefix: list[Quantifier] = []
        self.literals = 0

    def matrix(self, formula: Formula, positive: bool, names: Mapping[str, str]) -> _Matrix:
        match formula:
            case Atom():
                return self.literal(formula, positive, names)
            case Not(body):
                return self.matrix(body, not positive, names)
            case And(parts):
                return _join_parts(positive, [self.matrix(part, positive, names) for part in parts])
            case Or(parts):
                return _join_parts(not positive, [self.matrix(part, positive, names) for part in parts])
            case Implies(antecedent, consequent):
                parts_ = [self.matrix(antecedent, not positive, names), self.matrix(consequent, positive, names)]
                return _join_parts(not positive, parts_)
            case Iff(left, right):
                # Each side is needed once as it is and once negated; the copies bind names of their own.
                first_way = [self.matrix(left, False, names), self.matrix(right, positive, names)]
                second_way = [self.matrix(left, True, names), self.matrix(right, not positive, names)]
                return _Conjunction((_join_parts(False, first_way), _join_parts(False, second_way)))
            case Exists(variable, body) | Forall(variable, body):
                kind: QuantifierKind = "exists" if isinstance(formula, Exists) is positive else "forall"
                name = self.fresh.fresh(variable.name)
                self.prefix.append(Quantifier(kind, name))
                if name != variable.name or name in names:  # most names stay as they are
                    names = {**names, variable.name: name}
                return self.matrix(body, positive, names)
            case Count():
                return self.count(formula, positive, names)

    def count(self, count: Count, positive: bool, names: Mapping[str, str]) -> Literal:
        self.literals += sum(1 for _ in atoms(count))
        if self.literals > MAX_LITERALS:
            raise _too_large(self.formula, f"more than {MAX_LITERALS:,} literals")
        renamed = rename_variables(count, names, self.fresh)
        assert isinstance(renamed, Count)
        return Literal(renamed, positive)

    def literal(self, atom: Atom, positive: bool, names: Mapping[str, str]) -> _Matrix:
        if len(atom.arguments) > 2 and atom.predicate == DISTINCT:  # said of each two: two variables share a clause
            pairs = [Atom(DISTINCT, pair, atom.span) for pair in combinations(atom.arguments, 2)]
            return _join_parts(positive, [self.literal(pair, positive, names) for pair in pairs])
        self.literals += 1
        if self.literals > MAX_LITERALS:
            raise _too_large(self.formula, f"more than {MAX_LITERALS:,} literals")
        if not names:
            return Literal(atom, positive)
        return Literal(Atom(atom.predicate, rename_arguments(atom.arguments, names), atom.span), positive)


_latest: tuple[Formula, list[Quantifier], _Matrix] | None = None
"""The last formula converted, by identity: K and clauses of one formula are mostly needed together."""


def _extract_quantifiers(formula: Formula) -> tuple[list[Quantifier], _Matrix]:
    global _latest
    latest = _latest
    if latest is None or latest[0] is not formula:
        builder = _PrenexBuilder(formula, require_closed(formula))
        matrix = builder.matrix(formula, True, {})
        latest = _latest = (formula, builder.prefix, matrix)
    return latest[1], latest[2]


def _join_parts(conjunction: bool, parts: list[_Matrix]) -> _Matrix:
    """Return the conjunction or disjunction of the parts, flattening nested parts of the same kind."""
    kind = _Conjunction if conjunction else _Disjunction
    flat: list[_Matrix] = []
    for part in parts:
        flat.extend(part.parts) if isinstance(part, kind) else flat.append(part)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


# --- step 2: clauses


class _Size(NamedTuple):
    clauses: int
    literals: int


def _measure_size(matrix: _Matrix) -> _Size:
    match matrix:
        case _Conjunction(parts):
            sizes = list(map(_measure_size, parts))
            return _Size(sum(size.clauses for size in sizes), sum(size.literals for size in sizes))
        case _Disjunction(parts):
            sizes = list(map(_measure_size, parts))
            total = prod(size.clauses for size in sizes)
            return _Size(total, sum(size.literals * (total // size.clauses) for size in sizes))
        case _:
            return _Size(1, 1)


def _distribute_clauses(matrix: _Matrix) -> list[tuple[Literal, ...]]:
    match matrix:
        case Literal():
            return [(matrix,)]
        case _Conjunction(parts):
            return [clause for part in parts for clause in _distribute_clauses(part)]
        case _Disjunction(parts):
            choices = product(*map(_distribute_clauses, parts))
            return [tuple([literal for clause in choice for literal in clause]) for choice in choices]


# --- step 3: components


def _link_variables(matrix: _Matrix) -> list[frozenset[str]]:
    """Return sets of variables that have the same connected components as the clauses.

    Distributing an `or` yields clauses with literals from every part. If at least two parts have variables, all of
    these variables are therefore linked.
    """
    match matrix:
        case _Conjunction(parts):
            return [variables for part in parts for variables in _link_variables(part)]
        case _Disjunction(parts):
            speaking = [linked for linked in map(_link_variables, parts) if any(linked)]
            if len(speaking) > 1:
                return [frozenset().union(*(variables for linked in speaking for variables in linked))]
            return speaking[0] if speaking else []
        case Literal(Count(_, _, variable, body)):
            # Inside a count, variables are linked as they would be outside of it.
            written = {*free_variables(body), *bound_variables(body)}
            inner = _link_variables(_PrenexBuilder(body, list(written)).matrix(body, True, {}))
            # What an iff copies gets a name that no other count has.
            variable_sets = [
                {name if name in written else f"{name} in {variable.name}" for name in linked} for linked in inner
            ]
            return [frozenset({variable.name}), *map(frozenset, variable_sets)]
        case _:
            return [frozenset(matrix.variables)]


def _too_large(formula: Formula, size: str) -> FormulaError:
    message = f"the lifted form would have {size}, the limit is {MAX_LITERALS:,} literals: split the formula"
    return FormulaError([Problem("size", message, formula.span)])


def _format_count(number: int) -> str:
    return f"{number:,}" if number < 10**12 else f"about 10^{int(number.bit_length() * 0.30103)}"
