"""What the embedded grounder compares objects with is what the package draws."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.draw_looks import draw_looks

from formalimg.judges.grounders import icon_recognition
from formalimg.judges.grounders.icon_recognition import LOOKS_FILE, CellGrid, list_kinds
from tests.support.sizes import only_in_full


@only_in_full
def test_the_looks_that_ship_are_those_that_are_drawn() -> None:
    drawn = draw_looks()
    with (files("formalimg.judges.grounders") / LOOKS_FILE).open("rb") as file, np.load(file) as shipped:
        assert len(list_kinds()) == len(shipped["bold"]) == len(shipped["fine"])
        for name, fresh in drawn.items():
            # Another version of the library that draws may round a shade differently, and nothing more.
            assert np.abs(shipped[name].astype(int) - fresh.astype(int)).max() <= 8, name


def test_bounds_are_below_the_distances_at_any_fineness_and_softness() -> None:
    chance = np.random.default_rng(6)
    for grid in (CellGrid(24, 24), CellGrid(6, 8)):
        known = icon_recognition.load_templates(grid)
        every = np.arange(len(known.looks))
        cells = chance.uniform(0, 255, (6, known.bold.shape[1])).astype(np.float32)
        cells[1:4] = known.bold[chance.integers(0, len(every), 3)] + chance.normal(0, 5, cells[1:4].shape)
        bounds = icon_recognition._lower_bounds(cells, grid)
        assert (bounds <= _all_distances(cells, grid) ** 2).all()


def test_looks_ruled_out_on_a_coarser_grid_are_never_the_nearest() -> None:
    """Cells of all kinds: templates bolder, softer and noisier than drawn, mixed with each other, and plain noise."""
    chance = np.random.default_rng(5)
    for grid in (CellGrid(24, 24), CellGrid(12, 24), CellGrid(8, 12), CellGrid(6, 6), CellGrid(24, 8)):
        known = icon_recognition.load_templates(grid)
        every = np.arange(len(known.looks))
        chosen = chance.integers(0, len(every), 12)
        amounts = chance.uniform(-0.5, 1.5, (2, 12, 1)).astype(np.float32)
        cells = known.bold[chosen] + amounts[0] * known.towards_fine[chosen] + amounts[1] * known.towards_soft[chosen]
        cells[4:8] += chance.normal(0, 12, cells[4:8].shape)
        cells[8] = known.bold[chosen[9:11]].mean(axis=0)
        cells[9] = chance.uniform(0, 255, cells.shape[1])
        all_distances = _all_distances(cells, grid)
        found = icon_recognition._find_nearest(cells, grid)
        for distances, nearest in zip(all_distances, found, strict=True):
            expected = icon_recognition._nearest_of(distances, every, grid)
            assert (nearest.best, nearest.rival) == (expected.best, expected.rival)
            assert nearest.distance == pytest.approx(expected.distance, abs=0.05)
            assert nearest.rival_distance == pytest.approx(expected.rival_distance, abs=0.05)


def _all_distances(cells: NDArray[np.float32], grid: CellGrid) -> NDArray[np.float32]:
    objects, rows = np.indices((len(cells), len(icon_recognition.load_templates(grid).looks)))
    return icon_recognition._compute_distances(cells, grid, objects.ravel(), rows.ravel()).reshape(objects.shape)
