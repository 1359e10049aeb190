"""What one thing is said to be: its class, and the words that describe it."""

from __future__ import annotations

from itertools import combinations

from formalimg.logic import vocabulary
from formalimg.scenes import ATTRIBUTE_PREDICATES
from formalimg.suites.ontology.facts import Fact
from formalimg.suites.ontology.report import Report
from formalimg.suites.ontology.situations import Situation
from formalimg.suites.ontology.wording import named


def attribute_problems(situation: Situation, report: Report) -> None:
    """Report things of two classes, words that do not suit a class, and words that exclude each other."""
    _two_classes(situation, report)
    for thing, described in situation.attributes.items():
        for fact in described:
            _unsuitable(situation, fact, report)
        for one, other in combinations(described, 2):
            _clashing(situation, thing, one, other, report)


def _two_classes(situation: Situation, report: Report) -> None:
    facts = {(fact.thing, fact.other): fact for fact in situation.facts if fact.predicate == "Is"}
    also = situation.ontology.is_also
    for thing, classes in situation.classes.items():
        for one, other in combinations(classes, 2):
            if not also(one, other) and not also(other, one):
                message = f"one thing cannot be {named(one)} and {named(other)}"
                report.add(message, facts[thing, one], facts[thing, other])


def _unsuitable(situation: Situation, fact: Fact, report: Report) -> None:
    kind = ATTRIBUTE_PREDICATES[fact.predicate]
    if not _known(kind, fact.other):
        return
    for cls in situation.classes.get(fact.thing, ()):
        if fact.other not in situation.ontology.words_for(cls, kind):
            report.add(f"{named(cls)} cannot be {fact.other}", fact)
            return


def _clashing(situation: Situation, thing: str, one: Fact, other: Fact, report: Report) -> None:
    words = [(ATTRIBUTE_PREDICATES[fact.predicate], fact.other) for fact in (one, other)]
    if all(_known(*word) for word in words) and not situation.ontology.agree(*words):
        message = f"{situation.name(thing)} cannot be {one.other} and {other.other} at once"
        report.add(message, one, other)


def _known(kind: str, word: str) -> bool:
    return word in vocabulary("natural").words[kind]
