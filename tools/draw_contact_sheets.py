"""Draws the contact sheets of drawn worlds and writes them to where the docs show them.

For maintainers, after a change of icons, materials, shapes, states, styles or layouts:
`python tools/draw_contact_sheets.py`, or with the names of some sheets: `… styles states`
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import cast

from PIL import Image, ImageDraw, ImageFont

from formalimg.drawing import materials, shapes, states, styles
from formalimg.drawing.catalog import FRONT, OVERLAY_STATES, drawn_catalog
from formalimg.drawing.icon import Icon, PixelFrame, Tones, icons, palette
from formalimg.drawing.icon_scene import DrawingError
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import BriefObject, BriefRelation, SceneBrief
from formalimg.drawing.svg import IconDrawing, icon_drawing, render_on_ground, render_svg

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MAX_BYTES = 600_000
_EXACT_TONES = 64

Cell = tuple[str, float, Callable[[PixelFrame], IconDrawing]]  # title, aspect ratio, and what draws it into a frame

_CELL, _MARGIN, _TITLE = 130, 10, 20
_STYLE_COLUMNS, _STYLE_CELL, _GAP = 5, 248, 8
_TEXT = "#26272b"
_UNCOLORED = 2  # The first samples of each material have no colour
_MATERIALS = {
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
_STATES = {
    "wet": "cup bird bench book car shoes bottle teddy_bear",
    "dirty": "dog boat plate bed child hat clock umbrella",
    "rusty": "key car chair pan bicycle refrigerator spoon toy_car",
    "broken": "bowl laptop lamp glasses house fork mirror bus",
    "burning": "tree sofa shirt rug wardrobe boat backpack desk",
    "melting": "cake clock pizza sandwich cup ball chair bottle",
}
_SHAPES = {
    "heart": ("house", "cup", "cat", "pizza", "table", "laptop", "rose", "robot"),
    "round": ("dog", "apple", "bed", "flower", "wardrobe", "house", "umbrella", "fish"),
    "square": ("book", "pan", "clock", "cup", "chair", "hat", "lion", "pizza"),
    "rectangular": ("glasses", "sofa", "bowl", "bus", "bottle", "plate", "rock", "elephant"),
    "triangular": ("clock", "rug", "mirror", "table", "lamp", "sandwich", "cake", "spoon"),
    "oval": ("headphones", "spoon", "tree", "backpack", "cake", "table", "orange", "sofa"),
    "cylindrical": ("cup", "cake", "basket", "lamp", "bottle", "hat"),
}
_RELATIONS = (
    ("cat", "left", "tree"),
    ("apple", "right", "cup"),
    ("butterfly", "above", "sheep"),
    ("dog", "below", "balloon"),
    ("lion", "top", "table"),
    ("rock", "bottom", "duck"),
    ("man", "in front of", "house"),
    ("tree", "behind", "car"),
    ("teddy bear", "inside", "basket"),
    ("cow", "outside", "tent"),
    ("bottle", "On", "desk"),
    ("spoon", "In", "bowl"),
    ("woman", "Holding", "umbrella"),
    ("dog", "Holding", "ball"),
    ("chair", "NextTo", "lamp"),
)
_STYLE_SAMPLE = {
    "apple": ("red", (80, 90, 330, 370)),
    "hat": ("blue", (420, 120, 700, 300)),
    "cup": ("yellow", (600, 420, 900, 660)),
    "scissors": ("purple", (110, 470, 330, 860)),
    "shoe": ("green", (430, 740, 860, 930)),
}  # Objects with outlines that are easily distinguished, in five colours, in boxes of thousandths


def draw_cells(cells: Sequence[Cell], columns: int) -> Image.Image:
    """Render drawings in rows, each in its natural aspect ratio with its title below."""
    width, height = columns * _CELL, math.ceil(len(cells) / columns) * (_CELL + _TITLE)
    drawings = []
    for number, (_, aspect, draw) in enumerate(cells):
        left, top = number % columns * _CELL, number // columns * (_CELL + _TITLE)
        room = _CELL - 2 * _MARGIN
        across, down = round(room * min(1.0, aspect)), round(room / max(1.0, aspect))
        drawings.append(draw(PixelFrame(left + (_CELL - across) // 2, top + (_CELL - down) // 2, across, down)))
    sheet = Image.new("RGBA", (width, height), palette().background)
    sheet.alpha_composite(render_drawings(drawings, width, height))
    pen = ImageDraw.Draw(sheet)
    for number, (title, *_) in enumerate(cells):
        position = (number % columns * _CELL + _CELL / 2, number // columns * (_CELL + _TITLE) + _CELL)
        pen.text(position, title, fill=_TEXT, font=ImageFont.load_default(13), anchor="ma")
    return sheet.convert("RGB")


def render_drawings(drawings: Sequence[IconDrawing], width: int, height: int) -> Image.Image:
    """Render drawings in their own frames on a transparent background."""
    defs = "".join(drawing.defs for drawing in drawings)
    return render_svg(f"<defs>{defs}</defs>{''.join(drawing.body for drawing in drawings)}", width, height)


def icon_cells(file: str) -> list[Cell]:
    """Return the classes listed in a catalog file, each followed by its variants, in their tints."""
    text = (files("formalimg.drawing") / "catalog.d" / f"{file}.toml").read_text(encoding="utf-8")
    cells = []
    for label in tomllib.loads(text).get("class", {}):
        entry = drawn_catalog().entry(label)
        for variant in (None, *entry.variants):
            icon = drawn_catalog().icon(label, variant) if variant != FRONT else None
            if icon is not None:
                cells.append(_cell(label if variant is None else f"{label}, {variant}", icon, _tones(entry.tint)))
    return cells


def living_sheet() -> Image.Image:
    """Render all drawings of people, animals, plants, places, buildings and vehicles."""
    return draw_cells(icon_cells("living"), 10)


def things_sheet() -> Image.Image:
    """Render all drawings of furniture, household items, dishes, food, clothes and tools, including variants."""
    return draw_cells(icon_cells("things"), 10)


def material_sheet() -> Image.Image:
    """Render sample objects in every material, both uncoloured and in varying colours."""
    cells: list[Cell] = []
    for row, (material, names) in enumerate(_MATERIALS.items()):
        for column, name in enumerate(names.split()):
            color = None if column < _UNCOLORED else _color(row + 3 * column)
            label = name.replace("_", " ")
            tones = (None if color else materials.natural_tones(material)) or _tones(color or _tint(label))
            title = " ".join(word for word in (color, material, label) if word)
            key = f"m{len(cells)}"

            def paint(plain: IconDrawing, made: str = material, tones: Tones = tones, key: str = key) -> IconDrawing:
                return materials.apply(plain, made, tones, key)

            cells.append(_cell(title, _icon(label), tones, paint))
    return draw_cells(cells, 8)


def shape_sheet() -> Image.Image:
    """Render sample objects in every shape, in varying colours."""
    cells = [
        _cell(f"{shape} {label}", shapes.apply(_icon(label), shape), _tones(_color(row + 3 * column)))
        for row, (shape, labels) in enumerate(_SHAPES.items())
        for column, label in enumerate(labels)
    ]
    return draw_cells(cells, len(_SHAPES["heart"]))


def state_sheet() -> Image.Image:
    """Render sample objects in every overlay state, in all colours."""
    cells = []
    for row, state in enumerate(OVERLAY_STATES):
        for column, name in enumerate(_STATES[state].split()):
            label = name.replace("_", " ")

            def paint(plain: IconDrawing, state: str = state, key: str = f"s{row}-{column}") -> IconDrawing:
                return states.apply(plain, state, key)

            cells.append(_cell(f"{state} {label}", _icon(label), _tones(_color(3 * column + 2 * row)), paint))
    return draw_cells(cells, 8)


def style_sheet(size: int = 768) -> Image.Image:
    """Render a sample without a style and in every style, at `size` pixels before downscaling."""
    plain = style_sample(size)
    images = {"no style": plain, **{style: styles.apply(plain, style, seed=3) for style in styles.STYLES}}
    return _caption_images(images, _STYLE_CELL, _STYLE_COLUMNS)


def style_sample(size: int) -> Image.Image:
    """Draw five objects of Knolling on the ground, without a style."""
    elements = []
    for label, (color, box) in _STYLE_SAMPLE.items():
        left, top, right, bottom = (round(edge * size / 1000) for edge in box)
        frame = PixelFrame(left, top, right - left, bottom - top)
        elements.append(icons()[label].svg(frame, {**palette().accents, **_tones(color)._asdict()}, size / 450))
    return render_on_ground("".join(elements), size)


def relation_sheet() -> Image.Image:
    """Render one solved scene for each relation of concepts and of Natural."""
    images = {}
    for first, relation, second in _RELATIONS:
        scene = solve_drawn(SceneBrief((BriefObject(first), BriefObject(second)), (BriefRelation(relation, 0, 1),)))
        if isinstance(scene, NoDrawing):
            raise DrawingError(f"the example of {relation!r} cannot be drawn: {scene.reason}")
        images[f"{first} {relation} {second}"] = draw_scene(scene, _STYLE_CELL)
    return _caption_images(images, _STYLE_CELL, _STYLE_COLUMNS)


def _caption_images(images: Mapping[str, Image.Image], cell: int, columns: int) -> Image.Image:
    title = _TITLE + 4
    rows = math.ceil(len(images) / columns)
    sheet = Image.new("RGB", (columns * (cell + _GAP), rows * (cell + title + _GAP)), "#ffffff")
    pen = ImageDraw.Draw(sheet)
    for number, (name, image) in enumerate(images.items()):
        left, top = number % columns * (cell + _GAP), number // columns * (cell + title + _GAP)
        sheet.paste(image.resize((cell, cell), Image.Resampling.LANCZOS), (left, top))
        pen.text((left + cell / 2, top + cell + 3), name, fill=_TEXT, font=ImageFont.load_default(16), anchor="ma")
    return sheet


def _cell(title: str, icon: Icon, tones: Tones, paint: Callable[[IconDrawing], IconDrawing] | None = None) -> Cell:
    def draw(frame: PixelFrame) -> IconDrawing:
        plain = icon_drawing(icon, frame, {**palette().accents, **tones._asdict()}, 1.5)
        return paint(plain) if paint else plain

    return title, icon.aspect, draw


def _tones(color: str) -> Tones:
    return {**palette().others, **palette().colors}[color]


def _tint(label: str) -> str:
    return drawn_catalog().entry(label).tint


def _color(number: int) -> str:
    colors = [*palette().colors, "orange", "purple"]
    return colors[number % len(colors)]


def _icon(label: str) -> Icon:
    icon = drawn_catalog().icon(label)
    if icon is None:
        raise DrawingError(f"there is no drawing of {label!r}: choose another class for the sheet")
    return icon


SHEETS = {
    "living": living_sheet,
    "things": things_sheet,
    "materials": material_sheet,
    "shapes": shape_sheet,
    "states": state_sheet,
    "styles": style_sheet,
    "relations": relation_sheet,
}


def main(names: Sequence[str], folder: Path = IMAGES) -> None:
    unknown = [name for name in names if name not in SHEETS]
    if unknown:
        sys.exit(f"there is no sheet {unknown[0]!r}: choose from {', '.join(SHEETS)}")
    for name in names or SHEETS:
        save_small(SHEETS[name](), folder / f"drawn-{name}.png", Image.Dither.FLOYDSTEINBERG)


def save_small(image: Image.Image, path: Path, dither: Image.Dither = Image.Dither.NONE) -> None:
    """Write an image with 256 tones: enough to look at, and a quarter of the bytes. Textures need dithering.

    The most frequent tones are kept as they are. The others count once each, however rare: red and green words on a
    page have few pixels.
    """
    image = image.convert("RGB")
    counted = cast("list[tuple[int, tuple[int, ...]]]", image.getcolors(image.width * image.height))
    found = [tone for _, tone in sorted(counted, reverse=True)]
    rare = Image.new("RGB", (max(1, len(found) - _EXACT_TONES), 1), found[-1])
    rare.putdata(found[_EXACT_TONES:] or found[-1:])
    mixed = rare.quantize(256 - _EXACT_TONES, Image.Quantize.MEDIANCUT).getpalette() or []
    tones = Image.new("P", (1, 1))
    tones.putpalette([*chain.from_iterable(found[:_EXACT_TONES]), *mixed][: 3 * 256])
    image.quantize(palette=tones, dither=dither).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes" + (f", more than {MAX_BYTES:,}" if size > MAX_BYTES else ""))


if __name__ == "__main__":
    main(sys.argv[1:])
