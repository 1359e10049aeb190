"""Segmentation of drawings into connected components, with subpixel edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from formalimg._util.transformer import Floats, Weights, encoder_layer, grid_positions, norm, softmax, to_patches
from formalimg.drawing.icon_scene import draw
from formalimg.judges.boxes import box_overlap
from formalimg.scenes.objects import CANVAS, Box
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALL_SIDE = 128  # The width and height of small images, whose objects a detector reads


class Cells(NamedTuple):
    """A half-open rectangle of grid cells."""

    left: int
    top: int
    right: int
    bottom: int


def find_outermost(components: Iterable[Cells]) -> list[Cells]:
    """Return the components that are not contained in another, from top to bottom.

    A component within the rectangle of another belongs to it: the parts inside an outline may not touch it.
    """
    outer: list[Cells] = []
    for cells in sorted(components, key=lambda cells: (cells.left - cells.right) * (cells.bottom - cells.top)):
        left, top, right, bottom = cells
        if not any(
            larger.left <= left and larger.top <= top and right <= larger.right and bottom <= larger.bottom
            for larger in outer
        ):
            outer.append(cells)
    return sorted(outer, key=lambda cells: (cells.top, cells.left))


def find_components(mask: NDArray[np.bool_]) -> list[Cells]:
    """Return the bounding rectangles of the 8-connected components of a mask."""
    height, width = mask.shape
    # Counted along the image, with a spare column, runs of one row touch those of the next that start up to their end
    # and end from their start on; all runs are one ascending list.
    stride = width + 1
    line = np.zeros(height * stride + 1, np.bool_)
    line[1:].reshape(height, stride)[:, :width] = mask
    edges = np.flatnonzero(line[1:] != line[:-1])
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return []
    first = np.searchsorted(ends, starts + stride, side="left")
    last = np.searchsorted(starts, ends + stride, side="right")
    touching = np.maximum(last - first, 0)
    above = np.repeat(np.arange(len(starts)), touching)
    below = np.arange(len(above)) + np.repeat(first - np.cumsum(touching) + touching, touching)
    roots = _find_roots(len(starts), above, below)
    order = np.argsort(roots, kind="stable")
    bounds = np.flatnonzero(np.diff(roots[order], prepend=-1))
    rows, lefts = np.divmod(starts[order], stride)
    rights = ends[order] - rows * stride
    return [
        Cells(*sides)
        for sides in zip(
            np.minimum.reduceat(lefts, bounds).tolist(),
            rows[bounds].tolist(),
            np.maximum.reduceat(rights, bounds).tolist(),
            (np.maximum.reduceat(rows, bounds) + 1).tolist(),
            strict=True,
        )
    ]


def _find_roots(runs: int, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the root run of each run's component, given pairs of touching runs."""
    roots = np.arange(runs)
    while True:
        smaller, larger = np.minimum(roots[first], roots[second]), np.maximum(roots[first], roots[second])
        apart = smaller != larger
        if not apart.any():
            return roots
        np.minimum.at(roots, larger[apart], smaller[apart])
        while (jumped := roots[roots]).tobytes() != roots.tobytes():  # until each names the first of its tree
            roots = jumped


_MIN_CONTRAST = 28
"""The minimum contrast with the background, in the channel that differs most, of a pixel that may be part of an object:
the blurred outline of a white object has no more."""

_SURE_CONTRAST = 50  # The contrast that some pixel of every object reaches
_FAINT, _SPECK = 90, 8
"""The ringing of JPEG leaves specks beside objects; no part of a drawing is so faint and (on the canvas) so small."""

_POOL = 2
"""Components are found on a grid of cells of so many pixels, so that outlines thinned by scaling stay connected."""

_BACKGROUND_TOLERANCE = 14
_MIN_BACKGROUND = 0.1  # The minimum share of background in a drawing
_NEAR, _FAR = 3, 8
"""Within so many pixels of its edge an outline is at its darkest. The nearer suits pale outlines; the farther skips the
ringing of JPEG in front of dark ones."""

_SAME_EDGE = 0.5

_MAX_OBJECTS, _MAX_COMPONENTS = 150, 1500  # No drawing has more objects, or components that they consist of


class PixelBox(NamedTuple):
    """A rectangle in an image, in fractional pixel coordinates."""

    left: float
    top: float
    right: float
    bottom: float


class NotADrawing(NamedTuple):
    """The reason why an image cannot be a drawing."""

    why: str


