"""Icon detection in images of 128 pixels, where objects are too small for templates, by a transformer.

Its weights (`small_icons.npz`) were trained by `training/train_detector.py` on drawings. What it says is believed only
on the background of drawings, if all of it is clear, and if it explains every part that stands out; otherwise the image
is unscored. It knows nothing but drawings: a blot on such a background may be taken for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from formalimg._util.transformer import Floats, Weights, encoder_layer, grid_positions, norm, softmax, to_patches
from formalimg.judges.grounders.icon_segmentation import SMALL_SIDE, PixelBox, drawing_background

if TYPE_CHECKING:
    from PIL.Image import Image

_PATCH = 8
_GRID = SMALL_SIDE // _PATCH

_MIN_SCORE = 0.2  # What is less likely than this to be an object is none; between this and its opposite is doubt
_MIN_PATCH_SCORE = 0.03  # Patches that are less likely than this to hold the centre of an object do not count
_SAME_OBJECT = 0.5  # Two boxes whose intersection is more than this share of their union are the same object
_BACKGROUND_NOISE, _MIN_BACKGROUND = 16, 0.4
"""Levels by which a pixel of the background may differ, and the least share of such pixels."""

_SLACK = 2.0  # An object may extend by so many pixels beyond its box


class SmallIcon(NamedTuple):
    """An object detected in a small image."""

    edges: PixelBox  # where it is, in pixels
    label: str  # its class
    color: str  # its colour
    confidence: float  # 0 to 1, the least of the probabilities that there is an object, of its class, and of its colour
    rival: str  # the next most likely class


def has_drawn_background(image: Image) -> bool:
    """Return whether enough of the image has the background colour of drawings."""
    distance = np.abs(np.asarray(image, dtype=np.int16) - np.array(drawing_background(), dtype=np.int16)).max(axis=-1)
    return bool((distance <= _BACKGROUND_NOISE).mean() >= _MIN_BACKGROUND)


def predict_icons(image: Image) -> Floats:
    """Return the network's predictions for each patch of a small image."""
    network = _load_network()
    pixels = np.asarray(image, dtype=np.float32) / np.float32(127.5) - 1
    x = network.weights.linear("patch", to_patches(pixels, _PATCH))
    x = x + grid_positions(_GRID, x.shape[1])
    for layer in network.weights.parts("layers"):
        x = encoder_layer(layer, x)
    return network.weights.linear("out", norm(x))


def decode_icons(predicted: Floats) -> list[SmallIcon]:
    """Decode the network's predictions to objects, in descending order of confidence."""
    network = _load_network()
    scores = 1 / (1 + np.exp(-predicted[:, 0]))
    nouns = 5 + len(network.classes)
    candidates: list[tuple[int, PixelBox]] = []
    total: list[float] = []
    for patch in map(int, np.argsort(-scores, kind="stable")):
        if scores[patch] < _MIN_PATCH_SCORE:
            break
        edges = _decode_edges(predicted[patch, 1:5], patch)
        same = next((n for n, (_, rival) in enumerate(candidates) if _boxes_overlap(edges, rival) > _SAME_OBJECT), None)
        if same is None:
            candidates.append((patch, edges))
            total.append(float(scores[patch]))
        else:
            # An object whose centre is near the edge of a patch is claimed by both: one of the two is right.
            total[same] += float(scores[patch])
    icons = []
    for (patch, edges), score in zip(candidates, (min(score, 1.0) for score in total), strict=True):
        if score < _MIN_SCORE:
            continue
        named, colored = softmax(predicted[patch, 5:nouns]), softmax(predicted[patch, nouns:])
        best, rival = np.argsort(-named)[:2]
        sure = min(float(named[best]), float(colored.max())) if score >= 0.5 else 1.0
        label, color = network.classes[best], network.colors[int(colored.argmax())]
        icons.append(SmallIcon(edges, label, color, min(sure, max(score, 1 - score)), network.classes[rival]))
    return icons


def _decode_edges(offsets: Floats, patch: int) -> PixelBox:
    row, column = divmod(patch, _GRID)
    across, down = (column + 0.5) * _PATCH, (row + 0.5) * _PATCH
    left, top, right, bottom = (float(offset) * _PATCH for offset in offsets)
    return PixelBox(*_clip_edges(across + left, down + top, across + right, down + bottom))


def find_unexplained(components: Sequence[PixelBox], icons: Sequence[SmallIcon]) -> PixelBox | None:
    """Return a connected component that extends beyond the objects found in it, or None."""
    for component in components:
        inside = [icon.edges for icon in icons if _boxes_touch(component, icon.edges)]
        if not inside:
            return component
        reach = PixelBox(
            min(edges.left for edges in inside),
            min(edges.top for edges in inside),
            max(edges.right for edges in inside),
            max(edges.bottom for edges in inside),
        )
        beyond = (
            reach.left - component.left,
            reach.top - component.top,
            component.right - reach.right,
            component.bottom - reach.bottom,
        )
        if max(beyond) > _SLACK:
            return component
    return None


class _Network(NamedTuple):
    weights: Weights
    classes: tuple[str, ...]
    colors: tuple[str, ...]


@cache
def _load_network() -> _Network:
    with (files("formalimg.judges.grounders") / "small_icons.npz").open("rb") as file, np.load(file) as arrays:
        classes, colors = (tuple(str(word) for word in arrays[name]) for name in ("classes", "colors"))
        names = [name for name in arrays.files if name not in ("classes", "colors")]
        return _Network(Weights({name: arrays[name].astype(np.float32) for name in names}), classes, colors)


def _clip_edges(left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
    """Clip box edges to the image, keeping them at least one pixel apart."""
    left, top = min(max(left, 0.0), SMALL_SIDE - 1.0), min(max(top, 0.0), SMALL_SIDE - 1.0)
    return left, top, min(max(right, left + 1), float(SMALL_SIDE)), min(max(bottom, top + 1), float(SMALL_SIDE))


def _boxes_touch(first: PixelBox, second: PixelBox) -> bool:
    return (
        first.left < second.right
        and second.left < first.right
        and first.top < second.bottom
        and second.top < first.bottom
    )


def _boxes_overlap(first: PixelBox, second: PixelBox) -> float:
    """Return the intersection over union of two boxes."""
    across = max(0.0, min(first.right, second.right) - max(first.left, second.left))
    down = max(0.0, min(first.bottom, second.bottom) - max(first.top, second.top))
    areas = [(box.right - box.left) * (box.bottom - box.top) for box in (first, second)]
    return across * down / (sum(areas) - across * down)
