"""Small changes of a scene, such as recolouring, replacing, moving, resizing or removing an object.

What a change makes false is not known here: whoever wants one clause flipped tries changes until exactly that is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from formalimg.drawing.brief import BriefObject, SceneBrief
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.icon_scene import drawable_classes, natural_aspect
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.boxes import are_apart, find_free_box
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, MIN_SIDE, Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from formalimg.types import Benchmark

_GAP = 20
_BORDER = 5
_PLACES = 40  # So many places are tried for an object that is moved
_MOVES, _SCALES = 4, (0.3, 0.45, 0.6, 1.7, 2.4, 3.4)
_SIMILAR = 6  # An object is exchanged for one of so many classes whose natural shape is nearest


@dataclass(frozen=True)
class DrawnVocabulary:
    """The words available to scene changes in a drawn world."""

    colors: Sequence[str]  # all colours
    aspects: dict[str, float]  # width over height of each class that an object may be exchanged for
    can_draw: Callable[[SceneObject, str | None], bool]  # whether an object can be drawn in a style


def find_vocabulary(suite: Benchmark, unknown: Sequence[str] = ()) -> DrawnVocabulary:
    """Return the colours and classes that can be drawn in the suite's world."""
    if suite.world == "icons":
        aspects = {label: natural_aspect(label) for label in drawable_classes() if label not in unknown}
        colors = vocabulary(suite.vocabulary or "knolling").words["color"]
        return DrawnVocabulary(colors, aspects, lambda obj, style: True)
    catalog = drawn_catalog()
    icons = {label: catalog.icon(label) for label in catalog.classes if label not in unknown}
    aspects = {label: icon.aspect for label, icon in icons.items() if icon is not None}
    return DrawnVocabulary(vocabulary("natural").words["color"], aspects, _is_drawable)


def _is_drawable(obj: SceneObject, style: str | None) -> bool:
    brief = BriefObject(obj.label, 1, obj.color, obj.shape, None, obj.material, obj.states)
    return why_not_drawable(SceneBrief((brief,), (), style)) is None


def generate_changes(drawn: DrawnScene, words: DrawnVocabulary, rng: Random) -> Iterator[DrawnScene]:
    """Yield copies of the scene with one small change each, in random order, with all kinds of change mixed."""
    numbers = list(range(len(drawn.scene)))
    kinds: list[list[Callable[[], DrawnScene | None]]] = [
        [partial(_recolor_object, drawn, n, words, rng) for n in numbers],
        [partial(_exchange_object, drawn, n, words, rng) for n in numbers],
        [
            partial(_simplify_object, drawn, n, words, word)
            for n in numbers
            for word in _list_attributes(drawn.scene.objects[n])
        ],
        [partial(_remove_object, drawn, n) for n in numbers if len(numbers) > 1],
        [partial(_duplicate_object, drawn, n, rng) for n in numbers],
        [partial(_move_object, drawn, n, rng) for n in numbers for _ in range(_MOVES)],
        [partial(_resize_object, drawn, n, scale) for n in numbers for scale in _SCALES],
        [partial(_swap_objects, drawn, a, b) for a in numbers for b in numbers if a < b],
        [lambda: None if drawn.style is None else replace(drawn, style=None)],
    ]
    for changes in kinds:
        rng.shuffle(changes)
    while any(kinds):
        for changes in kinds:
            if changes and (changed := changes.pop()()) is not None:
                yield changed


# --- attributes


def _set_object(drawn: DrawnScene, number: int, obj: SceneObject) -> DrawnScene:
    objects = (*drawn.scene.objects[:number], obj, *drawn.scene.objects[number + 1 :])
    return replace(drawn, scene=replace(drawn.scene, objects=objects))


def _set_if_drawable(drawn: DrawnScene, number: int, obj: SceneObject, words: DrawnVocabulary) -> DrawnScene | None:
    return _set_object(drawn, number, obj) if words.can_draw(obj, drawn.style) else None


def _recolor_object(drawn: DrawnScene, number: int, words: DrawnVocabulary, rng: Random) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    color = rng.choice([color for color in words.colors if color != obj.color])
    return _set_if_drawable(drawn, number, replace(obj, color=color), words)


def _exchange_object(drawn: DrawnScene, number: int, words: DrawnVocabulary, rng: Random) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    if any(number in (relation.first, relation.second) for relation in _get_relations(drawn)):
        return None
    labels = {obj.label for obj in drawn.scene.objects}
    aspect = words.aspects.get(obj.label, 1.0)
    similar = sorted(
        (label for label in words.aspects if label not in labels), key=lambda label: abs(words.aspects[label] - aspect)
    )
    if not similar:
        return None
    return _set_if_drawable(drawn, number, replace(obj, label=rng.choice(similar[:_SIMILAR])), words)


def _list_attributes(obj: SceneObject) -> list[str]:
    return [*(["material"] if obj.material else []), *(["shape"] if obj.shape else []), *obj.states]