def reduce_blocks(image: Image.Image) -> Image.Image | None:
    """Undo an integer upscaling of a small image, or return None if the image is not one."""
    factor, rest = divmod(image.width, SMALL_SIDE)
    if image.height != image.width or rest or not factor:
        return None
    pixels = np.asarray(image)
    small = pixels[::factor, ::factor]
    blocks = pixels.reshape(SMALL_SIDE, factor, SMALL_SIDE, factor, -1)
    if not (blocks == small[:, None, :, None]).all():
        return None
    return Image.fromarray(np.ascontiguousarray(small))


def find_objects(image: Image.Image) -> list[tuple[PixelBox, ...]] | NotADrawing:
    """Find objects on the background, and return all candidate boxes for each."""
    pixels = np.asarray(image)
    contrast = _compute_contrast(pixels, drawing_background())
    pooled = _pool_contrast(contrast)
    if not _is_mostly_flat(pooled):
        background = _background_of(image)
        if background is None:
            return NotADrawing("the background of this image is another")
        if background != drawing_background():
            contrast = _compute_contrast(pixels, background)
            pooled = _pool_contrast(contrast)
    speck = _SPECK * max(image.size) / CANVAS / _POOL
    clear = []
    for cells in find_components(pooled > _MIN_CONTRAST):
        is_speck = max(cells.right - cells.left, cells.bottom - cells.top) < speck
        strongest = pooled[cells.top : cells.bottom, cells.left : cells.right].max()
        if strongest > (_FAINT if is_speck else _SURE_CONTRAST):
            clear.append(cells)
    objects = find_outermost(clear) if len(clear) <= _MAX_COMPONENTS else clear
    if len(objects) > _MAX_OBJECTS:
        return NotADrawing(f"this image has {len(objects)} separate parts")
    return [_candidate_boxes(contrast, cells) for cells in objects]


@cache
def drawing_background() -> tuple[int, int, int]:
    """Return the background colour of all drawings."""
    red, green, blue = np.asarray(draw(Scene.of([]), size=64))[0, 0].tolist()
    return red, green, blue


_OVERVIEW = 128  # The background is found in a copy of the image with so many pixels along a side


def _background_of(image: Image.Image) -> tuple[int, int, int] | None:
    """Return the image's background colour, or None if it is too different from that of drawings."""
    overview = image.resize((_OVERVIEW, _OVERVIEW), Image.Resampling.BOX)
    channels = [np.asarray(channel) for channel in overview.split()]
    away = [np.abs(channel - np.int16(level)) for channel, level in zip(channels, drawing_background(), strict=True)]
    near = np.maximum(np.maximum(away[0], away[1]), away[2]) <= _BACKGROUND_TOLERANCE
    if near.mean() < _MIN_BACKGROUND:
        return None
    red, green, blue = [int(np.median(channel[near])) for channel in channels]
    return red, green, blue


def _is_mostly_flat(pooled: NDArray[np.uint8]) -> bool:
    """Return whether most of the image has exactly the background colour of drawings."""
    (down, rest_down), (across, rest_across) = [divmod(side, _OVERVIEW) for side in pooled.shape]
    if not down or not across or rest_down or rest_across:
        return False
    rows = np.maximum.reduce([pooled[row::down] for row in range(down)])
    strongest = np.maximum.reduce([rows[:, column::across] for column in range(across)])
    return bool(2 * np.count_nonzero(strongest) < strongest.size)


_CHANNELS = 3


def _compute_contrast(pixels: NDArray[np.uint8], background: tuple[int, int, int]) -> NDArray[np.uint8]:
    height, width, _ = pixels.shape
    levels = pixels.reshape(height, width * _CHANNELS)
    flat = np.tile(np.array(background, np.uint8), width)
    contrast: NDArray[np.uint8] = np.maximum(levels, flat) - np.minimum(levels, flat)
    return contrast


