"""The situations of a formula: what holds where it speaks of each of its conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from formalimg.logic import Formula
from formalimg.scenes import ATTRIBUTE_PREDICATES
from formalimg.suites.ontology.facts import Claim, Condition, Fact, Scope, asserted
from formalimg.suites.ontology.knowledge import RELATIONS, Ontology
from formalimg.suites.ontology.wording import named

_APART = " "
"""Stands between the variable of a thing that a condition brings in and the thing it is brought in for."""

_MOST_ROUNDS = 20
"""How often conditions are applied to what other conditions gave; formulas people write need two rounds."""


@dataclass(frozen=True)
class Situation:
    """Facts that hold together."""

    facts: tuple[Fact, ...]
    ontology: Ontology

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The classes of each variable that is said to be something."""
        found: dict[str, list[str]] = defaultdict(list)
        for fact in self.facts:
            if fact.predicate == "Is" and fact.other in self.ontology.entries and fact.other not in found[fact.thing]:
                found[fact.thing].append(fact.other)
        return {thing: tuple(classes) for thing, classes in found.items() if classes}

    @cached_property
    def attributes(self) -> dict[str, list[Fact]]:
        """What is said of each variable by attributes."""
        found: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            if fact.predicate in ATTRIBUTE_PREDICATES:
                found[fact.thing].append(fact)
        return dict(found)

    def related(self, *predicates: str) -> list[Fact]:
        """The facts of some of the relations between two different things."""
        return [fact for fact in self.facts if fact.predicate in predicates and fact.thing != fact.other]

    def worn(self, garment: str, wearer: str) -> bool:
        """Are two variables a garment and somebody who can wear it?"""
        return any(
            self.ontology.wears(cls, other)
            for cls in self.classes.get(wearer, ())
            for other in self.classes.get(garment, ())
        )

    def name(self, variable: str) -> str:
        """A variable in words: "a cat", or "?c" where its class is not said."""
        classes = self.classes.get(variable)
        return named(classes[0]) if classes else f"?{variable.split(_APART)[0]}"


def situations(formula: Formula, ontology: Ontology) -> Iterator[Situation]:
    """Every situation that a formula speaks of: that of its plain facts, and one for each condition."""
    scope = asserted(formula)
    yield from _situations(scope, scope.facts, {}, (), ontology)


def _situations(
    scope: Scope, added: list[Fact], known: Mapping[Claim, Fact], rules: tuple[Condition, ...], ontology: Ontology
) -> Iterator[Situation]:
    """The situation where facts are added to those known, and all the situations within it."""
    facts = _closed(known, added, rules, tuple(scope.conditions), ontology)
    yield Situation(tuple(sorted(facts.values(), key=lambda fact: fact.span.start)), ontology)
    rules = (*rules, *scope.conditions)
    for condition in scope.conditions:
        if condition.opens_a_situation:
            more = [*condition.antecedent.facts, *condition.consequent.facts]
            yield from _situations(condition.consequent, more, facts, rules, ontology)


def _closed(
    settled: Mapping[Claim, Fact],
    added: list[Fact],
    rules: tuple[Condition, ...],
    fresh: tuple[Condition, ...],
    ontology: Ontology,
) -> dict[Claim, Fact]:
    """All facts, and what the conditions say of the things in them: "every cat sleeps" speaks of this cat too.

    The old rules have been applied to what is settled, so only things with new facts are asked again.
    """
    known = dict(settled)
    for fact in added:
        known.setdefault(fact.claim, fact)
    everything = _things(known.values())
    touched = _things(added)
    for turn in range(_MOST_ROUNDS):
        held = _with_broader(known, ontology)
        told = [
            fact.renamed(names, RELATIONS)
            for condition in (*rules, *fresh)
            for names in _applications(condition, everything if condition in fresh and not turn else touched, held)
            for fact in condition.consequent.facts
        ]
        news = [fact for fact in told if fact.claim not in known]
        if not news:
            break
        for fact in news:
            known.setdefault(fact.claim, fact)
        touched = _things(news)
    return known


def _things(facts: Iterable[Fact]) -> list[str]:
    """The variables of facts, less the things that conditions bring in: those would bring in others without end."""
    names = dict.fromkeys(
        name for fact in facts for name in ((fact.thing, fact.other) if fact.predicate in RELATIONS else (fact.thing,))
    )
    return [name for name in names if _APART not in name]


def _with_broader(known: Iterable[Claim], ontology: Ontology) -> set[Claim]:
    held = set(known)
    for predicate, thing, cls in tuple(held):
        if predicate == "Is" and cls in ontology.entries:
            held.update(("Is", thing, broader) for broader in ontology.entry(cls).broader)
    return held


def _applications(condition: Condition, things: Iterable[str], held: set[Claim]) -> Iterator[dict[str, str]]:
    """The ways to read a condition's variables as things whose facts meet its antecedent.

    Conditions on one variable of a `forall` (or none) are read; those on several together are left alone.
    """
    antecedent = condition.antecedent.facts
    universal = sorted(condition.spoken & condition.universal)
    if not condition.antecedent.exact or not antecedent or len(universal) > 1:
        return
    for thing in things if universal else ("",):
        names = dict.fromkeys(universal, thing)
        if all(fact.renamed(names, RELATIONS).claim in held for fact in antecedent):
            if universal not in ([], [thing]):  # what a consequent brings in is another thing for each application
                names |= {variable: f"{variable}{_APART}{thing}" for variable in condition.consequent.variables}
            yield names
