"""Scatter in drawn worlds: objects from the prompt at random positions with random attributes from the prompt.

It marks chance level: what a model reaches that recognizes words and understands no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import sqrt
from random import Random

from formalimg.benchmarks.registry import suite
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.scene import BriefObject, DrawnScene, SceneBrief, material_word
from formalimg.language.lexicon import lexicon
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.models.builtin.drawn_world import Meaning, drawn_world
from formalimg.models.builtin.mentions import MAX_WORDS, PhraseIndex, prompt_lexicon
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

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
