"""What a formula asserts: the positive facts, apart for each situation that it speaks of.

Facts under `and` and `exists` hold. What stands under `not`, or is one side of an `or`, is not asserted. A condition
on a variable of a `forall` ("every fish is on the rock") opens a situation of its own, in which a thing as in the
antecedent is there and the consequent holds; the strict reading of `forall` says that there is such a thing.
An `or` of negations and one other part is a condition too: that is how the lifted form writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from formalimg.logic import And, Atom, Exists, Forall, Formula, Iff, Implies, Not, Or, Span, Value, Variable

Claim: TypeAlias = tuple[str, str, str]
"""A fact without its place: the predicate, the thing, and the word or the other thing."""


class Fact(NamedTuple):
    """An asserted atom of one or two arguments; the second is a word, or the name of a variable."""

    predicate: str
    thing: str
    other: str
    span: Span

    @property
    def claim(self) -> Claim:
        """The fact without its place."""
        return self[:3]

    def renamed(self, names: Mapping[str, str], relations: tuple[str, ...]) -> Fact:
        """The same fact of other variables."""
        other = names.get(self.other, self.other) if self.predicate in relations else self.other
        return Fact(self.predicate, names.get(self.thing, self.thing), other, self.span)


@dataclass
class Scope:
    """The facts of one situation, what holds there under conditions, and the variables that appear first in it."""

    facts: list[Fact] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    exact: bool = True
    """Nothing but facts was asserted: no part was left out."""


@dataclass(eq=False)
class Condition:
    """If the antecedent holds, so does the consequent; `universal` are the variables it holds for whatever they are."""

    universal: frozenset[str]
    antecedent: Scope
    consequent: Scope

    @property
    def opens_a_situation(self) -> bool:
        """Does it speak of things of a `forall`? Then there are such things, under the strict reading."""
        return not self.spoken.isdisjoint(self.universal)

    @cached_property
    def spoken(self) -> frozenset[str]:
        """The variables that the antecedent speaks of."""
        return frozenset(name for fact in self.antecedent.facts for name in (fact.thing, fact.other))

    @property
    def claims(self) -> frozenset[Claim]:
        """The facts of the antecedent, without their places."""
        return frozenset(fact.claim for fact in self.antecedent.facts)


def asserted(formula: Formula) -> Scope:
    """Everything that a formula asserts. Its variables must have been renamed apart."""
    scope = Scope()
    _collect(formula, True, scope, frozenset())
    return scope


def _collect(formula: Formula, positive: bool, scope: Scope, universal: frozenset[str]) -> None:
    match formula:
        case Atom() if positive:
            scope.facts.extend(_facts(formula))
        case Atom():
            scope.exact = False
        case Not(body):
            _collect(body, not positive, scope, universal)
        case Exists(variable, body) | Forall(variable, body):
            if isinstance(formula, Forall) == positive:
                universal = universal | {variable.name}
                scope.exact = False
            scope.variables.append(variable.name)
            _collect(body, positive, scope, universal)
        case And(parts) | Or(parts) if isinstance(formula, And) == positive or len(parts) == 1:
            for part in parts:
                _collect(part, positive, scope, universal)
        case And(parts) | Or(parts):
            _choose([(part, positive) for part in parts], scope, universal)
        case Implies(antecedent, consequent) if positive:
            _choose([(antecedent, False), (consequent, True)], scope, universal)
        case Implies(antecedent, consequent):
            _collect(antecedent, True, scope, universal)
            _collect(consequent, False, scope, universal)
        case Iff():
            scope.exact = False


def _choose(parts: list[tuple[Formula, bool]], scope: Scope, universal: frozenset[str]) -> None:
    """A disjunction: a condition if all of its parts but one are negated, otherwise it asserts nothing."""
    scope.exact = False
    negated: list[Formula] = []
    plain: list[Formula] = []
    for part, positive in parts:
        while isinstance(part, Not):
            part, positive = part.body, not positive
        (plain if positive else negated).append(part)
    if len(plain) != 1 or not negated:
        return
    antecedent, consequent = Scope(), Scope()
    for part in negated:
        _collect(part, True, antecedent, frozenset())
    _collect(plain[0], True, consequent, universal)
    condition = Condition(universal, antecedent, consequent)
    for known in scope.conditions:
        if known.claims == condition.claims and antecedent.exact and known.antecedent.exact:
            known.consequent.facts.extend(consequent.facts)  # the lifted form repeats the antecedent in every clause
            known.consequent.conditions.extend(consequent.conditions)
            known.consequent.variables.extend(consequent.variables)
            return
    scope.conditions.append(condition)


def _facts(atom: Atom) -> Iterator[Fact]:
    match atom.arguments:
        case (Variable(name), Variable(other)) | (Variable(name), Value(other)):
            yield Fact(atom.predicate, name, other, atom.span)
