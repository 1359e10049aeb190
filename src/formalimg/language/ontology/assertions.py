"""Extract the facts that a formula asserts, grouped into situations.

Facts under `and` and `exists` are asserted; facts under `not` or in one part of an `or` are not. An implication about a
`forall` variable ("every fish is on the rock") opens a situation of its own, in which an object meets the antecedent
and the consequent holds; under the strict reading of `forall`, such an object must exist. An `or` of negations and one
other part is an implication, too: the lifted form writes implications this way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from formalimg.language.ontology.knowledge import RELATIONS, Ontology, class_with_article
from formalimg.logic.errors import Span
from formalimg.logic.syntax import And, Atom, Count, Exists, Forall, Formula, Iff, Implies, Not, Or, Value, Variable
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES

Claim: TypeAlias = tuple[str, str, str]
"""A fact without its place: the predicate, the object, and the word or the other object."""

_APART = " "  # Stands between the variable of an object that a condition brings in and the object it is brought in for
_MAX_ROUNDS = 20  # of applying conditions to what other conditions gave; formulas people write need two


class AssertedFact(NamedTuple):
    """An asserted atom with one object and a second argument, which is a word or another object."""

    predicate: str
    obj: str
    argument: str
    span: Span

    @property
    def claim(self) -> Claim:
        """The fact without its source span."""
        return self[:3]

    def renamed(self, names: Mapping[str, str]) -> AssertedFact:
        """Return the fact with variables renamed."""
        argument = names.get(self.argument, self.argument) if self.predicate in RELATIONS else self.argument
        return AssertedFact(self.predicate, names.get(self.obj, self.obj), argument, self.span)


@dataclass
class AssertionScope:
    """The facts, conditionals and new variables of one situation."""

    facts: list[AssertedFact] = field(default_factory=list)
    conditions: list[Conditional] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    exact: bool = True  # whether nothing but facts was asserted


@dataclass(eq=False)
class Conditional:
    """An implication that holds for all values of the `universal` variables."""

    universal: frozenset[str]
    antecedent: AssertionScope
    consequent: AssertionScope

    @property
    def opens_situation(self) -> bool:
        """Whether the conditional mentions `forall` variables, which have instances under strict semantics."""
        return not self.spoken.isdisjoint(self.universal)

    @cached_property
    def spoken(self) -> frozenset[str]:
        """The variables of the antecedent."""
        return frozenset(name for fact in self.antecedent.facts for name in (fact.obj, fact.argument))

    @property
    def claims(self) -> frozenset[Claim]:
        """The facts of the antecedent, without source spans."""
        return frozenset(fact.claim for fact in self.antecedent.facts)


def _collect(formula: Formula, positive: bool, scope: AssertionScope, universal: frozenset[str]) -> None:
    match formula:
        case Atom() if positive:
            match formula.arguments:
                case (Variable(name), Variable(argument)) | (Variable(name), Value(argument)):
                    scope.facts.append(AssertedFact(formula.predicate, name, argument, formula.span))
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
        case Count(_, _, variable, body) if positive and formula.range[0] > 0:  # some of them are there
            scope.exact = False
            scope.variables.append(variable.name)
            _collect(body, True, scope, universal)
        case Iff() | Count():
            scope.exact = False


def _choose(parts: list[tuple[Formula, bool]], scope: AssertionScope, universal: frozenset[str]) -> None:
    """Add a disjunction as a conditional if exactly one of its parts is positive, and otherwise ignore it."""
    scope.exact = False
    negated: list[Formula] = []
    plain: list[Formula] = []
    for part, positive in parts:
        while isinstance(part, Not):
            part, positive = part.body, not positive
        (plain if positive else negated).append(part)
    if len(plain) != 1 or not negated:
        return
    antecedent, consequent = AssertionScope(), AssertionScope()
    for part in negated:
        _collect(part, True, antecedent, frozenset())
    _collect(plain[0], True, consequent, universal)
    condition = Conditional(universal, antecedent, consequent)
    for earlier in scope.conditions:
        if earlier.claims == condition.claims and antecedent.exact and earlier.antecedent.exact:
            earlier.consequent.facts.extend(consequent.facts)  # the lifted form repeats the antecedent in every clause
            earlier.consequent.conditions.extend(consequent.conditions)
            earlier.consequent.variables.extend(consequent.variables)
            return
    scope.conditions.append(condition)


@dataclass(frozen=True)
class Situation:
    """A set of facts that hold together."""

    facts: tuple[AssertedFact, ...]
    ontology: Ontology

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The asserted classes of each variable."""
        classes: dict[str, dict[str, None]] = defaultdict(dict)
        for fact in self.facts:
            if fact.predicate == "Is" and fact.argument in self.ontology.entries:
                classes[fact.obj][fact.argument] = None
        return {obj: tuple(names) for obj, names in classes.items()}

    @cached_property
    def attributes(self) -> dict[str, list[AssertedFact]]:
        """The asserted attributes of each variable."""
        attributes: dict[str, list[AssertedFact]] = defaultdict(list)
        for fact in self.facts:
            if fact.predicate in ATTRIBUTE_PREDICATES:
                attributes[fact.obj].append(fact)
        return dict(attributes)

    def related(self, *predicates: str) -> list[AssertedFact]:
        """Return the facts for the given relations between two different objects."""
        return [fact for fact in self.facts if fact.predicate in predicates and fact.obj != fact.argument]

    def worn(self, garment: str, wearer: str) -> bool:
        """Return whether one variable is a garment that the other can wear."""
        return any(
            self.ontology.wears(wearer_class, garment_class)
            for wearer_class in self.classes.get(wearer, ())
            for garment_class in self.classes.get(garment, ())
        )

    def name(self, variable: str) -> str:
        """Describe a variable for messages, such as "a cat", or "?c" if its class is unknown."""
        classes = self.classes.get(variable)
        return class_with_article(classes[0]) if classes else f"?{variable.split(_APART)[0]}"


