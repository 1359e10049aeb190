"""Convert geometric rules to integer inequalities with a margin, and derive the orders that they imply.

The same inequalities are used by the solver, as constraints, and by the check that a scene keeps its margin. The orders
follow from the inequalities, but are stated separately because a solver detects a circular order at once, and would
otherwise need a long propagation through the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import ceil, inf
from typing import NamedTuple, TypeAlias

from formalimg.logic.parser import parse
from formalimg.logic.syntax import DISTINCT, And, Atom, Count, Exists, Forall, Formula, Not, Or, Value, Variable
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import verify
from formalimg.logic.world import members
from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import Box
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES, Between, Greater, Less, Near, Reading
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.nnf import AllBut, AllOf, AnyOf, AtomClaim, Claim, Each, Every, Many, Some, build_claim

DEFAULT_MARGIN = 20  # How far relations are kept from flipping: this much on the canvas, half as many per cent in area
_WHOLE = 1000  # areas are compared in thousandths


class Term(NamedTuple):
    """A measure of the first (0) or second (1) object, multiplied by a factor.

    Lengths are doubled to keep centres integral.
    """

    factor: int
    obj: int
    measure: Measure


class Inequality(NamedTuple):
    """A linear inequality: the sum of the terms must be at least `bound`."""

    terms: tuple[Term, ...]
    bound: int

    def holds(self, *boxes: Box) -> bool:
        """Return whether the inequality holds for these boxes."""
        total = sum(term.factor * _double_length(boxes[term.obj], term.measure) for term in self.terms)
        return bool(total >= self.bound)


Alternatives: TypeAlias = tuple[tuple[Inequality, ...], ...]
"""Alternatives: all inequalities of at least one of them hold."""


@cache
def alternatives(predicate: str, holds: bool, reading: Reading) -> Alternatives:
    """Return the alternative conditions under which a predicate holds or fails by the margins of a reading."""
    if predicate in UNARY_RULES:
        return _between_alternatives(UNARY_RULES[predicate], holds, reading)
    match BINARY_RULES[predicate]:
        case Less(first, second):
            return ((_less_inequality(Term(1, 0, first), Term(1, 1, second), holds, reading),),)
        case Greater(first, second):
            return ((_less_inequality(Term(1, 1, second), Term(1, 0, first), holds, reading),),)
        case Near(measure, bound):
            return _near_alternatives(measure, reading.alignment if holds else bound + reading.margin, holds)


@cache
def holds_reflexively(predicate: str) -> bool:
    """Return whether a binary rule always holds between an object and itself."""
    box = Box(0, 0, 2, 2)
    rule = BINARY_RULES.get(predicate)
    return rule is not None and rule.holds(box, box)  # nothing is on, in or next to itself


def _double_length(box: Box, measure: Measure) -> float:
    value: float = getattr(box, measure)
    return value if measure == "area" else 2 * value


def _less_inequality(small: Term, large: Term, holds: bool, reading: Reading) -> Inequality:
    """Return the inequality `small < large`, or its negation if `holds` is False."""
    if not holds:
        small, large = large, small
    if small.measure == "area":
        terms = (large._replace(factor=_WHOLE), small._replace(factor=-_WHOLE - reading.area))
        return Inequality(terms, int(holds))
    return Inequality((large, small._replace(factor=-1)), max(int(holds), 2 * reading.margin))


def _near_alternatives(measure: Measure, bound: float, holds: bool) -> Alternatives:
    apart = ((Term(1, 0, measure), Term(-1, 1, measure)), (Term(-1, 0, measure), Term(1, 1, measure)))
    if holds:  # neither is past the other by the bound or more
        return (tuple(_at_least(terms, -Fraction(bound), strict=True) for terms in apart),)
    return tuple((_at_least(terms, Fraction(bound), strict=False),) for terms in apart)


def _between_alternatives(rule: Between, holds: bool, reading: Reading) -> Alternatives:
    low, high = reading.interval(rule) if holds else (rule.low, rule.high)
    sides: list[tuple[Term, Fraction]] = []  # the term is above the bound
    for measure in rule.measures:
        if low > -inf:
            sides.append((Term(1, 0, measure), Fraction(low)))
        if high < inf:
            sides.append((Term(-1, 0, measure), -Fraction(high)))
    if holds:
        return (tuple(_at_least((term,), bound, strict=True) for term, bound in sides),)
    return tuple(
        (_at_least((term._replace(factor=-term.factor),), -bound + reading.margin, strict=False),)
        for term, bound in sides
    )


def _at_least(terms: tuple[Term, ...], bound: Fraction, *, strict: bool) -> Inequality:
    """Return the inequality that the sum of the terms is at least the bound, or exceeds it if `strict`."""
    doubled = ceil(2 * bound)
    return Inequality(terms, doubled + 1 if strict and doubled == 2 * bound else doubled)


_AXES: tuple[tuple[Measure, ...], ...] = (("xmin", "center_x", "xmax"), ("ymin", "center_y", "ymax"), ("area",))
"""Measures of one box along each axis, in the order in which they always come."""

_MIDDLES: tuple[Measure, ...] = ("center_x", "center_y")


class ImpliedOrder(NamedTuple):
    """An order, by centre or area, in which one object precedes another, or does not follow it if not strict."""

    order: Measure
    first: int  # which of the two arguments
    strict: bool


@cache
def find_implied_order(predicate: str, holds: bool) -> ImpliedOrder | None:
    """Return the order that a predicate implies between two objects when it holds or fails, if any."""
    match BINARY_RULES.get(predicate):
        case Less(small, large):
            first = 0
        case Greater(large, small):
            first = 1
        case _:
            return None
    axis = next(axis for axis in _AXES if small in axis)
    middle = len(axis) // 2
    if large not in axis:
        return None
    if not holds:  # large ≤ small
        small, large, first = large, small, 1 - first
    if axis.index(small) < middle or axis.index(large) > middle:
        return None
    # Centre of the one, its later edge, the earlier edge of the other, its centre: strict if any step is.
    return ImpliedOrder(axis[middle], first, holds or small != axis[middle] or large != axis[middle])


@cache
def find_excluded_separations(predicate: str, holds: bool) -> tuple[tuple[int, int], ...]:
    """Return the separations between two objects that are ruled out when a predicate holds or fails.

    Each is an axis (0: x, 1: y), and which argument lies entirely before the other.
    """
    before = find_implied_order(predicate, holds)
    separations = []
    if before is not None and before.order in _MIDDLES:
        separations.append((_MIDDLES.index(before.order), 1 - before.first))
    match BINARY_RULES.get(predicate):
        case Less(small, large):
            first = 0
        case Greater(large, small):
            first = 1
        case _:
            return tuple(separations)
    for number, axis in enumerate(_AXES[:2]):
        # Entirely before: every measure of the one is less than every measure of the other, except touching edges.
        if not holds and small in axis and large in axis and (small, large) != (axis[-1], axis[0]):
            separations.append((number, first))
    return tuple(separations)


class OrderClosure:
    """Transitive closure of the implied strict orders, plus the pairs of slots required to be distinct."""

    def __init__(
        self, count: int, pairs: Iterable[tuple[Measure, int, int]], different: Iterable[tuple[int, int]] = ()
    ) -> None:
        after: dict[Measure, list[int]] = {}  # for each order and object the set of those after it
        for order, first, second in pairs:
            after.setdefault(order, [0] * count)[first] |= 1 << second
        for behind in after.values():
            for middle in range(count):
                for obj in range(count):
                    if behind[obj] >> middle & 1:
                        behind[obj] |= behind[middle]
        self.is_circular = any(behind[obj] >> obj & 1 for behind in after.values() for obj in range(count))
        self._after = list(after.values())
        self._different = {frozenset(pair) for pair in different}

    def are_distinct(self, first: int, second: int) -> bool:
        """Return whether two slots must be distinct objects."""
        if frozenset((first, second)) in self._different:
            return True
        return any((behind[first] >> second | behind[second] >> first) & 1 for behind in self._after)


_NOT = "not "


def keeps_margin(
    formula: Formula | str, scene: Scene, margin: int | Reading = DEFAULT_MARGIN, *, style: str | None = None
) -> bool:
    """Return whether a formula holds in a scene with every relevant relation satisfied by a margin.

    Relations are relevant if the truth of the formula depends on them, and those that must fail must also do so by the
    margin. The margin is a length on the canvas, and areas must differ by half that number in percent. A `Reading`
    specifies its own margins.
    """
    if isinstance(formula, str):
        formula = parse(formula)
    if not verify(formula, scene, style=style):
        return False
    if margin == 0 or not scene.objects:
        return True
    reading = Reading.by_margin(margin) if isinstance(margin, int) else margin
    spelt_out = _claim_formula(build_claim(rename_apart(formula)), style)
    return verify(spelt_out, _MarginWorld(scene, reading), "classical").passed


def _claim_formula(claim: Claim, style: str | None) -> Formula:
    """Convert a claim to a formula without style atoms, representing negated atoms by separate predicates."""

    def inner(part: Claim) -> Formula:
        return _claim_formula(part, style)

    match claim:
        case AtomClaim(Atom("IsStyle", (Value(word),)), holds):
            return Exists(_ANY, Atom(str((word == style) == holds), (_ANY,)))
        case AtomClaim(atom, holds):
            return atom if holds else Atom(_NOT + atom.predicate, atom.arguments)
        case AllOf(parts):
            return And(tuple(map(inner, parts)))
        case AnyOf(parts):
            return Or(tuple(map(inner, parts)))
        case Some(variable, body):
            return Exists(Variable(variable), inner(body))
        case Each(variable, body):
            return Forall(Variable(variable), inner(body))
        case Many(number, variable, body):
            return Count("at-least", number, Variable(variable), inner(body))
        case AllBut(number, variable, body):
            return Count("at-most", number, Variable(variable), Not(inner(body)))
        case Every(variable, condition, exception, consequent):
            name = Variable(variable)
            rule = Forall(name, Or((inner(exception), inner(consequent))))
            return And((Exists(name, inner(condition)), rule))


_ANY = Variable("any object")


class _MarginWorld:
    """Wraps a scene so that relations hold or fail only by the margins of a reading."""

    def __init__(self, scene: Scene, reading: Reading) -> None:
        self.scene = scene
        self.reading = reading

    def __len__(self) -> int:
        return len(self.scene)

    def objection(self, atom: Atom) -> str | None:
        return None  # the formula has already been verified

    def having(self, predicate: str, value: str | None, among: int = -1) -> int:
        name, holds = predicate.removeprefix(_NOT), not predicate.startswith(_NOT)
        everything = (1 << len(self.scene)) - 1
        if name in ("True", "False"):
            return everything & among if name == "True" else 0
        if name in UNARY_RULES:
            ways = alternatives(name, holds, self.reading)
            objects = self.scene.objects
            return sum(1 << i for i in members(everything & among) if _holds_with_margin(ways, objects[i].box))
        having = self.scene.having(name, value, among)
        return having if holds else everything & among & ~having

    def seconds(self, predicate: str, firsts: int, among: int) -> int:
        return sum(1 << b for b in members(among) if any(self._related(predicate, a, b) for a in members(firsts)))

    def firsts(self, predicate: str, seconds: int, among: int) -> int:
        return sum(1 << a for a in members(among) if any(self._related(predicate, a, b) for b in members(seconds)))

    def describe(self, obj: int) -> str:
        return self.scene.describe(obj)

    def evidence(self, atom: Atom, objects: tuple[int, ...]) -> str:
        return ""  # explanations are not needed here

    def _related(self, predicate: str, a: int, b: int) -> bool:
        name, holds = predicate.removeprefix(_NOT), not predicate.startswith(_NOT)
        if name == DISTINCT:
            return (a != b) == holds
        assert name in BINARY_RULES
        if a == b:
            return holds_reflexively(name) == holds  # no detector error separates an object from itself
        return _holds_with_margin(
            alternatives(name, holds, self.reading), self.scene.objects[a].box, self.scene.objects[b].box
        )


def _holds_with_margin(ways: Alternatives, *boxes: object) -> bool:
    return any(all(inequality.holds(*boxes) for inequality in way) for way in ways)  # type: ignore[arg-type]