def _pool_contrast(contrast: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the maximum contrast over all channels in each 2×2 pixel block."""
    height, channels = contrast.shape
    if height % _POOL or channels // _CHANNELS % _POOL:
        missing = channels // _CHANNELS % _POOL * _CHANNELS
        contrast = np.pad(contrast, ((0, height % _POOL), (0, missing)))
    rows = np.maximum(contrast[::_POOL], contrast[1::_POOL])
    pairs = np.maximum(rows[:, :-_CHANNELS], rows[:, _CHANNELS:])
    red, green, blue = [pairs[:, channel :: _POOL * _CHANNELS] for channel in range(_CHANNELS)]
    return np.maximum(np.maximum(red, green), blue)


def _candidate_boxes(contrast: NDArray[np.uint8], cells: Cells) -> tuple[PixelBox, ...]:
    height, width = contrast.shape[0], contrast.shape[1] // _CHANNELS
    left, top = max((cells.left - 1) * _POOL, 0), max((cells.top - 1) * _POOL, 0)
    right, bottom = min((cells.right + 1) * _POOL, width), min((cells.bottom + 1) * _POOL, height)
    region = contrast[top:bottom, left * _CHANNELS : right * _CHANNELS]
    across = region.max(axis=0).reshape(-1, _CHANNELS).max(axis=1).tolist()
    down = region.max(axis=1).tolist()
    profiles = [_Profile(levels) for levels in (across, down, across[::-1], down[::-1])]
    far, near = (
        PixelBox(
            left + profiles[0].edge(depth),
            top + profiles[1].edge(depth),
            right - profiles[2].edge(depth),
            bottom - profiles[3].edge(depth),
        )
        for depth in (_FAR, _NEAR)
    )
    same = max(abs(first - second) for first, second in zip(far, near, strict=True)) < _SAME_EDGE
    return (far,) if same else (far, near)


class _Profile:
    """The contrast profile of an object along one direction, starting at one of its sides."""

    def __init__(self, levels: list[int]) -> None:
        self._levels = levels
        self._begin = next((at for at, level in enumerate(levels) if level > _MIN_CONTRAST), 0)

    def edge(self, depth: int) -> float:
        """Return the position where the profile reaches half of its first maximum, in fractional pixels."""
        levels = self._levels
        half = max(levels[self._begin : self._begin + depth]) / 2
        inside = next(at for at, level in enumerate(levels) if level >= half)
        before = levels[inside - 1] if inside else 0
        return inside - 0.5 + (half - before) / (levels[inside] - before)


# --- icons in small images

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


def has_drawn_background(image: Image.Image) -> bool:
    """Return whether enough of the image has the background colour of drawings."""
    distance = np.abs(np.asarray(image, dtype=np.int16) - np.array(drawing_background(), dtype=np.int16)).max(axis=-1)
    return bool((distance <= _BACKGROUND_NOISE).mean() >= _MIN_BACKGROUND)


def predict_icons(image: Image.Image) -> Floats:
    """Return the network's predictions for each patch of a small image."""
    weights, _, _ = _load_network()
    pixels = np.asarray(image, dtype=np.float32) / np.float32(127.5) - 1
    x = weights.linear("patch", to_patches(pixels, _PATCH))
    x = x + grid_positions(_GRID, x.shape[1])
    for layer in weights.parts("layers"):
        x = encoder_layer(layer, x)
    return weights.linear("out", norm(x))


def decode_icons(predicted: Floats) -> list[SmallIcon]:
    """Decode the network's predictions to objects, in descending order of confidence."""
    _, classes, colors = _load_network()
    scores = 1 / (1 + np.exp(-predicted[:, 0]))
    nouns = 5 + len(classes)
    candidates: list[tuple[int, PixelBox]] = []
    total: list[float] = []
    for patch in map(int, np.argsort(-scores, kind="stable")):
        if scores[patch] < _MIN_PATCH_SCORE:
            break
        row, column = divmod(patch, _GRID)
        x, y = (column + 0.5) * _PATCH, (row + 0.5) * _PATCH
        left, top, right, bottom = (float(offset) * _PATCH for offset in predicted[patch, 1:5])
        left, top = (min(max(edge, 0.0), SMALL_SIDE - 1.0) for edge in (x + left, y + top))
        right, bottom = (min(edge, float(SMALL_SIDE)) for edge in (max(x + right, left + 1), max(y + bottom, top + 1)))
        edges = PixelBox(left, top, right, bottom)
        overlaps = (box_overlap(Box(*edges), Box(*rival)) for _, rival in candidates)
        same = next((number for number, overlap in enumerate(overlaps) if overlap > _SAME_OBJECT), None)
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
        label, color = classes[best], colors[int(colored.argmax())]
        icons.append(SmallIcon(edges, label, color, min(sure, max(score, 1 - score)), classes[rival]))
    return icons


def find_unexplained(components: Sequence[PixelBox], icons: Sequence[SmallIcon]) -> PixelBox | None:
    """Return a connected component that extends beyond the objects found in it, or None."""
    for component in components:
        inside = [icon.edges for icon in icons if box_overlap(Box(*component), Box(*icon.edges)) > 0]
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


@cache
def _load_network() -> tuple[Weights, tuple[str, ...], tuple[str, ...]]:
    with (files("formalimg.judges.grounders") / "small_icons.npz").open("rb") as file, np.load(file) as arrays:
        classes, colors = (tuple(str(word) for word in arrays[name]) for name in ("classes", "colors"))
        names = [name for name in arrays.files if name not in ("classes", "colors")]
        return Weights({name: arrays[name].astype(np.float32) for name in names}), classes, colors