def _simplify_object(drawn: DrawnScene, number: int, words: DrawnVocabulary, word: str) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    if word == "material":
        plain = replace(obj, material=None)
    elif word == "shape":
        plain = replace(obj, shape=None)
    else:
        plain = replace(obj, states=tuple(state for state in obj.states if state != word))
    return _set_if_drawable(drawn, number, plain, words)


# --- objects and boxes


def _remove_object(drawn: DrawnScene, number: int) -> DrawnScene | None:
    if any(relation.second == number for relation in _get_relations(drawn)):
        return None  # what it carries would float
    rest = [index for index in range(len(drawn.scene)) if index != number]
    renumbered = {old: new for new, old in enumerate(rest)}
    relations = [
        relation._replace(first=renumbered[relation.first], second=renumbered[relation.second])
        for relation in _get_relations(drawn)
        if number not in (relation.first, relation.second)
    ]
    scene = _build_scene(drawn, [drawn.scene.objects[index] for index in rest], relations)
    return replace(drawn, scene=scene, depth=tuple(renumbered[index] for index in drawn.order if index != number))


def _duplicate_object(drawn: DrawnScene, number: int, rng: Random) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    box = _find_free_box(obj.box, [existing.box for existing in drawn.scene.objects], rng)
    if box is None:
        return None
    scene = _build_scene(drawn, [*drawn.scene.objects, replace(obj, box=box)], _get_relations(drawn))
    return replace(drawn, scene=scene, depth=(*drawn.order, len(drawn.scene)))


def _move_object(drawn: DrawnScene, number: int, rng: Random) -> DrawnScene | None:
    box = _find_free_box(drawn.scene.objects[number].box, _boxes_except(drawn, number), rng)
    return None if box is None else _set_box(drawn, number, box)


def _resize_object(drawn: DrawnScene, number: int, scale: float) -> DrawnScene | None:
    box = drawn.scene.objects[number].box
    width, height = (scale * side for side in (box.xmax - box.xmin, box.ymax - box.ymin))
    if not 2 * MIN_SIDE <= min(width, height) <= max(width, height) <= CANVAS - 2 * _BORDER:
        return None
    left = min(max(_BORDER, box.center_x - width / 2), CANVAS - _BORDER - width)
    top = min(max(_BORDER, box.center_y - height / 2), CANVAS - _BORDER - height)
    resized = Box(round(left), round(top), round(left + width), round(top + height))
    is_free = all(are_apart(resized, existing, _GAP) for existing in _boxes_except(drawn, number))
    return _set_box(drawn, number, resized) if is_free else None


def _set_box(drawn: DrawnScene, number: int, box: Box) -> DrawnScene | None:
    """Set the box of an object and drop its relations, or return None if other objects depend on it."""
    if any(relation.second == number for relation in _get_relations(drawn)):
        return None
    moved = _set_object(drawn, number, replace(drawn.scene.objects[number], box=box))
    rest = [relation for relation in _get_relations(drawn) if relation.first != number]
    return replace(moved, scene=_build_scene(drawn, moved.scene.objects, rest))


def _swap_objects(drawn: DrawnScene, first: int, second: int) -> DrawnScene | None:
    if any({relation.first, relation.second} & {first, second} for relation in _get_relations(drawn)):
        return None
    objects = [drawn.scene.objects[number] for number in (first, second)]
    boxes = [_center_box(obj.box, partner.box) for obj, partner in zip(objects, reversed(objects), strict=True)]
    pairs = [(box, existing) for box in boxes for existing in _boxes_except(drawn, first, second)]
    if not all(are_apart(*pair, _GAP) for pair in [*pairs, (boxes[0], boxes[1])]):
        return None
    swapped = _set_object(drawn, first, replace(objects[0], box=boxes[0]))
    return _set_object(swapped, second, replace(objects[1], box=boxes[1]))


def _center_box(box: Box, at: Box) -> Box:
    """Centre a box on another box, then shift it onto the canvas if necessary."""
    width, height = box.xmax - box.xmin, box.ymax - box.ymin
    left = min(max(_BORDER, at.center_x - width / 2), CANVAS - _BORDER - width)
    top = min(max(_BORDER, at.center_y - height / 2), CANVAS - _BORDER - height)
    return Box(left, top, left + width, top + height)


def _boxes_except(drawn: DrawnScene, *numbers: int) -> list[Box]:
    return [obj.box for number, obj in enumerate(drawn.scene.objects) if number not in numbers]


def _find_free_box(box: Box, boxes: Sequence[Box], rng: Random) -> Box | None:
    """Return a randomly positioned box of the same size that keeps a gap from others, or None."""
    width, height = round(box.xmax - box.xmin), round(box.ymax - box.ymin)
    if max(width, height) > CANVAS - 2 * _BORDER:
        return None
    return find_free_box(width, height, boxes, rng, border=_BORDER, gap=_GAP, tries=_PLACES)


def _get_relations(drawn: DrawnScene) -> frozenset[SceneRelation]:
    return drawn.scene.relations or frozenset()


def _build_scene(
    drawn: DrawnScene, objects: Sequence[SceneObject], relations: Sequence[SceneRelation] | frozenset[SceneRelation]
) -> Scene:
    return Scene.of(objects, None if drawn.scene.relations is None else relations)
