"""The contact sheets for maintainers: no cell is empty, and what they show can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tools import draw_contact_sheets as tool

from formalimg.drawing import contact_sheet, shapes, styles
from formalimg.drawing.catalog import FRONT, OVERLAY_STATES, drawn_catalog
from formalimg.drawing.materials import MATERIALS
from tests.support.sizes import only_in_full


def filled_cells(sheet: Image.Image, width: int, height: int) -> int:
    gray = np.asarray(sheet.convert("L"))
    cells = gray.reshape(sheet.height // height, height, sheet.width // width, width).swapaxes(1, 2)
    return int((cells.reshape(-1, height * width).std(axis=1) > 4).sum())


@only_in_full
@pytest.mark.parametrize("file", ["living", "things"])
def test_icon_sheets_show_every_class_and_variant(file: str) -> None:
    cells = tool.icon_cells(file)
    labels = {title.split(",")[0] for title, *_ in cells}
    entries = [drawn_catalog().entry(label) for label in labels]
    assert len(cells) == sum(1 + sum(variant != FRONT for variant in entry.variants) for entry in entries)
    assert filled_cells(tool.SHEETS[file](), 130, 150) == len(cells)


@only_in_full
@pytest.mark.parametrize(("draw", "cells"), [(tool.state_sheet, 48), (tool.material_sheet, 88), (tool.shape_sheet, 48)])
def test_sample_sheets_have_no_empty_cell(draw: Callable[[], Image.Image], cells: int) -> None:
    assert filled_cells(draw(), 130, 150) >= cells


def test_samples_cover_every_word() -> None:
    assert set(tool._MATERIALS) == set(MATERIALS)
    assert set(tool._STATES) == set(OVERLAY_STATES)
    assert {shapes.SHAPES[word] for word in tool._SHAPES} == set(shapes.SHAPES.values())
    for material, names in tool._MATERIALS.items():
        labels = {name.replace("_", " ") for name in names.split()}
        assert not labels & drawn_catalog().word("material", material).beside.keys()


def test_the_style_sheet_shows_every_style() -> None:
    assert filled_cells(tool.style_sheet(size=64), 256, 280) == len(styles.STYLES) + 1


def test_the_tool_writes_sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "SHEETS", {"knolling": contact_sheet})
    tool.main([], tmp_path)
    with Image.open(tmp_path / "drawn-knolling.png") as image:
        assert image.size == (1500, 1056)
    with pytest.raises(SystemExit, match="choose from knolling"):
        tool.main(["style"], tmp_path)
