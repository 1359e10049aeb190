"""Drawings for GenEval: scenes that satisfy an item, and drawable items for certifying judges."""

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
_TRIES = 500  # So many arrangements are tried: of two objects one in four fits, of more fewer do


def compose_objects(
    spec: ObjectSpec, request: ImageRequest, fits: Callable[[Scene], bool] = lambda scene: True
) -> Scene | Refused | Failed:
    """Return a scene that passes every profile, or a refusal with the reason."""
    reason = unarrangeable_because(spec)
    if reason is not None:
        return Refused(f"cannot be drawn: {reason}")
    scene = arrange_objects(spec, Random(f"{request.seed} {request.sample} {request.prompt}"), fits)
    return Failed("builtin/oracle found no arrangement of these objects") if scene is None else scene


def unarrangeable_because(spec: ObjectSpec) -> str | None:
    """Return why an item's objects cannot be drawn, or None if they can."""
    undrawn = sorted(set(spec.object_classes) - set(drawable_classes()))
    if undrawn:
        return f"there is no drawing of a {undrawn[0]}"
    strange = sorted({included.color for included in spec.include if included.color} - set(_icon_colors()))
    if strange:
        return f"there are no drawings in {strange[0]}"
    total = sum(included.count for included in spec.include)
    if not 1 <= total <= _CELLS * _CELLS:
        return f"it asks for {total} objects, and 1 to {_CELLS * _CELLS} can be drawn"
    return None


def arrange_objects(spec: ObjectSpec, rng: Random, fits: Callable[[Scene], bool] = lambda scene: True) -> Scene | None:
    """Sample a scene that passes every profile, or return None if none of the trials does."""
    requested = [included for included in spec.include for _ in range(included.count)]
    colors, formula = _icon_colors(), to_formula(spec)
    for _ in range(_TRIES):
        cells = rng.sample(range(_CELLS * _CELLS), len(requested))
        objects = [
            SceneObject(included.label, _cell_box(included.label, cell), included.color or rng.choice(colors))
            for included, cell in zip(requested, cells, strict=True)
        ]
        scene = Scene.of(objects)
        detections = scene_detections(scene)
        passes = all(official_verdict(spec, detections, strict=strict).passed for strict in (False, True))
        if passes and verify(formula, scene).passed and fits(scene):
            return scene
    return None


def _icon_colors() -> tuple[str, ...]:
    return vocabulary("knolling").words["color"]


def scene_detections(scene: Scene) -> dict[str, list[dict[str, object]]]:
    """Convert the objects in a scene to detections, grouped by class."""
    detections: dict[str, list[dict[str, object]]] = {}
    for obj in scene.objects:
        detections.setdefault(obj.label, []).append({"box": obj.box, "color": obj.color})
    return detections


def _cell_box(label: str, cell: int) -> Box:
    side, aspect = CANVAS / _CELLS, natural_aspect(label)
    width, height = sqrt(_AREA * aspect), sqrt(_AREA / aspect)
    shrink = min(1.0, _LONGEST / max(width, height)) / 2
    x, y = (cell % _CELLS + 0.5) * side, (cell // _CELLS + 0.5) * side
    edges = (x - width * shrink, y - height * shrink, x + width * shrink, y + height * shrink)
    return Box(*map(round, edges))


def make_drawn_items(suite: str) -> list[Item[Any]]:
    """Return drawable items for all tasks, deterministically so that their ids are stable."""
    rng = Random("drawn items")
    items: list[Item[Any]] = []
    for level, tag in enumerate(TAGS, 1):
        prompts: dict[ObjectSpec, str] = {}
        # Some combinations come twice, so more are drawn than are kept; of single objects there are few.
        for spec, prompt in islice(_sample_specs(tag, rng), 4 * _load_words()["per_task"]):
            prompts.setdefault(spec, prompt)
        selected = islice(prompts.items(), _load_words()["per_task"])
        items += [Item(suite, f"{tag}-{n}", level, prompt, spec, (tag,)) for n, (spec, prompt) in enumerate(selected)]
    return items


@cache
def _load_words() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "drawn_items.toml").read_text(encoding="utf-8"))


def _sample_specs(tag: str, rng: Random) -> Iterator[tuple[ObjectSpec, str]]:
    words = _load_words()
    colors = [color for color in OBJECT_COLORS if color in _icon_colors()]
    while True:
        first, second = rng.sample(words["classes"], 2)
        first_color, second_color = rng.sample(colors, 2)
        number = rng.choice(list(words["counts"]))
        relation = rng.choice(RELATIONS)
        exclude: tuple[ExcludedObjects, ...] = ()
        match tag:
            case "single_object":
                include = [IncludedObjects(first, 1)]
                phrase = _with_article(first)
            case "two_object":
                include = [IncludedObjects(first, 1), IncludedObjects(second, 1)]
                phrase = f"{_with_article(first)} and {_with_article(second)}"
            case "counting":
                include = [IncludedObjects(first, int(number))]
                exclude = (ExcludedObjects(first, int(number) + 1),)
                phrase = f"{words['counts'][number]} {words['many'].get(first, f'{first}s')}"
            case "colors":
                include = [IncludedObjects(first, 1, first_color)]
                phrase = _with_article(first, first_color)
            case "position":
                include = [IncludedObjects(second, 1), IncludedObjects(first, 1, "", relation, 0)]
                phrase = f"{_with_article(first)} {words['places'][relation]} {_with_article(second)}"
            case _:
                include = [IncludedObjects(first, 1, first_color), IncludedObjects(second, 1, second_color)]
                phrase = f"{_with_article(first, first_color)} and {_with_article(second, second_color)}"
        yield ObjectSpec(tag, tuple(include), exclude), f"a photo of {phrase}"


def _with_article(label: str, color: str = "") -> str:
    phrase = f"{color} {_load_words()['one'].get(label, label)}".strip()
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"
