"""Drawings of objects: items that can be drawn, by which judges are certified, and scenes that show an item."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from math import sqrt
from random import Random
from typing import Any

from formalimg.benchmarks.geneval.form import TAGS
from formalimg.benchmarks.geneval.rule import official_verdict
from formalimg.benchmarks.object_spec import (
    OBJECT_COLORS,
    RELATIONS,
    ExcludedObjects,
    IncludedObjects,
    ObjectSpec,
    to_formula,
)
from formalimg.drawing.icon_scene import drawable_classes, natural_aspect
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item

_CELLS = 5
_AREA = 120 * 120
_LONGEST = 180
_TRIES = 500
"""So many arrangements are tried: of two objects one in four fits, of more fewer do."""


def compose_objects(
    spec: ObjectSpec, request: ImageRequest, fits: Callable[[Scene], bool] = lambda scene: True
) -> Scene | Refused | Failed:
    """Return a scene that passes by every profile; refuse what cannot be drawn, with the reason."""
    reason = unarrangeable_because(spec)
    if reason is not None:
        return Refused(f"cannot be drawn: {reason}")
    scene = arrange_objects(spec, Random(f"{request.seed} {request.sample} {request.prompt}"), fits)
    return Failed("builtin/oracle found no arrangement of these objects") if scene is None else scene


def unarrangeable_because(spec: ObjectSpec) -> str | None:
    """Return why no drawing shows what an item asks for; None if one can, as far as its words tell."""
    undrawn = sorted(set(spec.object_classes) - set(drawable_classes()))
    if undrawn:
        return f"there is no drawing of a {undrawn[0]}"
    strange = sorted({one.color for one in spec.include if one.color} - set(_colors()))
    if strange:
        return f"there are no drawings in {strange[0]}"
    wanted = sum(one.count for one in spec.include)
    if not 1 <= wanted <= _CELLS * _CELLS:
        return f"it asks for {wanted} objects, and 1 to {_CELLS * _CELLS} can be drawn"
    return None


def arrange_objects(spec: ObjectSpec, rng: Random, fits: Callable[[Scene], bool] = lambda scene: True) -> Scene | None:
    """Return a scene that passes by every profile; None if no arrangement was found."""
    wanted = [one for one in spec.include for _ in range(one.count)]
    colors, formula = _colors(), to_formula(spec)
    for _ in range(_TRIES):
        cells = rng.sample(range(_CELLS * _CELLS), len(wanted))
        objects = [
            SceneObject(one.label, _box(one.label, cell), one.color or rng.choice(colors))
            for one, cell in zip(wanted, cells, strict=True)
        ]
        scene = Scene.of(objects)
        if _passes(spec, scene) and verify(formula, scene).passed and fits(scene):
            return scene
    return None


def _colors() -> tuple[str, ...]:
    return vocabulary("knolling").words["color"]


def _passes(spec: ObjectSpec, scene: Scene) -> bool:
    detections: dict[str, list[dict[str, object]]] = {}
    for one in scene.objects:
        detections.setdefault(one.label, []).append({"box": one.box, "color": one.color})
    return official_verdict(spec, detections).passed and official_verdict(spec, detections, strict=True).passed


def _box(label: str, cell: int) -> Box:
    """Return a box in the natural proportions of a class, in the middle of a cell of the canvas."""
    side = CANVAS / _CELLS
    aspect = natural_aspect(label)
    width, height = sqrt(_AREA * aspect), sqrt(_AREA / aspect)
    shrink = min(1.0, _LONGEST / max(width, height)) / 2
    x, y = (cell % _CELLS + 0.5) * side, (cell // _CELLS + 0.5) * side
    edges = (x - width * shrink, y - height * shrink, x + width * shrink, y + height * shrink)
    return Box(*map(round, edges))


def make_drawn_items(suite: str) -> list[Item[Any]]:
    """Return items of all tasks with classes and colours that can be drawn; always the same, so that ids are known."""
    rng = Random("drawn items")
    items: list[Item[Any]] = []
    for level, tag in enumerate(TAGS, 1):
        asked: dict[ObjectSpec, str] = {}
        # Some combinations come twice, so more are drawn than are kept; of single objects there are few.
        for spec, prompt in islice(_specs(tag, rng), 4 * _words()["per_task"]):
            asked.setdefault(spec, prompt)
        kept = islice(asked.items(), _words()["per_task"])
        items += [Item(suite, f"{tag}-{n}", level, prompt, spec, (tag,)) for n, (spec, prompt) in enumerate(kept)]
    return items


@cache
def _words() -> dict[str, Any]:
    text = (files("formalimg.benchmarks.geneval") / "drawn_items.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _specs(tag: str, rng: Random) -> Iterator[tuple[ObjectSpec, str]]:
    """Yield specs of a task with their prompts, at random, without end."""
    words = _words()
    known = vocabulary("knolling").words["color"]
    colors = [color for color in OBJECT_COLORS if color in known]
    while True:
        first, second = rng.sample(words["classes"], 2)
        one, other = rng.sample(colors, 2)
        number = rng.choice(list(words["counts"]))
        relation = rng.choice(RELATIONS)
        exclude: tuple[ExcludedObjects, ...] = ()
        match tag:
            case "single_object":
                include = [IncludedObjects(first, 1)]
                said = _one(first)
            case "two_object":
                include = [IncludedObjects(first, 1), IncludedObjects(second, 1)]
                said = f"{_one(first)} and {_one(second)}"
            case "counting":
                include = [IncludedObjects(first, int(number))]
                exclude = (ExcludedObjects(first, int(number) + 1),)
                said = f"{words['counts'][number]} {words['many'].get(first, f'{first}s')}"
            case "colors":
                include = [IncludedObjects(first, 1, one)]
                said = _one(first, one)
            case "position":
                include = [IncludedObjects(second, 1), IncludedObjects(first, 1, "", relation, 0)]
                said = f"{_one(first)} {words['places'][relation]} {_one(second)}"
            case _:
                include = [IncludedObjects(first, 1, one), IncludedObjects(second, 1, other)]
                said = f"{_one(first, one)} and {_one(second, other)}"
        yield ObjectSpec(tag, tuple(include), exclude), f"a photo of {said}"


def _one(label: str, color: str = "") -> str:
    """Return one object with its article: "an apple", "a red apple"."""
    phrase = f"{color} {_words()['one'].get(label, label)}".strip()
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def arrange_scene(item: Item[object], rng: Random) -> Scene | None:
    """Return a scene with the objects that an item asks for; None if there is none."""
    spec = item.spec
    if not isinstance(spec, ObjectSpec) or unarrangeable_because(spec) is not None:
        return None
    return arrange_objects(spec, rng)
