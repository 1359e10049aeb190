"""Rendering of drawn scenes: icons with shapes, materials and states, painted in depth order and in a style."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from formalimg.drawing import materials, shapes, states, styles, textures
from formalimg.drawing.catalog import FRONT, OVERLAY_STATES, DrawnCatalog, DrawnClass, drawn_catalog
from formalimg.drawing.icon import Icon, Tones, palette
from formalimg.drawing.icon_scene import DrawingError, outline_width, pixel_frame
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.svg import IconDrawing, icon_drawing, render_on_ground
from formalimg.scenes.objects import NO_WORD, SceneObject
from formalimg.scenes.spatial_relations import carrier_chains

if TYPE_CHECKING:
    from PIL.Image import Image


def draw_scene(drawn: DrawnScene, size: int = 1024, catalog: DrawnCatalog | None = None) -> Image:
    """Render a drawn scene deterministically as a square image of `size` pixels.

    Every object fills its box, and nothing is painted outside the box. Objects are painted in depth order; the contents
    of a container are painted over it, followed by the front of the container if it has one.

    Raises:
        DrawingError: if a class has no icon, a colour is unknown, or a box is too small to be painted.
        FormalimgError: if a material, shape, state or style cannot be drawn.
    """
    painter = _ScenePainter(drawn, size, catalog or drawn_catalog())
    image = render_on_ground("".join(painter.elements()), size)
    if drawn.style is None:
        return image
    return styles.apply(image, drawn.style, zlib.crc32(json.dumps(drawn.to_json()).encode()))


class _ScenePainter:
    """Converts the objects of a scene to SVG elements."""

    def __init__(self, drawn: DrawnScene, size: int, catalog: DrawnCatalog) -> None:
        self.drawn, self.size, self.catalog = drawn, size, catalog
        records = drawn.scene.relations or ()
        self.inside = {record.first: record.second for record in records if record.predicate == "In"}
        self.carriers = {record.second for record in records if record.predicate == "On"}

    def elements(self) -> Iterator[str]:
        """Yield the SVG elements from back to front, with container fronts after their contents."""
        order = list(self.drawn.order)
        chains = carrier_chains(self.drawn.scene)
        last = {
            container: max(
                order.index(thing) for thing, chain in enumerate(chains) if self._is_within(thing, chain, container)
            )
            for container in set(self.inside.values())
        }
        for index, number in enumerate(order):
            yield self._object(number, None)
            # Of nested containers the inner one is closed first.
            closed = [container for container, end in last.items() if end == index]
            for container in sorted(closed, key=lambda number: -len(chains[number])):
                obj = self.drawn.scene.objects[container]
                if self._entry(container).paints_front(obj.shape, obj.states):
                    yield self._object(container, FRONT)

    def _is_within(self, thing: int, chain: list[int], container: int) -> bool:
        """Return whether an object is inside a container, directly or through the objects that carry it."""
        return any(self.inside.get(carrier) == container for carrier in (thing, *chain))

    def _entry(self, number: int) -> DrawnClass:
        return self.catalog.entry(self.drawn.scene.objects[number].label)

    def _object(self, number: int, part: str | None) -> str:
        obj, entry = self.drawn.scene.objects[number], self._entry(number)
        contains = number in set(self.inside.values())
        variant = part or entry.variant(obj.states, carries=number in self.carriers, contains=contains)
        icon = self.catalog.icon(obj.label, variant)
        if icon is None:
            name = obj.label if variant is None else f"{obj.label} ({variant})"
            raise DrawingError(f"there is no drawing of {name!r}: ask why_not_drawable before drawing")
        key = f"o{number}" if part is None else f"o{number}-{part}"
        drawing = paint_object(replace(obj, label=entry.label), icon, entry, self.size, key)
        left, top, width, height = drawing.frame
        clip = f'<clipPath id="{key}-frame"><rect x="{left}" y="{top}" width="{width}" height="{height}"/></clipPath>'
        return f'<defs>{clip}{drawing.defs}</defs><g clip-path="url(#{key}-frame)">{drawing.body}</g>'


def paint_object(obj: SceneObject, icon: Icon, entry: DrawnClass, size: int, key: str) -> IconDrawing:
    """Paint an object: its icon in its shape, colour and material, with overlay states on top."""
    tones = object_tones(obj, entry)
    frame = pixel_frame(obj, size)
    if obj.shape is not None and obj.shape != NO_WORD:
        icon = shapes.apply(icon, obj.shape)
    paints = {**palette().accents, **tones._asdict()}
    drawing = plain = icon_drawing(icon, frame, paints, outline_width(frame, size))
    if obj.material is not None and obj.material != NO_WORD:
        drawing = materials.apply(drawing, obj.material, tones, key)
        if obj.shape is not None and obj.shape != NO_WORD and obj.material not in materials.LINED:
            drawing = replace(drawing, body=drawing.body + textures.icon_lines(plain))
    for state in obj.states:
        if state in OVERLAY_STATES:
            drawing = states.apply(drawing, state, key)
    return drawing


def object_tones(obj: SceneObject, entry: DrawnClass) -> Tones:
    """Return the tones of an object from its colour, its material or the natural tint of its class."""
    color = obj.color
    if color is None or color == NO_WORD:
        natural = None if obj.material in (None, NO_WORD) else materials.natural_tones(str(obj.material))
        if natural is not None:
            return natural
        color = entry.tint
    tones = {**palette().others, **palette().colors}
    if color not in tones:
        raise DrawingError(f"a {obj.label} cannot be {color!r}: the colours are {', '.join(tones)}")
    return tones[color]
