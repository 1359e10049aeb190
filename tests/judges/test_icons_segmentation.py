"""Connected pieces of a mask are those that a flood would fill."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from formalimg.judges.grounders.icon_segmentation import Cells, connected_components, outermost

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
    assert sorted(connected_components(mask)) == sorted(_flooded(mask))


@given(MASKS)
def test_the_outermost_pieces_lie_in_no_other(mask: NDArray[np.bool_]) -> None:
    flooded = set(_flooded(mask))
    outer = [cells for cells in flooded if not any(other.contains(cells) for other in flooded - {cells})]
    assert sorted(outermost(flooded)) == sorted(outer)


def test_what_lies_inside_an_outline_belongs_to_it() -> None:
    mask = np.ones((7, 7), np.bool_)
    mask[1:6, 1:6] = False
    mask[3, 3] = True
    assert len(connected_components(mask)) == 2
    assert outermost(connected_components(mask)) == [Cells(0, 0, 7, 7)]


def test_nothing_has_no_pieces() -> None:
    assert connected_components(np.zeros((5, 9), np.bool_)) == []
