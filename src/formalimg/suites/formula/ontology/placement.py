"""Where things are: chains of being in, on and held must end somewhere, and a thing is in one place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from formalimg.suites.formula.ontology.assertions import PHRASES, Fact, Report, Situation


class Step(NamedTuple):
    """One thing is at another: in it, on it, held or worn by it, or to the left of it."""

    thing: str
    place: str
    way: str
    fact: Fact


def place_problems(situation: Situation, report: Report) -> None:
    """Report cycles of places and of directions, things in two places, and things inside something smaller."""
    steps = _steps(situation)
    _cycles(situation, _without_embraces(steps), "inside, on or held by", report)
    _cycles(situation, _directions(situation), "to the left of", report)
    _two_places(situation, steps, report)
    _nested(situation, steps, report)


def _steps(situation: Situation) -> list[Step]:
    steps = []
    for fact in situation.related("In", "On", "Holding"):
        if fact.predicate == "Holding":
            steps.append(Step(fact.other, fact.thing, "held", fact))
        elif fact.predicate == "On":
            way = "worn" if situation.worn(fact.thing, fact.other) else "On"
            steps.append(Step(fact.thing, fact.other, way, fact))
        elif situation.worn(fact.other, fact.thing):
            steps.append(Step(fact.other, fact.thing, "worn", fact))  # a woman in a jacket wears it
        else:
            steps.append(Step(fact.thing, fact.other, "In", fact))
    return steps


def _without_embraces(steps: list[Step]) -> list[Step]:
    """Without two that hold each other, and those who hold on to what they are on, such as a bicycle."""
    others = {(step.thing, step.place) for step in steps if step.way in ("On", "held")}
    return [step for step in steps if step.way != "held" or (step.place, step.thing) not in others]


def _directions(situation: Situation) -> list[Step]:
    return [
        Step(fact.thing, fact.other, "LeftOf", fact)
        if fact.predicate == "LeftOf"
        else Step(fact.other, fact.thing, "LeftOf", fact)
        for fact in situation.related("LeftOf", "RightOf")
    ]


def _cycles(situation: Situation, steps: list[Step], where: str, report: Report) -> None:
    """Report each cycle of steps, at the fact that closes it."""
    steps = _still_open(steps)
    onward = _onward(steps)
    reported: set[str] = set()
    for step in sorted(steps, key=lambda step: step.fact.span.start, reverse=True):
        around = _reached(step.place, onward)
        if step.thing in reported or step.thing not in around:
            continue
        ring = {thing for thing in around if step.thing in _reached(thing, onward)}
        closing = [other.fact for other in steps if other.thing in ring and other.place in ring]
        message = f"{situation.name(step.thing)} would be {where} itself, by way of {situation.name(step.place)}"
        report.add(message, *closing)
        reported |= ring


def _still_open(steps: list[Step]) -> list[Step]:
    """The steps that are left when those to a last place are taken away, again and again: only cycles resist."""
    while True:
        things = {step.thing for step in steps}
        left = [step for step in steps if step.place in things]
        if len(left) == len(steps):
            return steps
        steps = left


def _onward(steps: Iterable[Step]) -> dict[str, list[str]]:
    onward: dict[str, list[str]] = defaultdict(list)
    for step in steps:
        onward[step.thing].append(step.place)
    return onward


def _reached(start: str, onward: Mapping[str, list[str]]) -> dict[str, None]:
    """Where one gets to from a thing by any number of steps, the thing itself included; the closest_match first."""
    reached = {start: None}
    pending = [start]
    for thing in pending:
        for place in onward.get(thing, ()):
            if place not in reached:
                reached[place] = None
                pending.append(place)
    return reached


def _two_places(situation: Situation, steps: list[Step], report: Report) -> None:
    """Report things in or on two places of which neither can be at the other; a bowl in a refrigerator can."""
    onward = _onward(steps)
    homes: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        if step.way != "held":
            homes[step.thing].append(step)
    for thing, found in homes.items():
        for one, other in combinations(found, 2):
            if one.place != other.place and not _compatible(situation, one, other, onward):
                ways = [f"{PHRASES.get(step.way, 'on')} {situation.name(step.place)}" for step in (one, other)]
                message = f"{situation.name(thing)} cannot be {ways[0]} and {ways[1]} at once"
                report.add(message, one.fact, other.fact)


def _compatible(situation: Situation, one: Step, other: Step, onward: Mapping[str, list[str]]) -> bool:
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


def _nested(situation: Situation, steps: list[Step], report: Report) -> None:
    """Report what is inside a thing by way of another, in which or on which it is, and too big for it."""
    carried = [step for step in steps if step.way in ("In", "On")]
    onward = _onward(carried)
    containers = {step.place for step in carried if step.way == "In"}
    facts = {step.thing: step.fact for step in carried}
    for thing, direct in onward.items():
        for place in list(_reached(thing, onward))[1:]:
            if place in direct or place == thing or place not in containers:
                continue
            if not all(_fits(situation, a, b) for a in _of(situation, thing) for b in _of(situation, place)):
                message = (
                    f"{situation.name(thing)} cannot be inside {situation.name(place)}, "
                    f"by way of {situation.name(direct[0])}: {situation.name(thing)} would be too big"
                )
                report.add(message, facts[thing])


def _of(situation: Situation, thing: str) -> tuple[str, ...]:
    return situation.classes.get(thing, ())


def _fits(situation: Situation, cls: str, place: str) -> bool:
    return situation.ontology.entry(place).inside is None or situation.ontology.fits(cls, place)
