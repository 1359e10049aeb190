"""Check the plausibility of places: no containment cycles and no object in two places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from formalimg.language.ontology.assertions import PHRASES, AssertedFact, PlausibilityReport, Situation


class PlacementStep(NamedTuple):
    """The placement of an object relative to another: in, on, held by, worn by or to the left of it."""

    obj: str
    place: str
    way: str
    fact: AssertedFact


def place_problems(situation: Situation, report: PlausibilityReport) -> None:
    """Report cyclic placements, objects in two places and objects inside something smaller."""
    steps = _steps(situation)
    _cycles(situation, _without_embraces(steps), "inside, on or held by", report)
    _cycles(situation, _directions(situation), "to the left of", report)
    _two_places(situation, steps, report)
    _nested(situation, steps, report)


def _steps(situation: Situation) -> list[PlacementStep]:
    steps = []
    for fact in situation.related("In", "On", "Holding"):
        if fact.predicate == "Holding":
            steps.append(PlacementStep(fact.other, fact.obj, "held", fact))
        elif fact.predicate == "On":
            way = "worn" if situation.worn(fact.obj, fact.other) else "On"
            steps.append(PlacementStep(fact.obj, fact.other, way, fact))
        elif situation.worn(fact.other, fact.obj):
            steps.append(PlacementStep(fact.other, fact.obj, "worn", fact))  # a woman in a jacket wears it
        else:
            steps.append(PlacementStep(fact.obj, fact.other, "In", fact))
    return steps


def _without_embraces(steps: list[PlacementStep]) -> list[PlacementStep]:
    """Drop placements where two objects hold each other, or an object holds what it is on, such as a bicycle."""
    others = {(step.obj, step.place) for step in steps if step.way in ("On", "held")}
    return [step for step in steps if step.way != "held" or (step.place, step.obj) not in others]


def _directions(situation: Situation) -> list[PlacementStep]:
    return [
        PlacementStep(fact.obj, fact.other, "LeftOf", fact)
        if fact.predicate == "LeftOf"
        else PlacementStep(fact.other, fact.obj, "LeftOf", fact)
        for fact in situation.related("LeftOf", "RightOf")
    ]


def _cycles(situation: Situation, steps: list[PlacementStep], where: str, report: PlausibilityReport) -> None:
    """Report each cycle of placements at the fact that closes it."""
    steps = _still_open(steps)
    onward = _onward(steps)
    reported: set[str] = set()
    for step in sorted(steps, key=lambda step: step.fact.span.start, reverse=True):
        around = _reached(step.place, onward)
        if step.obj in reported or step.obj not in around:
            continue
        ring = {obj for obj in around if step.obj in _reached(obj, onward)}
        closing = [other.fact for other in steps if other.obj in ring and other.place in ring]
        message = f"{situation.name(step.obj)} would be {where} itself, by way of {situation.name(step.place)}"
        report.add(message, *closing)
        reported |= ring


def _still_open(steps: list[PlacementStep]) -> list[PlacementStep]:
    """Repeatedly remove the steps that lead to a final place, so that only cycles and the steps into them remain."""
    while True:
        objects = {step.obj for step in steps}
        left = [step for step in steps if step.place in objects]
        if len(left) == len(steps):
            return steps
        steps = left


def _onward(steps: Iterable[PlacementStep]) -> dict[str, list[str]]:
    onward: dict[str, list[str]] = defaultdict(list)
    for step in steps:
        onward[step.obj].append(step.place)
    return onward


def _reached(start: str, onward: Mapping[str, list[str]]) -> dict[str, None]:
    """Return the objects reachable from a start object, including itself, nearest first."""
    reached = {start: None}
    pending = [start]
    for obj in pending:
        for place in onward.get(obj, ()):
            if place not in reached:
                reached[place] = None
                pending.append(place)
    return reached


def _two_places(situation: Situation, steps: list[PlacementStep], report: PlausibilityReport) -> None:
    """Report objects that are in or on two places, neither of which can contain the other."""
    onward = _onward(steps)
    homes: dict[str, list[PlacementStep]] = defaultdict(list)
    for step in steps:
        if step.way != "held":
            homes[step.obj].append(step)
    for obj, found in homes.items():
        for one, other in combinations(found, 2):
            if one.place != other.place and not _compatible(situation, one, other, onward):
                ways = [f"{PHRASES.get(step.way, 'on')} {situation.name(step.place)}" for step in (one, other)]
                message = f"{situation.name(obj)} cannot be {ways[0]} and {ways[1]} at once"
                report.add(message, one.fact, other.fact)


def _compatible(
    situation: Situation, one: PlacementStep, other: PlacementStep, onward: Mapping[str, list[str]]
) -> bool:
    ways = {one.way, other.way}
    if "worn" in ways:
        return ways != {"worn"}
    if other.place in _reached(one.place, onward) or one.place in _reached(other.place, onward):
        return True
    first, second = situation.classes.get(one.place, ()), situation.classes.get(other.place, ())
    if not first or not second:
        return True
    if first == second:
        return ways != {"In"}  # a cat can lie across two chairs, and not in two baskets
    can = situation.ontology.can
    return any(can(way, a, b) or can(way, b, a) for a in first for b in second for way in ("In", "On"))


def _nested(situation: Situation, steps: list[PlacementStep], report: PlausibilityReport) -> None:
    """Report objects that are indirectly inside another object but too big for it."""
    carried = [step for step in steps if step.way in ("In", "On")]
    onward = _onward(carried)
    containers = {step.place for step in carried if step.way == "In"}
    facts = {step.obj: step.fact for step in carried}
    for obj, direct in onward.items():
        for place in list(_reached(obj, onward))[1:]:
            if place in direct or place == obj or place not in containers:
                continue
            if not all(_fits(situation, a, b) for a in _of(situation, obj) for b in _of(situation, place)):
                message = (
                    f"{situation.name(obj)} cannot be inside {situation.name(place)}, "
                    f"by way of {situation.name(direct[0])}: {situation.name(obj)} would be too big"
                )
                report.add(message, facts[obj])


def _of(situation: Situation, obj: str) -> tuple[str, ...]:
    return situation.classes.get(obj, ())


def _fits(situation: Situation, cls: str, place: str) -> bool:
    return situation.ontology.entry(place).inside is None or situation.ontology.fits(cls, place)
