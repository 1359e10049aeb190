"""Figures that are drawn, without a browser: icons, witnesses, the built-in models, and what other tools draw."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from PIL import Image, ImageDraw

from formalimg import load
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import draw
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.builtin.baselines import open_baseline
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item
from tools import draw_contact_sheets, draw_trust

_INSTRUCTION = "868"
_WITNESSES = {3: "433", 6: "1090", 10: "1801"}
_CELL, _LABEL, _COLUMNS = 150, 26, 10
_GAP = 10


def model_image(name: str) -> Image.Image:
    """Draw what a built-in model makes of one instruction of Knolling."""
    item = next(item for item in load("knolling") if item.id == _INSTRUCTION)
    model = open_baseline(name, {})
    spec = item.spec if model.sees_spec else None
    request = ImageRequest(item.id, 0, item.prompt, 0, 400, spec, suite="knolling")

    async def only() -> ImageResult:
        return await anext(aiter(model.generate([request])))

    made = asyncio.run(only())
    if not isinstance(made, Generated):
        raise RuntimeError(f"builtin/{name} made no image: {made}")
    return Image.open(io.BytesIO(made.data))


def witness(item: Item[FormulaSpec], size: int = 560) -> Image.Image:
    """Draw the witness of an item."""
    if item.spec.witness is None:
        raise ValueError(f"{item.suite}/{item.id} has no witness")
    return draw(item.spec.witness, size)


def knolling_witness(name: str) -> Image.Image:
    """Draw the witness of an item of Knolling, by its id."""
    return witness(next(item for item in load("knolling") if item.id == name))


def icon_sheet() -> Image.Image:
    """Draw all classes with their names, and a backpack in every colour."""
    words = vocabulary("knolling").words
    shown: list[tuple[str, str, str | None]] = [(name, name, None) for name in words["class"]]
    shown += [("backpack", color, color) for color in words["color"]]
    rows = -(-len(shown) // _COLUMNS)
    sheet = Image.new("RGB", (_COLUMNS * _CELL, rows * (_CELL + _LABEL)), "white")
    pen = ImageDraw.Draw(sheet)
    for place, (name, label, color) in enumerate(shown):
        left, top = place % _COLUMNS * _CELL, place // _COLUMNS * (_CELL + _LABEL)
        icon = draw(Scene.of([SceneObject(name, Box(120, 120, 880, 880), color)]), _CELL)
        sheet.paste(icon, (left, top))
        pen.text((left + _CELL / 2, top + _CELL + _LABEL / 2), label, fill="#444444", anchor="mm", font_size=13)
    return sheet


def count_sheet(per_level: int = 4, size: int = 240) -> Image.Image:
    """Draw witnesses of Knolling with counts, a row for each K."""
    items = load("knolling-counts")
    levels = sorted({item.level for item in items})
    width, height = (count * (size + _GAP) + _GAP for count in (per_level, len(levels)))
    sheet = Image.new("RGB", (width, height), "white")
    for row, level in enumerate(levels):
        for column, item in enumerate([item for item in items if item.level == level][:per_level]):
            place = (_GAP + column * (size + _GAP), _GAP + row * (size + _GAP))
            sheet.paste(witness(item, size), place)
    return sheet


DRAWINGS: Mapping[str, Callable[[], Image.Image]] = {
    **{f"builtin-{name}": partial(model_image, name) for name in ("oracle", "reader", "scatter")},
    **{f"witness-{level}": partial(knolling_witness, item) for level, item in _WITNESSES.items()},
    "contact-sheet": icon_sheet,
    "knolling-counts": count_sheet,
}
"""What draws each image: `NAME.png`."""

OTHER_TOOLS = {
    "trust.svg",
    "tiny.png",
    "tiny-reward.png",
    *(f"drawn-{name}.png" for name in draw_contact_sheets.SHEETS),
}
"""Files that tools of their own draw."""


def write_drawings(names: Sequence[str], folder: Path) -> None:
    """Draw some of the figures, or all if none is named."""
    for name, drawing in DRAWINGS.items():
        if not names or name in names:
            draw_contact_sheets.save_small(drawing(), folder / f"{name}.png")
    sheets = [name for name in draw_contact_sheets.SHEETS if not names or f"drawn-{name}" in names]
    if sheets:
        draw_contact_sheets.main(sheets, folder)
    if not names or "trust" in names:
        draw_trust.main(folder / "trust.svg")
