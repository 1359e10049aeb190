"""Variables of a formula: which are free, and renaming so that no two quantifiers share a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

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


def require_closed(formula: Formula) -> None:
    """Raise a FormulaError that names every unbound variable, if there is one."""
    problems = [unbound(variable) for variable in _unbound_variables(formula, frozenset())]
    if problems:
        raise FormulaError(problems)


def unbound(variable: Variable) -> Problem:
    """The problem that no quantifier binds a variable."""
    return Problem("scope", f"?{variable.name} is not bound by an exists or forall around it", variable.span)


def _unbound_variables(formula: Formula, scope: frozenset[str]) -> Iterator[Variable]:
    if isinstance(formula, Atom):
        yield from (a for a in formula.arguments if isinstance(a, Variable) and a.name not in scope)
        return
    if isinstance(formula, Exists | Forall):
        scope = scope | {formula.variable.name}
    for part in children(formula):
        yield from _unbound_variables(part, scope)


class Names:
    """Gives out variable names that are not yet taken: `x`, then `x_1`, `x_2` and so on."""

    def __init__(self, written: Iterable[str]) -> None:
        self._written = set(written)
        self._given: set[str] = set()

    def fresh(self, name: str) -> str:
        """The name itself the first time, then with the first free number behind it."""
        candidate, number = name, 0
        while candidate in self._given or (number and candidate in self._written):
            number += 1
            candidate = f"{name}_{number}"
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
        touched = sorted({home[name] for name in variables if name in home})
        if not touched:
            target = len(groups)
            groups.append((set(), []))
        else:
            target, *absorbed = touched
            for group in absorbed:
                groups[target][0].update(groups[group][0])
                groups[target][1].extend(groups[group][1])
                home.update(dict.fromkeys(groups[group][0], target))
                groups[group] = (set(), [])
        groups[target][0].update(variables)
        groups[target][1].append(index)
        home.update(dict.fromkeys(variables, target))
    return [(variables, sorted(members)) for variables, members in groups if members]


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
