"""Syntax tree of formulas and its conversion to text.

Nodes are immutable and compare by structure, ignoring the position in the source text (`span`). `str(node)` is its
text, on one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.logic.errors import NOWHERE, Span


def _span_field() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


class _Printed:
    """Base class whose string representation is formula text."""

    __slots__ = ()

    def __str__(self) -> str:
        return to_text(self)  # type: ignore[arg-type]  # every subclass is a node


@dataclass(frozen=True, slots=True)
class Variable(_Printed):
    """A variable such as `?x`, stored without the question mark."""

    name: str
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class Value(_Printed):
    """A quoted word such as `'cup'`."""

    text: str
    span: Span = _span_field()


Argument: TypeAlias = Variable | Value


@dataclass(frozen=True, slots=True)
class Atom(_Printed):
    """A predicate and its arguments, as in `(LeftOf ?a ?b)`, `(Is ?a 'cup')` or `(distinct ?a ?b ?c)`."""

    predicate: str
    arguments: tuple[Argument, ...]
    span: Span = _span_field()

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables among the arguments, in order."""
        return tuple([a.name for a in self.arguments if type(a) is Variable])


@dataclass(frozen=True, slots=True)
class Not(_Printed):
    """`(not F)`."""

    body: Formula
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class And(_Printed):
    """`(and F ...)`, with one or more parts."""

    parts: tuple[Formula, ...]
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class Or(_Printed):
    """`(or F ...)`, with one or more parts."""

    parts: tuple[Formula, ...]
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class Implies(_Printed):
    """`(implies F G)`."""

    antecedent: Formula
    consequent: Formula
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class Iff(_Printed):
    """`(iff F G)`."""

    left: Formula
    right: Formula
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class Exists(_Printed):
    """`(exists ?x F)`."""

    variable: Variable
    body: Formula
    span: Span = _span_field()


@dataclass(frozen=True, slots=True)
class Forall(_Printed):
    """`(forall ?x F)`."""

    variable: Variable
    body: Formula
    span: Span = _span_field()


CountBound = Literal["exactly", "at-least", "at-most"]  # How a count bounds the number of objects
COUNT_BOUNDS: tuple[CountBound, ...] = get_args(CountBound)


CREDIT_UNIT = 720_720
"""What a count that holds is worth, as a whole number: all shares of up to 16 objects are whole numbers too."""


class CountLimits(NamedTuple):
    """The numbers of objects allowed by a count or its negation, and the credit for other numbers.

    A number that is not allowed earns the ratio between it and the nearest allowed number: both 2 of 3 cups and 3 cups
    instead of 2 earn 2/3. The ratio is 0 if nothing is present or nothing is allowed.
    """

    least: int
    most: int | None  # None: any number; -1: no number is allowed at all
    but: int | None = None  # the only number that is not allowed, for the negation of `exactly`

    def credit(self, number: int) -> int:
        """Return the credit for a number of objects, from 0 to `CREDIT_UNIT`. Only allowed numbers earn full credit."""
        if number < self.least:
            return CREDIT_UNIT * number // self.least
        if self.most is not None and number > self.most:
            return CREDIT_UNIT * self.most // number if self.most > 0 else 0
        return 0 if number == self.but else CREDIT_UNIT


@dataclass(frozen=True, slots=True)
class Count(_Printed):
    """`(exactly n ?x F)`, `(at-least n ?x F)` or `(at-most n ?x F)`: limits how many objects satisfy F."""

    bound: CountBound
    number: int
    variable: Variable
    body: Formula
    span: Span = _span_field()

    @property
    def range(self) -> tuple[int, int | None]:
        """Smallest and largest allowed number of objects. None means no upper limit."""
        return (0 if self.bound == "at-most" else self.number, None if self.bound == "at-least" else self.number)

    def allows(self, number: int) -> bool:
        """Return whether the count allows the given number of objects."""
        minimum, maximum = self.range
        return minimum <= number and (maximum is None or number <= maximum)

    def limits(self, positive: bool) -> CountLimits:
        """Return the limits imposed by the count if `positive`, or by its negation otherwise."""
        minimum, maximum = self.range
        if positive:
            return CountLimits(minimum, maximum)
        if minimum == maximum:
            return CountLimits(0, None, but=minimum)
        return CountLimits(0, minimum - 1) if maximum is None else CountLimits(maximum + 1, None)


