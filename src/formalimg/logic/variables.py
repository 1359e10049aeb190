"""Variables of a formula: which are free, and renaming so that no two quantifiers share a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from formalimg.logic.problem import FormulaError, Problem
from formalimg.logic.syntax import (
    And,
    Argument,
    Atom,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Variable,
    children,
    subformulas,
)


def free_variables(formula: Formula) -> frozenset[str]:
    """Names of the variables that no quantifier of the formula binds."""
    if isinstance(formula, Atom):
        return frozenset(formula.variables)
    inside = frozenset[str]().union(*map(free_variables, children(formula)))
    return inside - {formula.variable.name} if isinstance(formula, Exists | Forall) else inside


def bound_variables(formula: Formula) -> list[str]:
    """The variable of each quantifier, in the order of the text."""
    return [node.variable.name for node in subformulas(formula) if isinstance(node, Exists | Forall)]


def require_closed(formula: Formula) -> list[str]:
    """The variable of each quantifier of a closed formula; a FormulaError that names every unbound variable if not."""
    bound: list[str] = []
    open_: list[Variable] = []
    _note_variables(formula, {}, bound, open_)
    if open_:
        raise FormulaError([unbound(variable) for variable in open_])
    return bound


def unbound(variable: Variable) -> Problem:
    """The problem that no quantifier binds a variable."""
    return Problem("scope", f"?{variable.name} is not bound by an exists or forall around it", variable.span)


def _note_variables(formula: Formula, scope: dict[str, None], bound: list[str], open_: list[Variable]) -> None:
    kind = type(formula)
    if kind is Atom:
        arguments = formula.arguments  # type: ignore[union-attr]
        open_ += [a for a in arguments if type(a) is Variable and a.name not in scope]
        return
    if kind is Exists or kind is Forall:
        name = formula.variable.name  # type: ignore[union-attr]
        bound.append(name)
        scope = {**scope, name: None}
    for part in children(formula):
        _note_variables(part, scope, bound, open_)


class Names:
    """Gives out variable names that are not yet taken: `x`, then `x_1`, `x_2` and so on."""

    def __init__(self, written: Iterable[str]) -> None:
        self._written = set(written)
        self._given: set[str] = set()
        self._last: dict[str, int] = {}  # the numbers given so far, so that a name used very often stays quick

    def fresh(self, name: str) -> str:
        """The name itself the first time, then with the first free number behind it."""
        number = self._last.get(name, 0)
        candidate = f"{name}_{number}" if number else name
        while candidate in self._given or (number and candidate in self._written):
            number += 1
            candidate = f"{name}_{number}"
        self._last[name] = number
        self._given.add(candidate)
        return candidate


def rename_apart(formula: Formula) -> Formula:
    """The same closed formula with every quantifier binding a name of its own.

    The first quantifier of a name keeps it; later ones get `_1`, `_2`, … Spans are kept.
    """
    bound = bound_variables(formula)
    if len(set(bound)) == len(bound):
        return formula
    return _renamed(formula, {}, Names(bound))


def _renamed(formula: Formula, names: Mapping[str, str], fresh: Names) -> Formula:
    match formula:
        case Atom(predicate, arguments, span):
            return Atom(predicate, rename_arguments(arguments, names), span)
        case Not(body, span):
            return Not(_renamed(body, names, fresh), span)
        case And(parts, span):
            return And(tuple(_renamed(part, names, fresh) for part in parts), span)
        case Or(parts, span):
            return Or(tuple(_renamed(part, names, fresh) for part in parts), span)
        case Implies(antecedent, consequent, span):
            return Implies(_renamed(antecedent, names, fresh), _renamed(consequent, names, fresh), span)
        case Iff(left, right, span):
            return Iff(_renamed(left, names, fresh), _renamed(right, names, fresh), span)
        case Exists(variable, body, span):
            name = fresh.fresh(variable.name)
            inner = {**names, variable.name: name}
            return Exists(Variable(name, variable.span), _renamed(body, inner, fresh), span)
        case Forall(variable, body, span):
            name = fresh.fresh(variable.name)
            inner = {**names, variable.name: name}
            return Forall(Variable(name, variable.span), _renamed(body, inner, fresh), span)


def rename_arguments(arguments: tuple[Argument, ...], names: Mapping[str, str]) -> tuple[Argument, ...]:
    """The arguments with their variables called by their new names."""
    return tuple(Variable(names[a.name], a.span) if type(a) is Variable and a.name in names else a for a in arguments)


def connected(sets: Iterable[frozenset[str]]) -> list[tuple[set[str], list[int]]]:
    """Group overlapping sets: for each group its variables and the indices of its sets, in order of appearance."""
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
    """The variables of an `exists` and those nested in its conjuncts, and the conjuncts under them."""
    match formula:
        case Exists(variable, body):
            variables, claims = existential_block(body)
            return [variable.name, *variables], claims
        case And(parts):
            blocks = [existential_block(part) for part in parts]
            return [name for names, _ in blocks for name in names], [claim for _, claims in blocks for claim in claims]
        case _:
            return [], [formula]
