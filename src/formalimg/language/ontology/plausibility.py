"""Check formulas for assertions that no plausible image would show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from formalimg.language.ontology.assertions import AssertedFact, Situation, situations
from formalimg.language.ontology.knowledge import RELATIONS, class_with_article, ontology
from formalimg.logic.errors import Problem
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.syntax import Formula
from formalimg.logic.variables import rename_apart
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES

MAX_SINGLE_HOLDER_CM = 19.0  # Objects that are usually no longer are held by one only: a key, but not a cake
_PHRASES = {
    "LeftOf": "to the left of",
    "RightOf": "to the right of",
    "On": "on",
    "In": "inside",
    "NextTo": "next to",
}


def find_implausible(formula: Formula | str) -> list[Problem]:
    """Return the assertions of a formula in the natural vocabulary that no normal or playful image would show.

    Only asserted facts are checked: negated facts, parts of an `or`, and objects without a stated class are not
    reported, nor are problems that `check` reports (unknown words, unbound variables).

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
    problems_by_span: dict[tuple[int, int, str], Problem] = {}
    for situation in situations(rename_apart(formula), ontology()):
        checker = _SituationChecker(situation, problems_by_span)
        checker.check_attributes()
        checker.check_relations()
        checker.check_placements()
    return [problems_by_span[key] for key in sorted(problems_by_span)]


class _Placement(NamedTuple):
    """The placement of an object relative to another: In, On, held, worn or LeftOf."""

    obj: str
    place: str
    kind: str
    fact: AssertedFact


