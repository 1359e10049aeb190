"""Expansion of the strict `forall`: the instance that it requires, as an `exists` of its own.

`(forall ?x (implies A B))`, read strictly, says two things: some object meets A, and every object that meets A meets B.
The prenex form has only the classical reading, so the first is made explicit before a formula is converted for its
clauses. A count is left as it is: it is one literal there, and evaluated as a whole under the strict reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.prenex import MAX_LITERALS
from formalimg.logic.syntax import (
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Variable,
    atoms,
    children,
    map_children,
)
from formalimg.logic.variables import FreshNames, rename, rename_arguments, require_closed


class StrictExpansion(NamedTuple):
    """A formula whose classical reading, in every scene with at least one object, is the strict reading of another.

    Attributes:
        formula: the formula; every quantifier binds a name of its own.
        presence: the variables of the instances that strict `forall`s require, such as `some_x` for `x`.
        instances: by the variable of a strict `forall`, that of its instance; outer ones first.
    """

    formula: Formula
    presence: frozenset[str]
    instances: Mapping[str, str]


def expand_strict_forall(formula: Formula) -> StrictExpansion:
    """Rewrite each strict `(forall ?x (implies A B))` as `(and (exists ?some_x A) (forall ?x (implies A B)))`.

    Raises:
        FormulaError: if a variable is unbound, or the formula would exceed MAX_LITERALS.
    """
    if _expanded_literals(formula) > MAX_LITERALS:
        message = f"expanded, the formula would have more than {MAX_LITERALS:,} literals: nest fewer foralls"
        raise FormulaError([Problem("size", message, formula.span)])
    expander = _StrictExpander(formula)
    expanded = expander.walk(formula, {}, copying=False)
    return StrictExpansion(expanded, frozenset(expander.presence), dict(reversed(expander.instances.items())))


class _StrictExpander:
    """One walk through a formula; conditions of strict `forall`s are walked twice, the first time as a copy."""

    def __init__(self, formula: Formula) -> None:
        self.names = FreshNames(require_closed(formula))
        self.presence: set[str] = set()
        self.instances: dict[str, str] = {}

    def walk(self, formula: Formula, names: Mapping[str, str], copying: bool) -> Formula:
        match formula:
            case Atom(predicate, arguments, span):
                return Atom(predicate, rename_arguments(arguments, names), span)
            case Exists(variable, body):
                return self.bind(Exists, variable, body, names, copying)
            case Forall(variable, Implies(antecedent, _) as body, span):
                rule = self.bind(Forall, variable, body, names, copying)
                # The minimax game over the clauses needs the instance to be picked before the rule is tested.
                instance = self.bind(Exists, variable, antecedent, names, copying=True)
                self.instances[rule.variable.name] = instance.variable.name
                return And((instance, rule), span)
            case Forall(variable, body):
                return self.bind(Forall, variable, body, names, copying)
            case Count():  # one literal of the prenex form, evaluated as a whole: a forall inside it stays strict
                return rename(formula, names, self.names)
            case _:
                return map_children(formula, lambda part: self.walk(part, names, copying))

    def bind(
        self,
        quantifier: type[Exists] | type[Forall],
        variable: Variable,
        body: Formula,
        names: Mapping[str, str],
        copying: bool,
    ) -> Exists | Forall:
        name = self.names.fresh(f"some_{variable.name}" if copying else variable.name)
        if copying:
            self.presence.add(name)
        return quantifier(Variable(name, variable.span), self.walk(body, {**names, variable.name: name}, copying))


def _expanded_literals(formula: Formula) -> int:
    """Return how many literals the expanded formula will have."""
    match formula:
        case Atom():
            return 1
        case Forall(_, Implies(antecedent, consequent)):
            return 2 * _expanded_literals(antecedent) + _expanded_literals(consequent)
        case Count():
            return sum(1 for _ in atoms(formula))
        case _:
            return sum(map(_expanded_literals, children(formula)))
