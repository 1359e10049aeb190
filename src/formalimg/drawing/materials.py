"""Materials of drawings: the materials of Natural and the textures of concepts, applied to any icon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from formalimg.drawing import surfaces, textures
from formalimg.drawing.fur import fur
from formalimg.drawing.icon import PixelFrame, Tones, palette
from formalimg.drawing.icon_drawing import IconDrawing, icon_drawing
from formalimg.drawing.texture_canvas import TextureCanvas
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from PIL.Image import Image

    from formalimg.drawing.drawing_sheet import SheetCell

_PAINTERS: Mapping[str, Callable[[TextureCanvas], IconDrawing]] = {
    "wooden": textures.wood,
    "metal": surfaces.metal,
    "glass": surfaces.glass,
    "plastic": surfaces.plastic,
    "fluffy": fur,
    "fabric": textures.fabric,
    "ceramic": surfaces.ceramic,
    "leather": textures.leather,
    "paper": textures.paper,
    "stone": textures.stone,
    "brick": textures.brick,
}

MATERIALS = tuple(_PAINTERS)  # The materials that can be drawn
LINED = ("glass", "stone", "brick")
"""The materials over which the lines of an icon are seen, also of one that is bent into a shape."""

ALIASES = {"metallic": "metal"}  # Other words for them: as a concept, metal is called metallic
_NATURAL_TONES = {
    "wooden": Tones(body="#b9834a", dark="#93612c", light="#d9ab74", line="#3a2108", ink="#6b421a"),
    "metal": Tones(body="#9aa3ad", dark="#6e7883", light="#c9d0d7", line="#23282e", ink="#444c55"),
    "glass": Tones(body="#8fc4d6", dark="#5f9db3", light="#c3e2ec", line="#1d4452", ink="#376b7c"),
    "brick": Tones(body="#b4492f", dark="#8f3420", light="#cf7458", line="#3d150b", ink="#6b2514"),
}


def natural_tones(material: str) -> Tones | None:
    """Return the tones of an uncoloured object of a material; None if the material has no tones of its own."""
    tones = _NATURAL_TONES.get(_known(material))
    if tones is not None:
        return tones
    color = {"stone": "gray", "ceramic": "white", "paper": "white", "leather": "brown"}.get(_known(material))
    return palette().colors[color] if color else None


def apply(drawing: IconDrawing, material: str, tones: Tones, key: str) -> IconDrawing:
    """Render a drawing as made of the given material."""
    known = _known(material)
    return _PAINTERS[known](TextureCanvas(drawing, tones, key, known))


def _known(material: str) -> str:
    known = ALIASES.get(material, material)
    if known not in _PAINTERS:
        raise FormalimgError(f"there is no drawing of the material {material!r}: use one of {', '.join(MATERIALS)}")
    return known


_SHEET_CLASSES = {
    "wooden": "table chair bicycle cup apple house spoon lamp",
    "metal": "refrigerator key bus hammer ball plate laptop cat",
    "glass": "bottle table fruit shoes wardrobe lamp cup dog",
    "plastic": "banana car monitor chair umbrella bowl knife flower",
    "fluffy": "dog teddy_bear rug jacket lion shoes bird sofa",
    "fabric": "sofa shirt umbrella basket chair backpack book hat",
    "ceramic": "bowl plate apple lamp pan bottle spoon cup",
    "leather": "jacket sofa book hat shoes ball backpack bed",
    "paper": "boat flower umbrella plate tree lamp cup basket",
    "stone": "rock house bench table bowl clock lamp ball",
    "brick": "house bench wardrobe table cup clock lamp ball",
}
"""What the sheet shows: the first of each have no colour, the others have all of them in turn."""
_UNCOLORED = 2


def sheet() -> Image:
    """Render sample objects in every material, both uncoloured and in varying colours."""
    from formalimg.drawing.drawing_sheet import drawing_sheet

    colors = [*palette().colors, "orange", "purple"]
    cells: list[SheetCell] = []
    for row, (material, names) in enumerate(_SHEET_CLASSES.items()):
        for column, name in enumerate(names.split()):
            color = None if column < _UNCOLORED else colors[(row + 3 * column) % len(colors)]
            cells.append(_sheet_cell(name.replace("_", " "), color, material, f"m{len(cells)}"))
    return drawing_sheet(cells, len(_SHEET_CLASSES["wooden"].split()))


def _sheet_cell(label: str, color: str | None, material: str, key: str) -> SheetCell:
    from formalimg.drawing.catalog import drawn_catalog
    from formalimg.drawing.drawing_sheet import SheetCell

    catalog = drawn_catalog()
    icon = catalog.icon(label)
    if icon is None:
        raise FormalimgError(f"there is no drawing of {label!r}: choose another class for the sheet of materials")
    known = {**palette().others, **palette().colors}
    natural = None if color else natural_tones(material)
    tones = natural or known[color or catalog.entry(label).tint]

    def draw(frame: PixelFrame) -> IconDrawing:
        return apply(icon_drawing(icon, frame, {**palette().accents, **tones._asdict()}, 1.5), material, tones, key)

    return SheetCell(" ".join(word for word in (color, material, label) if word), icon.aspect, draw)
