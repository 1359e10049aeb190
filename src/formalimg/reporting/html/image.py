"""An image with the boxes that were found in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from formalimg.judges import Unscored, Verdict
from formalimg.reporting.exhibits import Exhibit
from formalimg.reporting.html.markup import Markup, element
from formalimg.reporting.thumbnails import Shown
from formalimg.scenes import CANVAS, Scene, SceneError, SceneObject

_VARIABLE = re.compile(r"\?([^\s()]+)")
_LETTER = 6.3
"""About how wide a letter of a label is, in pixels of the thumbnail."""


def image(exhibit: Exhibit) -> Markup:
    """The small image; boxes are shown when it is pointed at, and those of objects that failed always."""
    small = exhibit.thumbnail
    if isinstance(small, str):
        return element("div", element("p", small), class_="image absent")
    scene = _scene(exhibit.judged.verdict)
    objects = () if scene is None else scene.objects
    at_fault = _objects_at_fault(exhibit.judged.verdict)
    boxes = [_box(obj, number in at_fault, small) for number, obj in enumerate(objects)]
    overlay = element("svg", boxes, viewBox=f"0 0 {small.width} {small.height}", aria_hidden="true")
    return element(
        "div",
        element("img", src=small.address, alt=_in_words(exhibit), width=small.width, height=small.height),
        overlay if boxes else "",
        class_="image",
        tabindex="0" if boxes else None,
    )


def _in_words(exhibit: Exhibit) -> str:
    scene = _scene(exhibit.judged.verdict)
    made = f"Image made for item {exhibit.item.id}"
    if scene is None:
        return made
    return f"{made}; found in it: {', '.join(obj.looks() for obj in scene.objects) or 'nothing'}"


def _scene(verdict: Verdict | Unscored) -> Scene | None:
    """What the judge saw, if it says so in a way that can be drawn."""
    try:
        return Scene.from_json(verdict.evidence["scene"]) if "scene" in verdict.evidence else None
    except SceneError:
        return None


def _objects_at_fault(verdict: Verdict | Unscored) -> frozenset[int]:
    """The numbers of the objects that stand for the variables of failed clauses."""
    bindings = verdict.evidence.get("bindings")
    if not isinstance(bindings, Mapping) or isinstance(verdict, Unscored):
        return frozenset()
    bound = {str(name).removeprefix("?"): obj for name, obj in bindings.items()}
    named = {name for part in verdict.parts if part.score < 1 for name in _VARIABLE.findall(part.name)}
    return frozenset(obj for name in named if isinstance(obj := bound.get(name), int))


class _Frame(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def _box(obj: SceneObject, at_fault: bool, small: Shown) -> Markup:
    across, down = small.width / CANVAS, small.height / CANVAS
    frame = _Frame(
        obj.box.xmin * across,
        obj.box.ymin * down,
        (obj.box.xmax - obj.box.xmin) * across,
        (obj.box.ymax - obj.box.ymin) * down,
    )
    words = obj.looks()
    length = min(_LETTER * len(words) + 6, small.width)
    left = min(frame.x, small.width - length)
    # Above the box where there is room, else inside it.
    top = frame.y - 13 if frame.y >= 13 else frame.y
    return element(
        "g",
        element("rect", **frame._asdict(), class_="frame"),
        element("rect", x=left, y=top, width=length, height=13, class_="plate"),
        element("text", words, x=left + 3, y=top + 9.5),
        class_="object fault" if at_fault else "thing",
    )
