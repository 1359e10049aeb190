"""Find and rename the variables of formulas, and group conjuncts by shared variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from formalimg.logic.elimination import ConjunctClaims, FlatClaim, flatten_claims
from formalimg.logic.errors import FormulaError, Problem, Span
from formalimg.logic.syntax import (
    DISTINCT,
    And,
    Argument,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Or,
    Variable,
    children,
    map_children,
    subformulas,
)


def free_variables(formula: Formula) -> frozenset[str]:
    """Return the names of the free variables of a formula."""
    if isinstance(formula, Atom):
        return frozenset(formula.variables)
    inside = frozenset[str]().union(*map(free_variables, children(formula)))
    return inside - {formula.variable.name} if isinstance(formula, Exists | Forall | Count) else inside


def bound_variables(formula: Formula) -> list[str]:
    """Return the name of the variable bound by each quantifier, in text order."""
    return [node.variable.name for node in subformulas(formula) if isinstance(node, Exists | Forall | Count)]


def require_closed(formula: Formula) -> list[str]:
    """Return the bound variables of a formula, or raise an error if any variable is free."""
    bound: list[str] = []
    open_: list[Variable] = []
    _collect_variables(formula, {}, bound, open_)
    if open_:
        raise FormulaError([scope_problem(variable) for variable in open_])
    return bound


def scope_problem(variable: Variable) -> Problem:
    """Return the problem to report for an unbound variable."""
    return Problem("scope", f"?{variable.name} is not bound by a quantifier around it", variable.span)


def _collect_variables(formula: Formula, scope: dict[str, None], bound: list[str], open_: list[Variable]) -> None:
    kind = type(formula)
    if kind is Atom:
        arguments = formula.arguments  # type: ignore[union-attr]
        open_ += [a for a in arguments if type(a) is Variable and a.name not in scope]
        return
    if kind is Exists or kind is Forall or kind is Count:
        name = formula.variable.name  # type: ignore[union-attr]
        bound.append(name)
        scope = {**scope, name: None}
    for part in children(formula):
        _collect_variables(part, scope, bound, open_)


class FreshNames:
    """Generator of unused variable names, such as `x`, `x_1` and `x_2`."""

    def __init__(self, written: Iterable[str]) -> None:
        self._written = set(written)
        self._issued: set[str] = set()
        self._last: dict[str, int] = {}  # the last number of each name, so that a name used very often stays fast

    def fresh(self, name: str) -> str:
        """Return the name unchanged on first use, and with a numeric suffix afterwards."""
        number = self._last.get(name, 0)
        candidate = f"{name}_{number}" if number else name
        while candidate in self._issued or (number and candidate in self._written):
            number += 1
            candidate = f"{name}_{number}"
        self._last[name] = number
        self._issued.add(candidate)
        return candidate


def rename_apart(formula: Formula) -> Formula:
    """Rename the variables of a closed formula so that each quantifier binds a unique name."""
    bound = bound_variables(formula)
    if len(set(bound)) == len(bound):
        return formula
    return rename_variables(formula, {}, FreshNames(bound))


def rename_variables(formula: Formula, names: Mapping[str, str], fresh: FreshNames) -> Formula:
    """Rename free variables according to `names` and replace bound variables by fresh names."""
    match formula:
        case Atom(predicate, arguments, span):
            return Atom(predicate, rename_arguments(arguments, names), span)
        case Exists(variable, body, span) | Forall(variable, body, span):
            name = fresh.fresh(variable.name)
            inner = {**names, variable.name: name}
            return type(formula)(Variable(name, variable.span), rename_variables(body, inner, fresh), span)
        case Count(bound, number, variable, body, span):
            name = fresh.fresh(variable.name)
            renamed = rename_variables(body, {**names, variable.name: name}, fresh)
            return Count(bound, number, Variable(name, variable.span), renamed, span)
        case _:
            return map_children(formula, lambda part: rename_variables(part, names, fresh))


def expand_distinct(formula: Formula) -> Formula:
    """Expand each `distinct` atom with several variables into atoms for all pairs."""
    if not isinstance(formula, Atom):
        return map_children(formula, expand_distinct)
    if formula.predicate != DISTINCT or len(formula.arguments) < 3:
        return formula
    return And(tuple(Atom(DISTINCT, pair, formula.span) for pair in combinations(formula.arguments, 2)), formula.span)


def rename_arguments(arguments: tuple[Argument, ...], names: Mapping[str, str]) -> tuple[Argument, ...]:
    """Rename the variables among the arguments."""
    return tuple(Variable(names[a.name], a.span) if type(a) is Variable and a.name in names else a for a in arguments)


def group_connected(sets: Iterable[frozenset[str]]) -> list[tuple[set[str], list[int]]]:
    """Group overlapping sets. Return the union of each group and the indices of its sets, in order of appearance."""
    groups: list[tuple[set[str], list[int]]] = []
    home: dict[str, int] = {}
    for index, variables in enumerate(sets):
        touched = {home[name] for name in variables if name in home}
        if not touched:
            target = len(groups)
            groups.append((set(variables), [index]))
        else:
            target = min(touched)
            names, members = groups[target]
            for group in touched - {target}:
                names.update(groups[group][0])
                members.extend(groups[group][1])
                home.update(dict.fromkeys(groups[group][0], target))
                groups[group] = (set(), [])
            names.update(variables)
            members.append(index)
        for name in variables:
            home[name] = target
    return [(names, sorted(members)) for names, members in groups if members]


def existential_block(formula: Formula) -> tuple[list[str], list[Formula]]:
    """Split nested `exists` and `and` into a list of bound variables and a list of conjuncts."""
    match formula:
        case Exists(variable, body):
            variables, claims = existential_block(body)
            return [variable.name, *variables], claims
        case And(parts):
            blocks = [existential_block(part) for part in parts]
            return [name for names, _ in blocks for name in names], [claim for _, claims in blocks for claim in claims]
        case _:
            return [], [formula]


class ConjunctGroup(NamedTuple):
    """Conjuncts connected by shared `exists` variables."""

    variables: tuple[str, ...]  # these variables
    claims: ConjunctClaims  # the conjuncts; each is claimed to hold
    mentioned: frozenset[str]  # the variables that are free in them, other than these
    is_literal: bool  # whether it is a single atom, or the negation of one


class ForallParts(NamedTuple):
    """The variable, condition and grouped conjuncts of a `forall`."""

    variable: str  # the variable that it binds
    condition: ConjunctClaims | None  # what its instances have to meet, if the body is an implication
    is_own_condition: bool  # whether the condition mentions no other variable; also if there is none
    own_group: ConjunctGroup | None  # the conjuncts of the rest of the body that mention no other variable, if any
    other_groups: tuple[ConjunctGroup, ...]  # the groups of the other conjuncts


class FormulaStructure:
    """Cache of free variables, conjunct groups and flattened claims, keyed by formula identity for speed.

    Instances may be shared between threads and should not outlive the formulas.
    """

    def __init__(self) -> None:
        # With the formula itself, so that its id is not reused, unless this was copied or pickled.
        self._free: dict[int, tuple[Formula, tuple[str, ...]]] = {}
        self._groups: dict[int, tuple[Formula, tuple[ConjunctGroup, ...]]] = {}
        self._foralls: dict[int, tuple[Formula, ForallParts]] = {}
        self._flat: dict[tuple[int, bool, bool], tuple[Formula, FlatClaim]] = {}

    def free_variables(self, formula: Formula) -> tuple[str, ...]:
        """Return the free variables of a formula in text order. For an atom, the result may contain duplicates."""
        cached = self._free.get(id(formula))
        if cached is None or cached[0] is not formula:
            cached = self._free[id(formula)] = (formula, self._find_free(formula))
        return cached[1]

    def groups(self, formula: Formula) -> tuple[ConjunctGroup, ...]:
        """Return the conjuncts of a formula, grouped so that no two groups share a variable bound by its `exists`."""
        cached = self._groups.get(id(formula))
        if cached is None or cached[0] is not formula:
            cached = self._groups[id(formula)] = (formula, self._find_groups(formula))
        return cached[1]

    def forall_parts(self, forall: Forall) -> ForallParts:
        """Return the variable, condition and grouped conjuncts of a `forall`."""
        cached = self._foralls.get(id(forall))
        if cached is None or cached[0] is not forall:
            cached = self._foralls[id(forall)] = (forall, self._find_parts(forall))
        return cached[1]

    def flat(self, formula: Formula, holds: bool, strict: bool) -> FlatClaim:
        """Return the flattened claim that a formula holds or fails. See `flatten_claims`."""
        key = id(formula), holds, strict
        cached = self._flat.get(key)
        if cached is None or cached[0] is not formula:
            cached = self._flat[key] = (formula, flatten_claims([(formula, holds)], strict))
        return cached[1]

    def _find_free(self, formula: Formula) -> tuple[str, ...]:
        if isinstance(formula, Atom):
            return formula.variables
        names: dict[str, None] = {}
        for part in children(formula):
            names.update(dict.fromkeys(self.free_variables(part)))
        if isinstance(formula, Exists | Forall | Count):
            names.pop(formula.variable.name, None)
        return tuple(names)

    def _find_groups(self, formula: Formula) -> tuple[ConjunctGroup, ...]:
        variables, claims = existential_block(formula)
        inner = frozenset(variables)
        tied = [claim for claim in claims if not inner.isdisjoint(self.free_variables(claim))]
        alone = [self._group([], [claim]) for claim in claims if inner.isdisjoint(self.free_variables(claim))]
        together = [
            self._group([name for name in variables if name in names], [tied[index] for index in members])
            for names, members in group_connected([inner.intersection(self.free_variables(claim)) for claim in tied])
        ]
        return (*alone, *together)

    def _group(self, variables: list[str], claims: list[Formula]) -> ConjunctGroup:
        mentioned = frozenset(name for claim in claims for name in self.free_variables(claim)).difference(variables)
        atom = claims[0].body if isinstance(claims[0], Not) else claims[0]
        is_literal = not variables and isinstance(atom, Atom)
        return ConjunctGroup(tuple(variables), ConjunctClaims((claim, True) for claim in claims), mentioned, is_literal)

    def _find_parts(self, forall: Forall) -> ForallParts:
        name, body = forall.variable.name, forall.body
        condition, is_own_condition = None, True
        if isinstance(body, Implies):
            condition = ConjunctClaims([(body.antecedent, True)])
            is_own_condition = self.free_variables(body.antecedent) == (name,)
            body = body.consequent
        groups = self.groups(body)
        other_groups = tuple(group for group in groups if not group.mentioned <= {name})
        variables: list[str] = []
        claims: list[Formula] = []
        for group in groups:
            if group.mentioned <= {name}:
                variables += group.variables
                claims += [claim for claim, _ in group.claims]
        own_group = self._group(variables, claims) if claims else None
        return ForallParts(name, condition, is_own_condition, own_group, other_groups)


def narrow_counts(formula: Formula) -> Formula:
    """Move conjuncts that do not mention the counted variable out of each count."""
    formula = map_children(formula, narrow_counts)
    if not isinstance(formula, Count):
        return formula
    bound, number, variable, body, span = formula.bound, formula.number, formula.variable, formula.body, formula.span
    inside: list[Formula] = []
    outside: list[Formula] = []
    for variables, claims, mentioned, _ in FormulaStructure().groups(body):
        group = _build_conjunction([claim for claim, _ in claims], span)
        for name in reversed(variables):
            group = Exists(Variable(name), group, span)
        (inside if variable.name in mentioned else outside).append(group)
    if not inside or not outside:
        return formula
    count = Count(bound, number, variable, _build_conjunction(inside, span), span)
    if formula.allows(0):  # as it is where what is said outside fails
        return Or((Not(_build_conjunction(outside, span), span), count), span)
    return _build_conjunction([*outside, count], span)


def _build_conjunction(parts: Sequence[Formula], span: Span) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts), span)
