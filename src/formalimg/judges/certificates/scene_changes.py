"""Small changes of a scene: one object recoloured, exchanged, plain, moved, resized or gone, two swapped, no style.

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
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import CANVAS, MIN_SIDE, Box, SceneObject
from formalimg.scenes.scene import Scene, SceneRelation
from formalimg.types import Benchmark

_GAP = 20
_BORDER = 5
_PLACES = 40
"""So many places are tried for an object that is moved."""
_MOVES, _SCALES = 4, (0.3, 0.45, 0.6, 1.7, 2.4, 3.4)
_SIMILAR = 6
"""An object is exchanged for one of so many classes whose natural shape is nearest."""


@dataclass(frozen=True)
class DrawnVocabulary:
    """The words that changes may use in a drawn world."""

    colors: Sequence[str]  # all colours
    aspects: dict[str, float]  # width over height of each class that an object may be exchanged for
    can_draw: Callable[[SceneObject, str | None], bool]  # whether an object can be drawn in a style


def drawn_vocabulary(suite: Benchmark, unknown: Sequence[str] = ()) -> DrawnVocabulary:
    """Return the words of the drawn world of a suite."""
    if suite.world == "icons":
        aspects = {label: natural_aspect(label) for label in drawable_classes() if label not in unknown}
        colors = vocabulary(suite.vocabulary or "knolling").words["color"]
        return DrawnVocabulary(colors, aspects, lambda obj, style: True)
    catalog = drawn_catalog()
    icons = {label: catalog.icon(label) for label in catalog.classes if label not in unknown}
    aspects = {label: icon.aspect for label, icon in icons.items() if icon is not None}
    return DrawnVocabulary(vocabulary("natural").words["color"], aspects, _is_drawable)


def _is_drawable(obj: SceneObject, style: str | None) -> bool:
    look = BriefObject(obj.label, 1, obj.color, obj.shape, None, obj.material, obj.states)
    return why_not_drawable(SceneBrief((look,), (), style)) is None


def changed_scenes(drawn: DrawnScene, words: DrawnVocabulary, rng: Random) -> Iterator[DrawnScene]:
    """Yield the scene with one small change, in random order; every kind of change comes early."""
    numbers = list(range(len(drawn.scene)))
    kinds: list[list[Callable[[], DrawnScene | None]]] = [
        [partial(_recolored, drawn, n, words, rng) for n in numbers],
        [partial(_exchanged, drawn, n, words, rng) for n in numbers],
        [partial(_plainer, drawn, n, words, word) for n in numbers for word in _looks(drawn.scene.objects[n])],
        [partial(_removed, drawn, n) for n in numbers if len(numbers) > 1],
        [partial(_doubled, drawn, n, rng) for n in numbers],
        [partial(_moved, drawn, n, rng) for n in numbers for _ in range(_MOVES)],
        [partial(_resized, drawn, n, scale) for n in numbers for scale in _SCALES],
        [partial(_swapped, drawn, a, b) for a in numbers for b in numbers if a < b],
        [partial(_repainted, drawn)],
    ]
    for changes in kinds:
        rng.shuffle(changes)
    while any(kinds):
        for changes in kinds:
            if changes and (changed := changes.pop()()) is not None:
                yield changed


def _with(drawn: DrawnScene, number: int, obj: SceneObject) -> DrawnScene:
    objects = (*drawn.scene.objects[:number], obj, *drawn.scene.objects[number + 1 :])
    return replace(drawn, scene=replace(drawn.scene, objects=objects))


def _with_look(drawn: DrawnScene, number: int, obj: SceneObject, words: DrawnVocabulary) -> DrawnScene | None:
    return _with(drawn, number, obj) if words.can_draw(obj, drawn.style) else None


def _recolored(drawn: DrawnScene, number: int, words: DrawnVocabulary, rng: Random) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    color = rng.choice([color for color in words.colors if color != obj.color])
    return _with_look(drawn, number, replace(obj, color=color), words)


def _exchanged(drawn: DrawnScene, number: int, words: DrawnVocabulary, rng: Random) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    if any(number in (each.first, each.second) for each in _records(drawn)):
        return None
    shown = {other.label for other in drawn.scene.objects}
    own = words.aspects.get(obj.label, 1.0)
    others = sorted(
        (label for label in words.aspects if label not in shown), key=lambda it: abs(words.aspects[it] - own)
    )
    return _with_look(drawn, number, replace(obj, label=rng.choice(others[:_SIMILAR])), words) if others else None


def _looks(obj: SceneObject) -> list[str]:
    """Return the attributes of an object besides its colour, one of which it can lose."""
    return [*(["material"] if obj.material else []), *(["shape"] if obj.shape else []), *obj.states]


def _plainer(drawn: DrawnScene, number: int, words: DrawnVocabulary, word: str) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    if word == "material":
        return _with_look(drawn, number, replace(obj, material=None), words)
    if word == "shape":
        return _with_look(drawn, number, replace(obj, shape=None), words)
    return _with_look(drawn, number, replace(obj, states=tuple(s for s in obj.states if s != word)), words)


def _removed(drawn: DrawnScene, number: int) -> DrawnScene | None:
    if any(each.second == number for each in _records(drawn)):
        return None  # what it carries would float
    kept = [other for other in range(len(drawn.scene)) if other != number]
    renumbered = {old: new for new, old in enumerate(kept)}
    records = [
        each._replace(first=renumbered[each.first], second=renumbered[each.second])
        for each in _records(drawn)
        if number not in (each.first, each.second)
    ]
    scene = _scene(drawn, [drawn.scene.objects[other] for other in kept], records)
    return replace(drawn, scene=scene, depth=tuple(renumbered[other] for other in drawn.order if other != number))


def _doubled(drawn: DrawnScene, number: int, rng: Random) -> DrawnScene | None:
    obj = drawn.scene.objects[number]
    place = _free_place(obj.box, [other.box for other in drawn.scene.objects], rng)
    if place is None:
        return None
    scene = _scene(drawn, [*drawn.scene.objects, replace(obj, box=place)], _records(drawn))
    return replace(drawn, scene=scene, depth=(*drawn.order, len(drawn.scene)))


def _moved(drawn: DrawnScene, number: int, rng: Random) -> DrawnScene | None:
    others = [other.box for at, other in enumerate(drawn.scene.objects) if at != number]
    place = _free_place(drawn.scene.objects[number].box, others, rng)
    return None if place is None else _placed(drawn, number, place)


def _resized(drawn: DrawnScene, number: int, scale: float) -> DrawnScene | None:
    box = drawn.scene.objects[number].box
    width, height = (scale * side for side in (box.xmax - box.xmin, box.ymax - box.ymin))
    if not 2 * MIN_SIDE <= min(width, height) <= max(width, height) <= CANVAS - 2 * _BORDER:
        return None
    left = min(max(_BORDER, box.center_x - width / 2), CANVAS - _BORDER - width)
    top = min(max(_BORDER, box.center_y - height / 2), CANVAS - _BORDER - height)
    place = Box(round(left), round(top), round(left + width), round(top + height))
    others = [other.box for at, other in enumerate(drawn.scene.objects) if at != number]
    return _placed(drawn, number, place) if all(_are_apart(place, other) for other in others) else None


def _placed(drawn: DrawnScene, number: int, place: Box) -> DrawnScene | None:
    """Return the scene with an object in another place, where nothing carries it; None if it carries something."""
    if any(each.second == number for each in _records(drawn)):
        return None
    moved = _with(drawn, number, replace(drawn.scene.objects[number], box=place))
    left = [each for each in _records(drawn) if each.first != number]
    return replace(moved, scene=_scene(drawn, moved.scene.objects, left))


def _swapped(drawn: DrawnScene, one: int, other: int) -> DrawnScene | None:
    if any({each.first, each.second} & {one, other} for each in _records(drawn)):
        return None
    first, second = (drawn.scene.objects[number] for number in (one, other))
    boxes = [obj.box for at, obj in enumerate(drawn.scene.objects) if at not in (one, other)]
    places = (_centered(first.box, second.box), _centered(second.box, first.box))
    if not all(_are_apart(place, box) for place in places for box in boxes) or not _are_apart(*places):
        return None
    return _with(_with(drawn, one, replace(first, box=places[0])), other, replace(second, box=places[1]))


def _repainted(drawn: DrawnScene) -> DrawnScene | None:
    return None if drawn.style is None else replace(drawn, style=None)


def _records(drawn: DrawnScene) -> frozenset[SceneRelation]:
    return drawn.scene.relations or frozenset()


def _scene(
    drawn: DrawnScene, objects: Sequence[SceneObject], records: Sequence[SceneRelation] | frozenset[SceneRelation]
) -> Scene:
    return Scene.of(objects, None if drawn.scene.relations is None else records)


def _free_place(box: Box, others: Sequence[Box], rng: Random) -> Box | None:
    """Return a random place for a box that keeps a gap from others; None if none is found."""
    width, height = round(box.xmax - box.xmin), round(box.ymax - box.ymin)
    if max(width, height) > CANVAS - 2 * _BORDER:
        return None
    for _ in range(_PLACES):
        left, top = rng.randint(_BORDER, CANVAS - _BORDER - width), rng.randint(_BORDER, CANVAS - _BORDER - height)
        place = Box(left, top, left + width, top + height)
        if all(_are_apart(place, other) for other in others):
            return place
    return None


def _centered(box: Box, at: Box) -> Box:
    """Return a box of the same size whose centre is that of another one, moved onto the canvas."""
    width, height = box.xmax - box.xmin, box.ymax - box.ymin
    left = min(max(_BORDER, at.center_x - width / 2), CANVAS - _BORDER - width)
    top = min(max(_BORDER, at.center_y - height / 2), CANVAS - _BORDER - height)
    return Box(left, top, left + width, top + height)


def _are_apart(one: Box, other: Box) -> bool:
    across = max(one.xmin, other.xmin) - min(one.xmax, other.xmax)
    down = max(one.ymin, other.ymin) - min(one.ymax, other.ymax)
    return max(across, down) >= _GAP
