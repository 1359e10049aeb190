"""Choose classes, colours and aspect ratios that the formula leaves open in witness scenes.

Words are sampled by seed, so that scenes vary; boxes get the natural aspect ratio of their class.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, log, sqrt

from formalimg.drawing.icon_scene import drawable_classes, natural_aspect
from formalimg.logic.syntax import Formula
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.rules import Reading
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.scenes.solver.instantiation import OTHER_WORD


def assign_words(
    boxes: Sequence[Box], words: Sequence[Mapping[str, str]], mentioned: Mapping[str, Sequence[str]], seed: int
) -> list[SceneObject]:
    """Create objects with the given boxes, sampling any words that the formula leaves open.

    Each word is sampled at most once until all words have been used.
    """
    rng = random.Random(f"looks {seed}")
    known_words = vocabulary("knolling").words
    chosen: dict[str, list[str]] = {}
    for kind in ("class", "color"):
        unmentioned = [word for word in known_words[kind] if word not in mentioned[kind]]
        drawn = _sample_words(known_words[kind], rng)
        other_words = _sample_words(unmentioned, rng)
        chosen[kind] = []
        for slot_words in words:
            word = slot_words.get(kind)
            if word is None:  # free: even a word that the formula mentions elsewhere would do
                word = next(drawn)
            chosen[kind].append(next(other_words) if word == OTHER_WORD else word)
    looks = zip(boxes, chosen["class"], chosen["color"], strict=True)
    return [SceneObject(label, box, color) for box, label, color in looks]


def find_unmentioned_style(mentioned: Sequence[str]) -> str:
    """Return a style that is not among the mentioned ones."""
    return next((style for style in vocabulary("natural").words["style"] if style not in mentioned), "plain")


def _sample_words(words: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Yield words at random, repeating a word only after all others have been used."""
    while True:
        yield from reversed(rng.sample(words, len(words)) if words else ["thing"])


_ASPECT_TOLERANCE = 0.2
"""The maximum deviation from the natural aspect ratio (in the logarithm) that still looks natural."""

_GAP = 20
_BORDER = 10
_SMALLEST_SIDE = 40
_MAX_SIDE = 420


def fit_aspects(formula: Formula, scene: Scene, reading: Reading, style: str | None) -> Scene:
    """Adjust boxes to the natural aspect ratios of their classes where the formula still holds by the same margin.

    Centres do not move, so rows and columns stay aligned.
    """
    for number, obj in enumerate(scene.objects):
        for box in _natural_boxes(obj):
            other_boxes = [neighbour.box for slot, neighbour in enumerate(scene.objects) if slot != number]
            if not _has_room(box, other_boxes):
                continue
            objects = (*scene.objects[:number], replace(obj, box=box), *scene.objects[number + 1 :])
            reshaped = replace(scene, objects=objects)
            if keeps_margin(formula, reshaped, reading, style=style):
                scene = reshaped
                break
    return scene


def _natural_boxes(obj: SceneObject) -> Iterator[Box]:
    """Yield boxes with the same centre in order of preference, starting with the most natural.

    The boxes have the natural aspect ratio and the same area, a smaller area or the minimum size, followed by the same
    variants halfway to the natural aspect ratio.
    """
    width, height = obj.box.xmax - obj.box.xmin, obj.box.ymax - obj.box.ymin
    if obj.label not in drawable_classes() or not width or not height:
        return
    aspect = natural_aspect(obj.label)
    now = log(width / height)
    target = min(log(aspect), -log(aspect), key=lambda way: abs(way - now))  # icons may be rotated
    if abs(target - now) <= _ASPECT_TOLERANCE:
        return
    area = width * height
    for way in (target, (target + now) / 2):
        shape = exp(way)
        yield _center_box(obj.box, sqrt(area * shape), sqrt(area / shape))
        yield _center_box(obj.box, min(width, height * shape), min(height, width / shape))
        yield _center_box(obj.box, _SMALLEST_SIDE * max(1, shape), _SMALLEST_SIDE * max(1, 1 / shape))


def _center_box(box: Box, width: float, height: float) -> Box:
    """Return a box of approximately the given size with the same centre and integer coordinates."""
    halves = []
    for low, high, side in ((box.xmin, box.xmax, width), (box.ymin, box.ymax, height)):
        odd = (low + high) % 2 / 2
        halves.append(max(round(side / 2 - odd), 1) + odd)
    across, down = halves
    return Box(
        *(
            int(edge)
            for edge in (box.center_x - across, box.center_y - down, box.center_x + across, box.center_y + down)
        )
    )


def _has_room(box: Box, other_boxes: list[Box]) -> bool:
    sides = (box.xmax - box.xmin, box.ymax - box.ymin)
    if min(sides) < _SMALLEST_SIDE or max(sides) > _MAX_SIDE:
        return False
    if min(box.xmin, box.ymin) < _BORDER or max(box.xmax, box.ymax) > CANVAS - _BORDER:
        return False
    return all(
        neighbour.xmin - box.xmax >= _GAP
        or box.xmin - neighbour.xmax >= _GAP
        or neighbour.ymin - box.ymax >= _GAP
        or box.ymin - neighbour.ymax >= _GAP
        for neighbour in other_boxes
    )
