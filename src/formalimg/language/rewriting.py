"""Rewrite formulas to a common form before they are compared."""

from __future__ import annotations

from itertools import permutations

from formalimg.language.counts import signed_count
from formalimg.logic.syntax import (
    DISTINCT,
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    map_children,
)


def without_iff(formula: Formula, *, positive: bool) -> Formula:
    """Expand each `iff` as in prenex form, duplicating its quantifiers."""
    match formula:
        case Iff(left, right):
            one, other = (
                (without_iff(side, positive=True), Not(without_iff(side, positive=False))) for side in (left, right)
            )
            if positive:
                return And((Or((one[1], other[0])), Or((one[0], other[1]))))
            return Not(And((Or((one[1], other[1])), Or((one[0], other[0])))))
        case Not(body):
            return Not(without_iff(body, positive=not positive))
        case And(parts):
            return And(tuple(without_iff(part, positive=positive) for part in parts))
        case Or(parts):
            return Or(tuple(without_iff(part, positive=positive) for part in parts))
        case Implies(antecedent, consequent):
            condition = without_iff(antecedent, positive=not positive)
            return Implies(condition, without_iff(consequent, positive=positive))
        case Exists(variable, body):
            return Exists(variable, without_iff(body, positive=positive))
        case Forall(variable, body):
            return Forall(variable, without_iff(body, positive=positive))
        case Atom() | Count():  # a count is a literal: what is inside it is not expanded
            return formula


def in_one_form(formula: Formula) -> Formula:
    """Normalize counts and expand `distinct` into atoms for all ordered pairs of variables."""
    counted = signed_count(formula)
    if counted is not None:
        count = map_children(counted.counted, in_one_form)
        return count if counted.positive else Not(count)
    if isinstance(formula, Atom) and formula.predicate == DISTINCT:
        pairs = permutations(formula.arguments, 2)
        return And(tuple(Atom(DISTINCT, pair) for pair in pairs))
    return formula if isinstance(formula, Atom) else map_children(formula, in_one_form)
