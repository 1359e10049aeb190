"""Contact sheets of the icons of drawn worlds: every class and variant, in its tint and with its name."""

from __future__ import annotations

import io
import math
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from formalimg.drawing.catalog import FRONT, DrawnCatalog, drawn_catalog
from formalimg.drawing.icon import Icon, PixelFrame, palette

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

_COLUMNS, _CELL, _MARGIN, _TITLE = 10, 130, 12, 20
_PEN = 1.5
_TEXT = "#222222"


class SheetEntry(NamedTuple):
    """A drawing on a sheet."""

    title: str
    icon: Icon
    color: str


def sheet_entries(file: str, catalog: DrawnCatalog | None = None) -> list[SheetEntry]:
    """Return the classes listed in a catalog file, each followed by its variants, in their tints."""
    catalog = catalog or drawn_catalog()
    text = (files("formalimg.drawing") / "catalog.d" / f"{file}.toml").read_text(encoding="utf-8")
    entries = []
    for label in tomllib.loads(text).get("class", {}):
        drawn = catalog.entry(label)
        for variant in (None, *drawn.variants):
            icon = catalog.icon(label, variant) if variant != FRONT else None
            if icon is not None:
                entries.append(SheetEntry(label if variant is None else f"{label}, {variant}", icon, drawn.tint))
    return entries


def icon_sheet(entries: Sequence[SheetEntry], titles: bool = True) -> Image:
    """Render drawings in rows, each in its natural aspect ratio."""
    import resvg_py
    from PIL import Image, ImageDraw, ImageFont

    tones = {**palette().colors, **palette().others}
    width, height = _COLUMNS * _CELL, math.ceil(len(entries) / _COLUMNS) * (_CELL + _TITLE)
    drawn = []
    for number, (_, icon, color) in enumerate(entries):
        scale = (_CELL - 2 * _MARGIN) / max(icon.width, icon.height)
        across, down = round(icon.width * scale), round(icon.height * scale)
        left, top = number % _COLUMNS * _CELL, number // _COLUMNS * (_CELL + _TITLE)
        frame = PixelFrame(left + (_CELL - across) // 2, top + (_CELL - down) // 2, across, down)
        drawn.append(icon.svg(frame, {**palette().accents, **tones[color]._asdict()}, _PEN))
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' fill-rule="evenodd" stroke-linecap="round" stroke-linejoin="round">'
        f'<rect width="{width}" height="{height}" fill="{palette().background}"/>{"".join(drawn)}</svg>'
    )
    with Image.open(io.BytesIO(resvg_py.svg_to_bytes(svg_string=svg, skip_system_fonts=True))) as painted:
        sheet = painted.convert("RGB")
    pen = ImageDraw.Draw(sheet)
    for number, entry in enumerate(entries):
        place = (number % _COLUMNS * _CELL + _CELL / 2, number // _COLUMNS * (_CELL + _TITLE) + _CELL - 4)
        text = entry.title if titles else str(number + 1)
        pen.text(place, text, fill=_TEXT, font=ImageFont.load_default(13), anchor="ma")
    return sheet


def living_sheet() -> Image:
    """Render all drawings of people, animals, plants, places, buildings and vehicles."""
    return icon_sheet(sheet_entries("living"))


def things_sheet() -> Image:
    """Render all drawings of furniture, household items, dishes, food, clothes and tools, including variants."""
    return icon_sheet(sheet_entries("things"))
