"""Connected pieces of a mask, found run by run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageChops

from formalimg.scenes import CANVAS, Scene, draw

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Cells(NamedTuple):
    """A rectangle of a grid: from the first column and row to the ones after the last."""

    left: int
    top: int
    right: int
    bottom: int

    def holds(self, other: Cells) -> bool:
        """Does the other lie within this one?"""
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


def outermost(pieces: Iterable[Cells]) -> list[Cells]:
    """The pieces that do not lie within another, from top to bottom.

    A piece within the rectangle of another belongs to it: what is painted inside an outline is not always joined to it.
    """
    outer: list[Cells] = []
    for cells in sorted(pieces, key=lambda cells: (cells.left - cells.right) * (cells.bottom - cells.top)):
        if not any(larger.holds(cells) for larger in outer):
            outer.append(cells)
    return sorted(outer, key=lambda cells: (cells.top, cells.left))


def connected(mask: NDArray[np.bool_]) -> list[Cells]:
    """The bounding rectangles of the connected pieces of a mask, corners counting as neighbours."""
    height, width = mask.shape
    framed = np.zeros((height, width + 2), np.int8)
    framed[:, 1:-1] = mask
    steps = np.diff(framed, axis=1)
    rows, starts = np.nonzero(steps == 1)
    ends = np.nonzero(steps == -1)[1]
    if not len(rows):
        return []
    # Runs of one row touch those of the next that start before their end and end after their start. Counted along the
    # image, with a spare column on either side, each row's runs are neighbours in one ascending list.
    stride = width + 2
    next_row = (rows + 1) * stride
    first = np.searchsorted(rows * stride + ends, next_row + starts, side="left")
    last = np.searchsorted(rows * stride + starts, next_row + ends, side="right")
    root = list(range(len(rows)))

    def find(run: int) -> int:
        while root[run] != run:
            root[run] = root[root[run]]
            run = root[run]
        return run

    for run, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for below in range(low, high):
            one, other = find(run), find(below)
            root[max(one, other)] = min(one, other)
    roots = np.array([find(run) for run in range(len(rows))])
    names, piece = np.unique(roots, return_inverse=True)
    lows = np.full((len(names), 2), max(width, height))
    highs = np.zeros((len(names), 2), int)
    np.minimum.at(lows, piece, np.stack([starts, rows], axis=1))
    np.maximum.at(highs, piece, np.stack([ends, rows + 1], axis=1))
    return [Cells(*low, *high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


_STANDS_OUT = 28
"""How far from the background, in the channel that differs most, a pixel may be part of an object: the outline of a white
object, when blurred, is no farther."""

_STANDS_OUT_FOR_SURE = 50
"""How far some pixel of every object is."""

_FAINT, _SPECK = 90, 8
"""The ringing of JPEG leaves specks beside objects; nothing that is drawn is so faint and (on the canvas) so small."""

_POOL = 2
"""Pieces are looked for on a grid of so many pixels, so that outlines thinned by scaling stay connected."""

_BACKGROUND_TOLERANCE = 14
_LEAST_BACKGROUND = 0.1
"""Of a drawing, at least this share is background."""

_NEAR, _FAR = 3, 8
"""Within so many pixels of its edge an outline is at its darkest. The nearer suits pale outlines; the farther passes
over the ringing of JPEG in front of dark ones."""

_SAME_EDGE = 0.5

_MAX_OBJECTS, _MOST_PIECES = 150, 1500
"""More than so many objects, or pieces that they are made of, are on no drawing."""


class Edges(NamedTuple):
    """A rectangle in an image, in fractions of a pixel."""

    left: float
    top: float
    right: float
    bottom: float


class NoDrawing(NamedTuple):
    """Why an image cannot be a drawing."""

    why: str


def find_objects(image: Image.Image) -> list[tuple[Edges, ...]] | NoDrawing:
    """Where something stands out from the background. Each object comes with all rectangles that could be its box."""
    background = _background_of(image)
    if background is None:
        return NoDrawing("the background of this image is another")
    red, green, blue = ImageChops.difference(image, Image.new("RGB", image.size, background)).split()
    contrast = np.asarray(ImageChops.lighter(ImageChops.lighter(red, green), blue))
    pooled = _pooled(contrast)
    speck = _SPECK * max(image.size) / CANVAS / _POOL
    clear = [cells for cells in connected(pooled > _STANDS_OUT) if _is_clear(pooled, cells, speck)]
    objects = outermost(clear) if len(clear) <= _MOST_PIECES else clear
    if len(objects) > _MAX_OBJECTS:
        return NoDrawing(f"this image has {len(objects)} separate parts")
    return [_possible_edges(contrast, cells) for cells in objects]


@cache
def drawing_background() -> tuple[int, int, int]:
    """The colour behind all drawings."""
    red, green, blue = np.asarray(draw(Scene.of([]), size=64))[0, 0].tolist()
    return red, green, blue


def _background_of(image: Image.Image) -> tuple[int, int, int] | None:
    """The colour that the image's background has, if enough of the image has about the right one."""
    pixels = np.asarray(image.resize((128, 128), Image.Resampling.BOX)).reshape(-1, 3).astype(np.int16)
    near = np.abs(pixels - np.array(drawing_background(), np.int16)).max(axis=1) <= _BACKGROUND_TOLERANCE
    if near.mean() < _LEAST_BACKGROUND:
        return None
    red, green, blue = np.median(pixels[near], axis=0).astype(int).tolist()
    return red, green, blue


def _is_clear(pooled: NDArray[np.uint8], cells: Cells, speck: float) -> bool:
    """Is this part of an object, and not noise?"""
    strongest = pooled[cells.top : cells.bottom, cells.left : cells.right].max()
    is_speck = max(cells.right - cells.left, cells.bottom - cells.top) < speck
    return bool(strongest > (_FAINT if is_speck else _STANDS_OUT_FOR_SURE))


def _pooled(contrast: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The strongest contrast in each cell of two by two pixels."""
    height, width = contrast.shape
    even = np.zeros((height + height % _POOL, width + width % _POOL), np.uint8)
    even[:height, :width] = contrast
    rows = np.maximum(even[::_POOL], even[1::_POOL])
    return np.maximum(rows[:, ::_POOL], rows[:, 1::_POOL])


def _possible_edges(contrast: NDArray[np.uint8], cells: Cells) -> tuple[Edges, ...]:
    height, width = contrast.shape
    left, top = max((cells.left - 1) * _POOL, 0), max((cells.top - 1) * _POOL, 0)
    right, bottom = min((cells.right + 1) * _POOL, width), min((cells.bottom + 1) * _POOL, height)
    region = contrast[top:bottom, left:right]
    across, down = region.max(axis=0).astype(float), region.max(axis=1).astype(float)
    far, near = (
        Edges(
            left + _edge(across, depth),
            top + _edge(down, depth),
            right - _edge(across[::-1], depth),
            bottom - _edge(down[::-1], depth),
        )
        for depth in (_FAR, _NEAR)
    )
    same = max(abs(one - other) for one, other in zip(far, near, strict=True)) < _SAME_EDGE
    return (far,) if same else (far, near)


def _edge(profile: NDArray[np.float64], depth: int) -> float:
    """Where a profile rises to half of its first height, counted from its start in fractions of a pixel."""
    begin = int(np.argmax(profile > _STANDS_OUT))
    half = profile[begin : begin + depth].max() / 2
    inside = int(np.argmax(profile >= half))
    before = profile[inside - 1] if inside else 0.0
    return float(inside - 0.5 + (half - before) / (profile[inside] - before))
