"""Grids: files that hold several samples of an item in one image, as DPG-Bench lays them out, cut exactly.

A grid of `2x2` has two columns and two rows, and its samples are counted as one reads: left to right, then down.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image, ImageOps, UnidentifiedImageError

from formalimg._util.images import png_bytes
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import MatchedImage, RequestedImage

_GRID = re.compile(r"(?P<columns>[1-9]\d?)x(?P<rows>[1-9]\d?)")
_MAX_PIXELS = 400_000_000
"""More pixels than this are not decoded: a grid of four images of 100 million each."""


class GridError(FormalimgError):
    """A file that cannot be cut into the tiles of a grid."""


class ImageGrid(NamedTuple):
    """How many images one file holds, across and down."""

    columns: int
    rows: int

    @property
    def tiles(self) -> int:
        """The number of images in a file."""
        return self.columns * self.rows

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"

    def files_of(self, wanted: Sequence[RequestedImage]) -> list[RequestedImage]:
        """Return the files that hold these images, each once, as images whose samples are counted by files."""
        return list(dict.fromkeys(one._replace(sample=one.sample // self.tiles) for one in wanted))

    def images_in(self, files: Sequence[MatchedImage], wanted: Sequence[RequestedImage]) -> tuple[MatchedImage, ...]:
        """Return the wanted images that these files hold; each image names its file."""
        by_place = {(one.item, one.sample): one for one in files}
        places = ((one, by_place.get((one.item, one.sample // self.tiles))) for one in wanted)
        return tuple(file._replace(sample=one.sample) for one, file in places if file is not None)

    def cut(self, data: bytes, sample: int) -> bytes:
        """Return one image of a file as PNG: its pixels, as they are. A file that is no image is returned unchanged."""
        try:
            with Image.open(io.BytesIO(data)) as opened:
                self.check_size(*opened.size)
                whole = ImageOps.exif_transpose(opened)
        except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            return data
        self.check_size(*whole.size)  # once more, because it may have been turned upright
        across, down = whole.width // self.columns, whole.height // self.rows
        row, column = divmod(sample % self.tiles, self.columns)
        tile = whole.crop((column * across, row * down, (column + 1) * across, (row + 1) * down))
        return png_bytes(tile if tile.mode in ("RGB", "RGBA", "L") else tile.convert("RGB"))

    def check_size(self, width: int, height: int) -> None:
        """Refuse sizes that do not divide."""
        if width * height > _MAX_PIXELS:
            raise GridError(f"it has {width} x {height} pixels, more than {_MAX_PIXELS:,}: give smaller images")
        if width % self.columns or height % self.rows:
            raise GridError(
                f"it has {width} x {height} pixels, which a grid of {self} does not divide: give the grid that the "
                "files have, or files without borders between the images"
            )


def parse_grid(text: str) -> ImageGrid:
    """Return the grid that an option names, such as `2x2`."""
    found = _GRID.fullmatch(text)
    if found is None or text == "1x1":
        raise FormalimgError(f"grid must be columns x rows, up to 99 each, as in grid=2x2, and is {text!r}")
    return ImageGrid(int(found["columns"]), int(found["rows"]))
