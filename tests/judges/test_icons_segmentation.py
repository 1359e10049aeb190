"""Connected pieces of a mask are those that a flood would fill."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from formalimg.drawing.icon_scene import draw
from formalimg.judges.certificates.grounder_certificate import CONDITIONS, random_scenes
from formalimg.judges.grounders import icon_segmentation
from formalimg.judges.grounders.icon_segmentation import Cells, drawing_background, find_components, find_outermost

MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.booleans())


def _flooded(mask: NDArray[np.bool_]) -> list[Cells]:
    """The rectangles of all pieces, one cell after the other."""
    left = {(int(y), int(x)) for y, x in np.argwhere(mask)}
    found = []
    while left:
        piece, edge = set(), [left.pop()]
        while edge:
            y, x = edge.pop()
            piece.add((y, x))
            around = {(y + down, x + across) for down in (-1, 0, 1) for across in (-1, 0, 1)} & left
            left -= around
            edge.extend(around)
        rows, columns = [y for y, _ in piece], [x for _, x in piece]
        found.append(Cells(min(columns), min(rows), max(columns) + 1, max(rows) + 1))
    return found


@given(MASKS)
def test_pieces_are_what_a_flood_fills(mask: NDArray[np.bool_]) -> None:
    assert sorted(find_components(mask)) == sorted(_flooded(mask))


def _contains(outer: Cells, inner: Cells) -> bool:
    left, top, right, bottom = inner
    return outer.left <= left and outer.top <= top and right <= outer.right and bottom <= outer.bottom


@given(MASKS)
def test_the_outermost_pieces_lie_in_no_other(mask: NDArray[np.bool_]) -> None:
    flooded = set(_flooded(mask))
    outer = [cells for cells in flooded if not any(_contains(other, cells) for other in flooded - {cells})]
    assert sorted(find_outermost(flooded)) == sorted(outer)


def test_what_lies_inside_an_outline_belongs_to_it() -> None:
    mask = np.ones((7, 7), np.bool_)
    mask[1:6, 1:6] = False
    mask[3, 3] = True
    assert len(find_components(mask)) == 2
    assert find_outermost(find_components(mask)) == [Cells(0, 0, 7, 7)]


def test_nothing_has_no_pieces() -> None:
    assert find_components(np.zeros((5, 9), np.bool_)) == []


def test_a_background_seen_to_be_flat_is_the_median_of_the_overview() -> None:
    seen = []
    for scene in random_scenes(3, seed=5):
        for degrade in CONDITIONS.values():
            for size in (256, 300, 512, 768):
                image = degrade(draw(scene, size), 1)
                flat = icon_segmentation._is_mostly_flat(_pooled(np.asarray(image)))
                assert not flat or icon_segmentation._background_of(image) == drawing_background()
                seen.append(flat)
    assert 0 < sum(seen) < len(seen)


@given(arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))))
def test_cells_have_the_strongest_contrast_of_their_pixels(pixels: NDArray[np.uint8]) -> None:
    contrast = np.abs(pixels.astype(int) - drawing_background()).max(axis=2)
    pooled = _pooled(pixels)
    assert pooled.shape == tuple((side + 1) // 2 for side in contrast.shape)
    for (y, x), strongest in np.ndenumerate(pooled):
        assert strongest == contrast[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].max()


def _pooled(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return icon_segmentation._pool_contrast(icon_segmentation._compute_contrast(pixels, drawing_background()))
