"""The reader for drawn worlds: parses a prompt, forgets and confuses facts, and draws the remaining scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.scene import BriefObject, BriefRelation, DrawnScene, SceneBrief
from formalimg.models.base import Refused
from formalimg.models.builtin.drawn_parser import read_facts
from formalimg.models.builtin.drawn_world import MisreadRates, ReadFact, misread
from formalimg.models.builtin.mentions import MAX_OBJECTS

_CARRIED = {"On": 0, "In": 0, "Holding": 1, "top": 0, "bottom": 1, "inside": 0}
"""Relations in which an object carries another, and which of the two is carried: it can be in one place only."""


def compose_drawn_reading(
    prompt: str, suite_name: str, rates: MisreadRates, *, memory: int, seed: int = 0
) -> DrawnScene | Refused:
    """Return the scene that a reader with limited memory composes from a prompt, or the reason for a refusal.

    A prompt with a word that no drawing can show is refused before anything is forgotten: whether an item is scored
    must not depend on what the reader happens to lose.
    """
    facts = read_facts(prompt, suite_name)
    if not any(fact.kind == "object" for fact in facts):
        return Refused("the prompt names nothing that can be drawn")
    reason = why_not_drawable(brief_of(facts))
    if reason is not None:
        return Refused(f"cannot be drawn: {reason}")
    rng = Random(f"{seed} {prompt}")
    believed = misread(facts, rates, memory, rng)
    crowd = _make_drawable(brief_of(_instantiate_every(believed, rng)))
    brief = _make_drawable(brief_of(believed))
    if crowd != brief:
        layout = solve_drawn(crowd, seed=seed)
        if isinstance(layout, DrawnScene):
            return layout
    return _lay_out(brief, seed)


def brief_of(facts: Sequence[ReadFact]) -> SceneBrief:
    """Convert facts to a scene brief; objects without a number occur once."""
    numbers = [fact.objects[0] for fact in facts if fact.kind == "object"]
    places = {number: index for index, number in enumerate(numbers)}
    objects = [BriefObject(fact.value) for fact in facts if fact.kind == "object"]
    relations = []
    style = None
    for kind, value, subjects in facts:
        if kind == "style":
            style = value
        elif kind == "relation":
            relations.append(BriefRelation(value, places[subjects[0]], places[subjects[1]]))
        elif kind not in ("object", "every"):
            position = places[subjects[0]]
            obj = objects[position]
            words: dict[str, Any] = {kind: value}  # a colour, material, shape or size
            if kind == "number":
                words = {"number": int(value)}
            elif kind == "state":
                words = {"states": tuple(dict.fromkeys([*obj.states, value]))}
            objects[position] = replace(obj, **words)
    room = MAX_OBJECTS  # numbers are reduced once the canvas has reached its capacity
    for index, obj in enumerate(objects):
        objects[index] = replace(obj, number=max(1, min(obj.number, room)))
        room -= obj.number
    return SceneBrief(tuple(objects), tuple(relations), style)


def _instantiate_every(facts: Sequence[ReadFact], rng: Random) -> list[ReadFact]:
    """Replace each fact about every object of a class by one or two instances.

    There is one where objects carry each other: "every cup has a spoon in it", and the prompt speaks of one spoon.
    """
    relations = [fact for fact in facts if fact.kind == "relation" and fact.value in _CARRIED]
    carrying = {number for fact in relations for number in fact.objects}
    return [
        ReadFact("number", "2", fact.objects)
        if fact.kind == "every" and rng.random() < 0.5 and fact.objects[0] not in carrying
        else fact
        for fact in facts
    ]


def _make_drawable(brief: SceneBrief) -> SceneBrief:
    """Remove words that prevent the objects of a brief from being drawn, for instance after a swap.

    One word after the other is taken away, each time one without which the first complaint is another.
    """
    while (reason := why_not_drawable(brief)) is not None:
        plainer = [candidate for candidate in _with_less(brief) if candidate != brief]
        brief = next((candidate for candidate in plainer if why_not_drawable(candidate) != reason), plainer[0])
    return brief


def _with_less(brief: SceneBrief) -> Iterator[SceneBrief]:
    """Yield copies of a brief with one attribute, style or relation removed, attributes first."""
    for index, obj in enumerate(brief.objects):
        plainer = [replace(obj, states=()), replace(obj, size=None), replace(obj, shape=None)]
        plainer += [replace(obj, material=None), replace(obj, color=None)]
        for candidate in plainer:
            yield replace(brief, objects=(*brief.objects[:index], candidate, *brief.objects[index + 1 :]))
    yield replace(brief, style=None)
    yield from (_drop_relation(brief, number) for number in range(len(brief.relations)))


def _drop_relation(brief: SceneBrief, index: int) -> SceneBrief:
    return replace(brief, relations=(*brief.relations[:index], *brief.relations[index + 1 :]))


def _lay_out(brief: SceneBrief, seed: int) -> DrawnScene | Refused:
    """Lay out a brief, dropping the latest of any contradictory relations.

    Where no contradiction is known, because the canvas is too crowded, sizes are dropped, then the later half of the
    relations, and then numbers: the search for a layout is what takes time, and so few are tried.
    """
    while True:
        layout = solve_drawn(brief, seed=seed)
        if isinstance(layout, DrawnScene):
            return layout
        wrong = _latest_wrong(brief, layout)
        if wrong is not None:
            brief = _drop_relation(brief, wrong)
        elif any(obj.size for obj in brief.objects):
            brief = replace(brief, objects=tuple(replace(obj, size=None) for obj in brief.objects))
        elif brief.relations:
            brief = replace(brief, relations=brief.relations[: len(brief.relations) // 2])
        elif any(obj.number > 1 for obj in brief.objects):
            brief = replace(brief, objects=tuple(replace(obj, number=1) for obj in brief.objects))
        else:
            return Refused(f"cannot be drawn: {layout.reason}")


def _latest_wrong(brief: SceneBrief, failure: NoDrawing) -> int | None:
    """Return the latest relation that conflicts or positions an object twice; None if there is none."""
    placed: set[int] = set()
    wrong = None
    for index, relation in enumerate(brief.relations):
        ends = (relation.first, relation.second)
        first, second = (brief.objects[end].item for end in ends)
        if any(text.endswith((f"({first}, {second})", f"({second}, {first})")) for text in failure.conflict):
            wrong = index
        if relation.name in _CARRIED:
            carried = ends[_CARRIED[relation.name]]
            wrong = index if carried in placed else wrong
            placed.add(carried)
    return wrong
