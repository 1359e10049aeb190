"""Draws the contact sheets of drawn worlds and writes them to where the docs show them.

For maintainers, after a change of icons, materials, shapes, states, styles or layouts:
`python tools/draw_contact_sheets.py`, or with the names of some sheets: `… styles states`
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import cast

from PIL import Image

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MAX_BYTES = 600_000
_EXACT_TONES = 64

SHEETS = {
    "living": "formalimg.drawing.icon_sheet:living_sheet",
    "things": "formalimg.drawing.icon_sheet:things_sheet",
    "materials": "formalimg.drawing.materials:sheet",
    "shapes": "formalimg.drawing.shapes:sheet",
    "states": "formalimg.drawing.states:sheet",
    "styles": "formalimg.drawing.styles:sheet",
    "relations": "formalimg.drawing.render:sheet",
}
"""What draws each sheet: `docs/images/drawn-NAME.png`."""


def main(names: Sequence[str], folder: Path = IMAGES) -> None:
    unknown = [name for name in names if name not in SHEETS]
    if unknown:
        sys.exit(f"there is no sheet {unknown[0]!r}: choose from {', '.join(SHEETS)}")
    for name in names or SHEETS:
        module, function = SHEETS[name].split(":")
        try:
            draw = getattr(import_module(module), function)
        except (ImportError, AttributeError) as error:
            print(f"drawn-{name}.png skipped: {error}")
            continue
        save_small(draw(), folder / f"drawn-{name}.png", Image.Dither.FLOYDSTEINBERG)


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
