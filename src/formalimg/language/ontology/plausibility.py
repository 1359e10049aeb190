"""Check formulas for assertions that no plausible image would show."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

from formalimg.language.ontology.assertions import PHRASES, AssertedFact, PlausibilityReport, Situation, situations
from formalimg.language.ontology.entries import class_with_article
from formalimg.language.ontology.knowledge import RELATIONS, ontology
from formalimg.language.ontology.placement import place_problems
from formalimg.logic.errors import Problem
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.syntax import Formula
from formalimg.logic.variables import rename_apart
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES

MAX_SINGLE_HOLDER_CM = 19.0
"""Objects that are usually no longer than this (cm) are held by one only: a key, but not a cake."""


def attribute_problems(situation: Situation, report: PlausibilityReport) -> None:
    """Report objects with two classes, words that do not suit a class and words that exclude each other."""
    _two_classes(situation, report)
    for obj, described in situation.attributes.items():
        for fact in described:
            _unsuitable(situation, fact, report)
        for one, other in combinations(described, 2):
            _clashing(situation, obj, one, other, report)


def _two_classes(situation: Situation, report: PlausibilityReport) -> None:
    facts = {(fact.obj, fact.other): fact for fact in situation.facts if fact.predicate == "Is"}
    also = situation.ontology.is_also
    for obj, classes in situation.classes.items():
        for one, other in combinations(classes, 2):
            if not also(one, other) and not also(other, one):
                message = f"one object cannot be {class_with_article(one)} and {class_with_article(other)}"
                report.add(message, facts[obj, one], facts[obj, other])


def _unsuitable(situation: Situation, fact: AssertedFact, report: PlausibilityReport) -> None:
    kind = ATTRIBUTE_PREDICATES[fact.predicate]
    if not _known(kind, fact.other):
        return
    for cls in situation.classes.get(fact.obj, ()):
        if fact.other not in situation.ontology.words_for(cls, kind):
            report.add(f"{class_with_article(cls)} cannot be {fact.other}", fact)
            return


def _clashing(
    situation: Situation, obj: str, one: AssertedFact, other: AssertedFact, report: PlausibilityReport
) -> None:
    words = [(ATTRIBUTE_PREDICATES[fact.predicate], fact.other) for fact in (one, other)]
    if all(_known(*word) for word in words) and not situation.ontology.agree(*words):
        message = f"{situation.name(obj)} cannot be {one.other} and {other.other} at once"
        report.add(message, one, other)


def _known(kind: str, word: str) -> bool:
    return word in vocabulary("natural").words[kind]


def relation_problems(situation: Situation, report: PlausibilityReport) -> None:
    """Report relations that are impossible between two classes, reflexive or incompatible with each other."""
    for fact in situation.facts:
        if fact.predicate in RELATIONS:
            _impossible(situation, fact, report)
    _together(situation, report)
    _states(situation, report)
    _holders(situation, report)


def describe_relation(situation: Situation, fact: AssertedFact, never: bool = True) -> str:
    """Describe a relation in English, for example "a key cannot be inside an apple"."""
    first, second = situation.name(fact.obj), situation.name(fact.other)
    if fact.predicate == "Holding":
        return f"{first} {'cannot hold' if never else 'holding'} {second}"
    return f"{first} {'cannot be' if never else 'that is'} {PHRASES[fact.predicate]} {second}"


def _impossible(situation: Situation, fact: AssertedFact, report: PlausibilityReport) -> None:
    if fact.obj == fact.other:
        doing = "hold" if fact.predicate == "Holding" else f"be {PHRASES[fact.predicate]}"
        report.add(f"{situation.name(fact.obj)} cannot {doing} itself", fact)
        return
    for cls in situation.classes.get(fact.obj, ()):
        for other in situation.classes.get(fact.other, ()):
            reason = situation.ontology.why_not(fact.predicate, cls, other)
            if reason:
                report.add(f"{describe_relation(situation, fact)}: {reason}", fact)
                return


def _together(situation: Situation, report: PlausibilityReport) -> None:
    """Report incompatible relations of the same pair, such as an object both inside and beside another."""
    by_pair: dict[tuple[str, str], dict[str, AssertedFact]] = defaultdict(dict)
    for fact in situation.related("In", "On", "NextTo", "LeftOf", "RightOf"):
        by_pair[fact.obj, fact.other][fact.predicate] = fact
    for (obj, place), facts in by_pair.items():
        beside = {**facts, **by_pair.get((place, obj), {})}
        for near, barred in (("In", ("NextTo", "LeftOf", "RightOf")), ("On", ("NextTo",))):
            for predicate in barred:
                if near in facts and predicate in beside:
                    message = f"{describe_relation(situation, facts[near], never=False)} cannot be beside it too"
                    report.add(message, facts[near], beside[predicate])
        if "In" in facts and "On" in facts and not _shallow(situation, place):
            message = f"{describe_relation(situation, facts['In'], never=False)} cannot be on it too"
            report.add(message, facts["In"], facts["On"])


def _shallow(situation: Situation, place: str) -> bool:
    insides = [situation.ontology.entry(cls).inside for cls in situation.classes.get(place, ())]
    return not insides or any(inside is not None and inside.shallow for inside in insides)


def _states(situation: Situation, report: PlausibilityReport) -> None:
    """Report states that contradict relations, such as an empty object with contents."""
    states: dict[tuple[str, str], AssertedFact] = {
        (obj, fact.other): fact
        for obj, facts in situation.attributes.items()
        for fact in facts
        if fact.predicate == "HasState"
    }
    for fact in situation.related("In", "On"):
        empty = states.get((fact.other, "empty"))
        filled = fact.predicate == "In" or _only_top(situation, fact.other)
        if empty and filled:
            content = f"{situation.name(fact.obj)} is {PHRASES[fact.predicate]} it"
            report.add(f"{situation.name(fact.other)} cannot be empty while {content}", fact, empty)
        for state in sorted(situation.ontology.clashes.afloat):
            moving = states.get((fact.obj, state))
            if moving and fact.predicate == "On":
                report.add(f"{describe_relation(situation, fact, never=False)} cannot be {state}", fact, moving)


def _only_top(situation: Situation, place: str) -> bool:
    """Return whether a place has no deep interior, such as a table or a plate."""
    insides = [situation.ontology.entry(cls).inside for cls in situation.classes.get(place, ())]
    return bool(insides) and all(inside is None or inside.shallow for inside in insides)


def _holders(situation: Situation, report: PlausibilityReport) -> None:
    """Report small objects with more than one holder."""
    held: dict[str, AssertedFact] = {}
    for fact in situation.related("Holding"):
        first = held.setdefault(fact.other, fact)
        classes = situation.classes.get(fact.other, ())
        if first.obj != fact.obj and any(
            situation.ontology.entry(c).size.length <= MAX_SINGLE_HOLDER_CM for c in classes
        ):
            message = f"{situation.name(fact.other)} is too small to be held by two at once"
            report.add(message, first, fact)


def find_implausible(formula: Formula | str) -> list[Problem]:
    """Return the assertions of a formula in the natural vocabulary that no normal or playful image would show.

    Only asserted facts count: what is negated, or one side of an `or`, is not reported, nor is an object whose class
    is not said. What `check` reports (unknown words, unbound variables) is left to `check`.

    Args:
        formula: a parsed formula, or text (then problems of syntax are reported).
    """
    if isinstance(formula, str):
        parsed, problems = try_parse(formula)
        if parsed is None:
            return problems
        formula = parsed
    elif not formula.span.source.text:
        formula = parse(str(formula))  # built by code: give every node a place
    report = PlausibilityReport()
    for situation in situations(rename_apart(formula), ontology()):
        attribute_problems(situation, report)
        relation_problems(situation, report)
        place_problems(situation, report)
    return report.problems()
