"""The geometric rules as inequalities between whole numbers, with a margin.

One reading of the rule data serves both the solver, which makes constraints of the inequalities, and the check
that a scene keeps its margin, which puts in numbers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, inf
from typing import NamedTuple, TypeAlias

from formalimg.scenes.box import Box
from formalimg.scenes.rules import RULES_OF_ONE, RULES_OF_TWO, Between, Greater, Less, Measure, Near

DEFAULT_MARGIN = 20
"""How far relations are kept from tipping over: by this much on the canvas, by half as many per cent in area."""

_WHOLE = 1000  # areas are compared in thousandths


class Term(NamedTuple):
    """A multiple of a measure of the first (0) or second (1) object; lengths count double, so that centres are whole."""

    factor: int
    obj: int
    measure: Measure


class Inequality(NamedTuple):
    """The terms add up to at least a bound."""

    terms: tuple[Term, ...]
    bound: int

    def holds(self, *boxes: Box) -> bool:
        """Is it true of these boxes?"""
        total = sum(term.factor * _doubled(boxes[term.obj], term.measure) for term in self.terms)
        return bool(total >= self.bound)


Ways: TypeAlias = tuple[tuple[Inequality, ...], ...]
"""Ways in which something can be so: all inequalities of one of them hold."""


@cache
def ways(predicate: str, holds: bool, margin: int) -> Ways:
    """The ways in which a geometric predicate holds, or fails, at least a margin away from doing the opposite."""
    if predicate in RULES_OF_ONE:
        return _between(RULES_OF_ONE[predicate], holds, margin)
    match RULES_OF_TWO[predicate]:
        case Less(first, second):
            return ((_less(Term(1, 0, first), Term(1, 1, second), holds, margin),),)
        case Greater(first, second):
            return ((_less(Term(1, 1, second), Term(1, 0, first), holds, margin),),)
        case Near(measure, bound):
            return _near(measure, bound, holds, margin)


@cache
def holds_of_itself(predicate: str) -> bool:
    """Does a rule on two objects hold when both are the same object? No size or place makes a difference to that."""
    box = Box(0, 0, 2, 2)
    return RULES_OF_TWO[predicate].holds(box, box)


def _doubled(box: Box, measure: Measure) -> float:
    value: float = getattr(box, measure)
    return value if measure == "area" else 2 * value


def _less(small: Term, large: Term, holds: bool, margin: int) -> Inequality:
    """The small term is less than the large one; or, if that fails, not less."""
    if not holds:
        small, large = large, small
    if small.measure == "area":
        terms = (large._replace(factor=_WHOLE), small._replace(factor=-_WHOLE - _WHOLE * margin // 200))
        return Inequality(terms, int(holds))
    return Inequality((large, small._replace(factor=-1)), max(int(holds), 2 * margin))


def _near(measure: Measure, bound: float, holds: bool, margin: int) -> Ways:
    apart = ((Term(1, 0, measure), Term(-1, 1, measure)), (Term(-1, 0, measure), Term(1, 1, measure)))
    if holds:  # neither is past the other by the bound or more
        return (tuple(_over(terms, -Fraction(bound) + margin, strict=True) for terms in apart),)
    return tuple((_over(terms, Fraction(bound) + margin, strict=False),) for terms in apart)


def _between(rule: Between, holds: bool, margin: int) -> Ways:
    sides: list[tuple[Term, Fraction]] = []  # the term is above the bound
    for measure in rule.measures:
        if rule.low > -inf:
            sides.append((Term(1, 0, measure), Fraction(rule.low)))
        if rule.high < inf:
            sides.append((Term(-1, 0, measure), -Fraction(rule.high)))
    if holds:
        return (tuple(_over((term,), bound + margin, strict=True) for term, bound in sides),)
    return tuple(
        (_over((term._replace(factor=-term.factor),), -bound + margin, strict=False),) for term, bound in sides
    )


def _over(terms: tuple[Term, ...], bound: Fraction, *, strict: bool) -> Inequality:
    """The terms add up to a length of at least (or, if strict, more than) the bound."""
    least = ceil(2 * bound)
    return Inequality(terms, least + 1 if strict and least == 2 * bound else least)