def situations(formula: Formula, ontology: Ontology) -> Iterator[Situation]:
    """Yield all situations of a formula: one for the unconditional facts and one for each conditional."""
    scope = AssertionScope()
    _collect(formula, True, scope, frozenset())
    yield from _situations(scope, scope.facts, {}, (), ontology)


def _situations(
    scope: AssertionScope,
    added: list[AssertedFact],
    outer_facts: Mapping[Claim, AssertedFact],
    rules: tuple[Conditional, ...],
    ontology: Ontology,
) -> Iterator[Situation]:
    """Yield the situation created by adding facts to those around it, and all nested situations."""
    facts = _closure(outer_facts, added, rules, tuple(scope.conditions), ontology)
    yield Situation(tuple(sorted(facts.values(), key=lambda fact: fact.span.start)), ontology)
    rules = (*rules, *scope.conditions)
    for condition in scope.conditions:
        if condition.opens_situation:
            more = [*condition.antecedent.facts, *condition.consequent.facts]
            yield from _situations(condition.consequent, more, facts, rules, ontology)


def _closure(
    settled: Mapping[Claim, AssertedFact],
    added: list[AssertedFact],
    rules: tuple[Conditional, ...],
    new_rules: tuple[Conditional, ...],
    ontology: Ontology,
) -> dict[Claim, AssertedFact]:
    """Return the closure of all facts under the conditionals.

    Existing rules have already been applied to the settled facts, so only objects with new facts are considered again.
    """
    facts = dict(settled)
    for fact in added:
        facts.setdefault(fact.claim, fact)
    all_objects = _objects(facts.values())
    touched = _objects(added)
    for round_number in range(_MAX_ROUNDS):
        claims = set(facts)
        for predicate, obj, cls in facts:
            if predicate == "Is" and cls in ontology.entries:
                claims.update(("Is", obj, broader) for broader in ontology.entry(cls).broader)
        derived = [
            fact.renamed(names)
            for rule in (*rules, *new_rules)
            for names in _applications(rule, touched if round_number or rule not in new_rules else all_objects, claims)
            for fact in rule.consequent.facts
        ]
        news = [fact for fact in derived if fact.claim not in facts]
        if not news:
            break
        for fact in news:
            facts.setdefault(fact.claim, fact)
        touched = _objects(news)
    return facts


def _objects(facts: Iterable[AssertedFact]) -> list[str]:
    """Return the variables of the facts, excluding those created by applying conditionals."""
    names = dict.fromkeys(
        name for fact in facts for name in ((fact.obj, fact.argument) if fact.predicate in RELATIONS else (fact.obj,))
    )
    return [name for name in names if _APART not in name]


def _applications(rule: Conditional, objects: Iterable[str], claims: set[Claim]) -> Iterator[dict[str, str]]:
    """Yield the substitutions under which the antecedent of a conditional is satisfied.

    Only conditions with at most one `forall` variable are applied.
    """
    antecedent = rule.antecedent.facts
    universal = sorted(rule.spoken & rule.universal)
    if not rule.antecedent.exact or not antecedent or len(universal) > 1:
        return
    for obj in objects if universal else ("",):
        names = dict.fromkeys(universal, obj)
        if all(fact.renamed(names).claim in claims for fact in antecedent):
            if universal not in ([], [obj]):  # what a consequent brings in is another object for each application
                names |= {variable: f"{variable}{_APART}{obj}" for variable in rule.consequent.variables}
            yield names