Formula: TypeAlias = Atom | Not | And | Or | Implies | Iff | Exists | Forall | Count

DISTINCT = "distinct"  # The predicate that its variables stand for different objects: every world decides it


def children(formula: Formula) -> tuple[Formula, ...]:
    """Return the direct subformulas of a formula, in text order."""
    match formula:
        case Atom():
            return ()
        case And(parts) | Or(parts):
            return parts
        case Implies(first, second) | Iff(first, second):
            return (first, second)
        case Not(body) | Exists(_, body) | Forall(_, body) | Count(_, _, _, body):
            return (body,)


def map_children(formula: Formula, transform: Callable[[Formula], Formula]) -> Formula:
    """Return a copy of the formula with `transform` applied to its direct subformulas."""
    match formula:
        case Atom():
            return formula
        case And(parts, span) | Or(parts, span):
            return type(formula)(tuple(map(transform, parts)), span)
        case Implies(first, second, span) | Iff(first, second, span):
            return type(formula)(transform(first), transform(second), span)
        case Not(body, span):
            return Not(transform(body), span)
        case Exists(variable, body, span) | Forall(variable, body, span):
            return type(formula)(variable, transform(body), span)
        case Count(bound, number, variable, body, span):
            return Count(bound, number, variable, transform(body), span)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield the formula and all of its subformulas, in text order."""
    pending = [formula]
    while pending:
        formula = pending.pop()
        yield formula
        pending.extend(reversed(children(formula)))


def atoms(formula: Formula) -> Iterator[Atom]:
    """Return an iterator over all atoms of a formula, in text order."""
    return (node for node in subformulas(formula) if type(node) is Atom)


_OPERATORS: dict[type, str] = {Not: "not", And: "and", Or: "or", Implies: "implies", Iff: "iff"}


def to_text(node: Formula | Argument) -> str:
    """Return the text of a node on a single line. The text can be parsed back into an equal node."""
    match node:
        case Variable(name):
            return f"?{name}"
        case Value(text):
            quote = "'" if "'" not in text else '"'
            if quote in text or "\n" in text:
                raise FormalimgError(f"the value {text!r} cannot be written in a formula: it mixes quotes or lines")
            return f"{quote}{text}{quote}"
        case Atom(predicate, arguments):
            return f"({' '.join([predicate, *map(to_text, arguments)])})"
        case Exists(variable, body):
            return f"(exists ?{variable.name} {to_text(body)})"
        case Forall(variable, body):
            return f"(forall ?{variable.name} {to_text(body)})"
        case Count(bound, number, variable, body):
            return f"({bound} {number} ?{variable.name} {to_text(body)})"
        case _:
            return f"({' '.join([_OPERATORS[type(node)], *map(to_text, children(node))])})"


def to_pretty_text(formula: Formula, width: int = 88) -> str:
    """Return the text of a formula, indented over several lines where it exceeds `width`."""
    return _break_lines(formula, 0, width)


def _break_lines(formula: Formula, indent: int, width: int) -> str:
    flat = to_text(formula)
    if indent + len(flat) <= width or type(formula) is Atom:
        return flat
    match formula:
        case Exists(variable, _):
            head = f"exists ?{variable.name}"
        case Forall(variable, _):
            head = f"forall ?{variable.name}"
        case Count(bound, number, variable, _):
            head = f"{bound} {number} ?{variable.name}"
        case _:
            head = _OPERATORS[type(formula)]
    margin = " " * (indent + 2)
    parts = [f"\n{margin}{_break_lines(part, indent + 2, width)}" for part in children(formula)]
    return f"({head}{''.join(parts)})"
