"""Readers for drawn worlds: both draw what they find in a prompt.

The first parses the prompt, and forgets and confuses facts. The second places objects at random with random attributes
from the prompt, which gives chance level: the result of a model that recognizes words but understands no sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import sqrt
from random import Random
from typing import Any

from formalimg.benchmarks.registry import suite
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.scene import BriefObject, BriefRelation, DrawnScene, SceneBrief, material_word
from formalimg.language.lexicon import lexicon
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.models.builtin.drawn_parser import read_facts
from formalimg.models.builtin.drawn_world import Meaning, MisreadRates, ReadFact, drawn_world, misread
from formalimg.models.builtin.mentions import MAX_OBJECTS, MAX_WORDS, PhraseIndex, prompt_lexicon
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

_CARRIED = {"On": 0, "In": 0, "Holding": 1, "top": 0, "bottom": 1, "inside": 0}
"""Relations in which an object carries another, and which of the two is carried: it can be in one place only."""


def compose_drawn_reading(
    prompt: str, suite_name: str, rates: MisreadRates, *, memory: int, seed: int = 0
) -> DrawnScene | Refused:
    """Return the scene that a reader with limited memory composes from a prompt, or the reason for a refusal.

    A prompt with a word that cannot be drawn is refused before any fact is forgotten, so that whether an item is scored
    does not depend on which facts the reader loses.
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

    There is only one if objects carry each other: "every cup has a spoon in it" mentions a single spoon.
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

    Words are removed one at a time, each time one whose removal changes the first reported problem.
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

    If there is no contradiction but the canvas is too crowded, sizes are dropped, then the later half of the relations,
    and then numbers. Few layouts are tried because the search for each takes time.
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


_WORD = re.compile(r"[a-z]+|[0-9]+")
_MAX_OBJECTS = 12  # further objects are ignored: drawings of these suites show fewer
_GAP, _MIN_SIDE = 20, 90
_AREAS = (15_000, 90_000)
_TRIES = 60  # so many places are tried for an object before it is left out
_KINDS = ("color", "material", "shape", "state")


@dataclass
class _FoundWords:
    """The classes in a prompt with their numbers, and all attributes by kind regardless of their nouns."""

    objects: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, dict[str, None]] = field(default_factory=dict)

    def of(self, kind: str) -> list[str | None]:
        """Return the candidate words of a kind, including None."""
        return [None, *self.attributes.get(kind, ())]


def compose_drawn_scatter(request: ImageRequest) -> DrawnScene | Refused | Failed:
    """Return the objects in a prompt, each with a random size, position and attributes from the prompt."""
    rng = Random(f"{request.seed} {request.prompt}")
    words = _find_words(request.prompt, request.suite)
    styles = [
        style for style in words.of("style") if style is None or drawn_catalog().word("style", style).always is None
    ]
    style = rng.choice(styles)
    objects: list[SceneObject] = []
    for label, number in words.objects.items():
        look = _drawable_look(label, words, style, rng)
        for _ in range(number if look else 0):
            box = _free_box(label, [obj.box for obj in objects], rng)
            if look is not None and box is not None and len(objects) < _MAX_OBJECTS:
                material = None if look.material is None else material_word(look.material)
                objects.append(SceneObject(label, box, look.color, material, look.shape, look.states))
    if not objects:
        return Refused("the prompt names nothing that can be drawn")
    return DrawnScene(Scene.of(objects, ()), style)


def _drawable_look(label: str, words: _FoundWords, style: str | None, rng: Random) -> BriefObject | None:
    """Return an object with random attributes, omitting undrawable ones; None if the class cannot be drawn."""
    color, material, shape, state = (rng.choice(words.of(kind)) for kind in _KINDS)
    look = BriefObject(label, 1, color, shape, None, material, () if state is None else (state,))
    plainer = [look, replace(look, states=()), replace(look, states=(), shape=None)]
    plainer += [replace(plainer[-1], material=None), BriefObject(label)]
    return next(
        (candidate for candidate in plainer if why_not_drawable(SceneBrief((candidate,), (), style)) is None), None
    )


def _free_box(label: str, boxes: Sequence[Box], rng: Random) -> Box | None:
    """Return a random box with the aspect ratio of a class and a gap to other boxes; None if no box is found."""
    icon = drawn_catalog().icon(label)
    aspect = icon.aspect if icon else 1.0
    for _ in range(_TRIES):
        area = rng.uniform(*_AREAS)
        width, height = (max(_MIN_SIDE, round(sqrt(area * shape))) for shape in (aspect, 1 / aspect))
        if max(width, height) > CANVAS - 2 * _GAP:
            continue
        x, y = rng.randint(_GAP, CANVAS - _GAP - width), rng.randint(_GAP, CANVAS - _GAP - height)
        box = Box(x, y, x + width, y + height)
        gaps = (
            max(box.xmin - near.xmax, near.xmin - box.xmax, box.ymin - near.ymax, near.ymin - box.ymax)
            for near in boxes
        )
        if all(gap >= _GAP for gap in gaps):
            return box
    return None


# --- words


def _find_words(prompt: str, name: str) -> _FoundWords:
    phrases, numbers = _index_words(name), prompt_lexicon().numbers
    words = _WORD.findall(prompt.lower())[:MAX_WORDS]
    colors = vocabulary("natural").words["color"]
    result, number, index = _FoundWords(), 1, 0
    while index < len(words):
        (kind, value), length = phrases.longest_at(words, index) or (("", ""), 1)
        follower = phrases.longest_at(words, index + length)
        if kind == "class" and value in colors and follower and follower[0][0] == "class":
            kind = "color"  # an orange cat
        if kind == "class":
            result.objects[value] = max(result.objects.get(value, 1), number)
            number = 1
        elif kind:
            result.attributes.setdefault(kind, {})[value] = None
        elif words[index] in numbers:
            number = numbers[words[index]]
        index += length
    return result


@cache
def _index_words(name: str) -> PhraseIndex[Meaning]:
    phrases = drawn_world(name).phrases or partial(_vocabulary_phrases, suite(name).vocabulary)
    return PhraseIndex({phrase: meaning for phrase, meaning in reversed([*phrases()]) if phrase})


def _vocabulary_phrases(name: str) -> Iterator[tuple[str, Meaning]]:
    nouns, words = lexicon(name).nouns, vocabulary(name).words
    for label in words["class"]:
        yield from ((text, ("class", label)) for text in (label, nouns[label].text, nouns[label].plural))
    for kind in (*_KINDS, "style"):
        yield from ((value, (kind, value)) for value in words[kind] if value not in ("on", "off"))