class _SituationChecker:
    """Collects the problems of one situation; several situations share the problems, so that none is repeated."""

    def __init__(self, situation: Situation, problems: dict[tuple[int, int, str], Problem]) -> None:
        self.situation = situation
        self.ontology = situation.ontology
        self.classes = situation.classes
        self.name = situation.name
        self.problems = problems

    def report(self, message: str, *facts: AssertedFact) -> None:
        """Report a problem at the source span of the last of the given facts."""
        span = max((fact.span for fact in facts), key=lambda span: span.start)
        self.problems.setdefault((span.start, span.end, message), Problem("plausibility", message, span))

    # --- attributes

    def check_attributes(self) -> None:
        """Report objects with two classes, words that do not suit a class and words that exclude each other."""
        class_facts = {(fact.obj, fact.argument): fact for fact in self.situation.facts if fact.predicate == "Is"}
        for obj, classes in self.classes.items():
            for first, second in combinations(classes, 2):
                if not self.ontology.is_also(first, second) and not self.ontology.is_also(second, first):
                    message = f"one object cannot be {class_with_article(first)} and {class_with_article(second)}"
                    self.report(message, class_facts[obj, first], class_facts[obj, second])
        for obj, facts in self.situation.attributes.items():
            words = {fact: (ATTRIBUTE_PREDICATES[fact.predicate], fact.argument) for fact in facts}
            in_vocabulary = [fact for fact in facts if words[fact][1] in vocabulary("natural").words[words[fact][0]]]
            for fact in in_vocabulary:
                kind, word = words[fact]
                unsuited = [cls for cls in self.classes.get(obj, ()) if word not in self.ontology.words_for(cls, kind)]
                if unsuited:
                    self.report(f"{class_with_article(unsuited[0])} cannot be {word}", fact)
            for first_fact, second_fact in combinations(in_vocabulary, 2):
                if not self.ontology.agree(words[first_fact], words[second_fact]):
                    message = f"{self.name(obj)} cannot be {first_fact.argument} and {second_fact.argument} at once"
                    self.report(message, first_fact, second_fact)

    # --- relations

    def check_relations(self) -> None:
        """Report relations that are impossible between two classes, reflexive or incompatible with each other."""
        for fact in self.situation.facts:
            if fact.predicate in RELATIONS:
                self._check_relation(fact)
        self._check_pairs()
        self._check_states()
        first_holders: dict[str, AssertedFact] = {}
        for fact in self.situation.related("Holding"):
            first = first_holders.setdefault(fact.argument, fact)
            lengths = [self.ontology.entry(cls).size.length for cls in self.classes.get(fact.argument, ())]
            if first.obj != fact.obj and any(length <= MAX_SINGLE_HOLDER_CM for length in lengths):
                self.report(f"{self.name(fact.argument)} is too small to be held by two at once", first, fact)

    def _check_relation(self, fact: AssertedFact) -> None:
        if fact.obj == fact.argument:
            doing = "hold" if fact.predicate == "Holding" else f"be {_PHRASES[fact.predicate]}"
            self.report(f"{self.name(fact.obj)} cannot {doing} itself", fact)
            return
        for cls in self.classes.get(fact.obj, ()):
            for partner in self.classes.get(fact.argument, ()):
                reason = self.ontology.why_not(fact.predicate, cls, partner)
                if reason:
                    verb = "cannot hold" if fact.predicate == "Holding" else f"cannot be {_PHRASES[fact.predicate]}"
                    self.report(f"{self.name(fact.obj)} {verb} {self.name(fact.argument)}: {reason}", fact)
                    return

    def _describe(self, fact: AssertedFact) -> str:
        return f"{self.name(fact.obj)} that is {_PHRASES[fact.predicate]} {self.name(fact.argument)}"

    def _check_pairs(self) -> None:
        """Report incompatible relations of the same pair, such as an object both inside and beside another."""
        by_pair: dict[tuple[str, str], dict[str, AssertedFact]] = defaultdict(dict)
        for fact in self.situation.related("In", "On", "NextTo", "LeftOf", "RightOf"):
            by_pair[fact.obj, fact.argument][fact.predicate] = fact
        for (obj, place), facts in by_pair.items():
            beside = {**facts, **by_pair.get((place, obj), {})}
            for near, excluded in (("In", ("NextTo", "LeftOf", "RightOf")), ("On", ("NextTo",))):
                for predicate in excluded:
                    if near in facts and predicate in beside:
                        self.report(
                            f"{self._describe(facts[near])} cannot be beside it too", facts[near], beside[predicate]
                        )
            if "In" in facts and "On" in facts:
                insides = [self.ontology.entry(cls).inside for cls in self.classes.get(place, ())]
                if insides and not any(inside is not None and inside.shallow for inside in insides):
                    self.report(f"{self._describe(facts['In'])} cannot be on it too", facts["In"], facts["On"])

    def _check_states(self) -> None:
        """Report states that contradict relations, such as an empty object with contents."""
        states = {
            (obj, fact.argument): fact
            for obj, facts in self.situation.attributes.items()
            for fact in facts
            if fact.predicate == "HasState"
        }
        for fact in self.situation.related("In", "On"):
            empty = states.get((fact.argument, "empty"))
            insides = [self.ontology.entry(cls).inside for cls in self.classes.get(fact.argument, ())]
            is_flat = bool(insides) and all(inside is None or inside.shallow for inside in insides)  # a table, a plate
            if empty and (fact.predicate == "In" or is_flat):
                content = f"{self.name(fact.obj)} is {_PHRASES[fact.predicate]} it"
                self.report(f"{self.name(fact.argument)} cannot be empty while {content}", fact, empty)
            for state in sorted(self.ontology.clashes.afloat):
                moving = states.get((fact.obj, state))
                if moving and fact.predicate == "On":
                    self.report(f"{self._describe(fact)} cannot be {state}", fact, moving)

    # --- placements

    def check_placements(self) -> None:
        """Report cyclic placements, objects in two places and objects inside something smaller."""
        placements = list(self._placements())
        # Two may hold each other, and an object may hold what it is on, such as a bicycle.
        pairs = {(placement.obj, placement.place) for placement in placements if placement.kind in ("On", "held")}
        acyclic = [p for p in placements if p.kind != "held" or (p.place, p.obj) not in pairs]
        self._check_cycles(acyclic, "inside, on or held by")
        directions = []
        for fact in self.situation.related("LeftOf", "RightOf"):
            pair = (fact.obj, fact.argument) if fact.predicate == "LeftOf" else (fact.argument, fact.obj)
            directions.append(_Placement(*pair, "LeftOf", fact))
        self._check_cycles(directions, "to the left of")
        self._check_two_places(placements)
        self._check_nested(placements)

    def _placements(self) -> Iterable[_Placement]:
        for fact in self.situation.related("In", "On", "Holding"):
            obj, place = fact.obj, fact.argument
            if fact.predicate == "Holding":
                yield _Placement(place, obj, "held", fact)
            elif fact.predicate == "On":
                yield _Placement(obj, place, "worn" if self.situation.worn(obj, place) else "On", fact)
            elif self.situation.worn(place, obj):
                yield _Placement(place, obj, "worn", fact)  # a woman in a jacket wears it
            else:
                yield _Placement(obj, place, "In", fact)

    def _check_cycles(self, placements: list[_Placement], phrase: str) -> None:
        """Report each cycle of placements at the fact that closes it."""
        while True:  # drop what leads to a final place, so that only cycles and what leads into them remain
            objects = {placement.obj for placement in placements}
            inner = [placement for placement in placements if placement.place in objects]
            if len(inner) == len(placements):
                break
            placements = inner
        places = _places_of(placements)
        reported: set[str] = set()
        for placement in sorted(placements, key=lambda placement: placement.fact.span.start, reverse=True):
            reachable = _reachable(placement.place, places)
            if placement.obj in reported or placement.obj not in reachable:
                continue
            ring = {obj for obj in reachable if placement.obj in _reachable(obj, places)}
            closing = [step.fact for step in placements if step.obj in ring and step.place in ring]
            name = self.name(placement.obj)
            self.report(f"{name} would be {phrase} itself, by way of {self.name(placement.place)}", *closing)
            reported |= ring

    def _check_two_places(self, placements: list[_Placement]) -> None:
        """Report objects that are in or on two places, neither of which can contain the other."""
        places = _places_of(placements)
        by_object: dict[str, list[_Placement]] = defaultdict(list)
        for placement in placements:
            if placement.kind != "held":
                by_object[placement.obj].append(placement)
        for obj, own_placements in by_object.items():
            for first, second in combinations(own_placements, 2):
                if first.place != second.place and not self._are_compatible(first, second, places):
                    phrases = [f"{_PHRASES.get(p.kind, 'on')} {self.name(p.place)}" for p in (first, second)]
                    message = f"{self.name(obj)} cannot be {phrases[0]} and {phrases[1]} at once"
                    self.report(message, first.fact, second.fact)

    def _are_compatible(self, first: _Placement, second: _Placement, places: Mapping[str, list[str]]) -> bool:
        kinds = {first.kind, second.kind}
        if "worn" in kinds:
            return kinds != {"worn"}
        if second.place in _reachable(first.place, places) or first.place in _reachable(second.place, places):
            return True
        first_classes, second_classes = self.classes.get(first.place, ()), self.classes.get(second.place, ())
        if not first_classes or not second_classes:
            return True
        if first_classes == second_classes:
            return kinds != {"In"}  # a cat can lie across two chairs, and not in two baskets
        can = self.ontology.can
        return any(can(k, a, b) or can(k, b, a) for a in first_classes for b in second_classes for k in ("In", "On"))

    def _check_nested(self, placements: list[_Placement]) -> None:
        """Report objects that are indirectly inside another object but too big for it."""
        placements = [placement for placement in placements if placement.kind in ("In", "On")]
        places = _places_of(placements)
        containers = {placement.place for placement in placements if placement.kind == "In"}
        facts = {placement.obj: placement.fact for placement in placements}
        for obj, direct in places.items():
            for place in list(_reachable(obj, places))[1:]:
                if place in direct or place == obj or place not in containers:
                    continue
                pairs = [(a, b) for a in self.classes.get(obj, ()) for b in self.classes.get(place, ())]
                if any(self.ontology.entry(b).inside is not None and not self.ontology.fits(a, b) for a, b in pairs):
                    name = self.name(obj)
                    detour = f"{name} cannot be inside {self.name(place)}, by way of {self.name(direct[0])}"
                    self.report(f"{detour}: {name} would be too big", facts[obj])


def _places_of(placements: Iterable[_Placement]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for placement in placements:
        places[placement.obj].append(placement.place)
    return places


def _reachable(start: str, places: Mapping[str, list[str]]) -> dict[str, None]:
    """Return the objects reachable from a start object, including itself, nearest first."""
    reachable = {start: None}
    pending = [start]
    for obj in pending:
        for place in places.get(obj, ()):
            if place not in reachable:
                reachable[place] = None
                pending.append(place)
    return reachable
