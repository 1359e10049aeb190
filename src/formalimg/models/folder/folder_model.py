"""Image model for premade images in a folder or map (`folder/…`), including grids of several samples per file."""

from __future__ import annotations

import asyncio
import io
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageOps, UnidentifiedImageError

from formalimg._util.images import png_bytes
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.folder.file_matching import (
    FolderImage,
    FolderListing,
    ItemIndex,
    MatchedImage,
    MatchReport,
    RequestedImage,
    is_any_image,
    resolve_candidates,
    scan_folder,
    short_name,
)
from formalimg.models.folder.layouts import METADATA, PUBLISHED, ImageLayout, image_layouts, map_candidates
from formalimg.types import Setting

_GRID = re.compile(r"(?P<columns>[1-9]\d?)x(?P<rows>[1-9]\d?)")
_MAP = "map"
_MAPS = (".json", ".jsonl", ".csv")
_MAX_BYTES = 256 * 1024 * 1024
_VERSION = 1
_SHOWN = 3
_MAX_PIXELS = 400_000_000  # more pixels than this are not decoded: a grid of four images of 100 million each


class GridError(FormalimgError):
    """A file that cannot be divided into the tiles of a grid."""


class ImageGrid(NamedTuple):
    """The number of images in a file, as columns and rows."""

    columns: int
    rows: int

    @property
    def tiles(self) -> int:
        """Number of images per file."""
        return self.columns * self.rows

    def __str__(self) -> str:
        return f"{self.columns}x{self.rows}"

    def files_of(self, images: Sequence[RequestedImage]) -> list[RequestedImage]:
        """Return the distinct grid files that contain these images, numbered by file instead of by sample."""
        return list(dict.fromkeys(image._replace(sample=image.sample // self.tiles) for image in images))

    def images_in(self, files: Sequence[MatchedImage], images: Sequence[RequestedImage]) -> tuple[MatchedImage, ...]:
        """Return the requested images that these files contain, each with the name of its file."""
        by_place = {(image.item, image.sample): image for image in files}
        places = ((image, by_place.get((image.item, image.sample // self.tiles))) for image in images)
        return tuple(file._replace(sample=image.sample) for image, file in places if file is not None)

    def cut(self, data: bytes, sample: int) -> bytes:
        """Crop one tile from a grid file and return it as PNG. Data that is not an image is returned unchanged."""
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
        """Raise an error if the size is not divisible by the grid."""
        if width * height > _MAX_PIXELS:
            raise GridError(f"it has {width} x {height} pixels, more than {_MAX_PIXELS:,}: give smaller images")
        if width % self.columns or height % self.rows:
            raise GridError(
                f"it has {width} x {height} pixels, which a grid of {self} does not divide: give the grid that the "
                "files have, or files without borders between the images"
            )


def _explain_no_match(
    matching: MatchReport, index: ItemIndex, folder: FolderListing | None, layout: ImageLayout | None
) -> str:
    """Return a one-line message with the expected files, the files that were found, and a suggestion."""
    path = short_name(matching.path)
    images = [file for file in folder.files if is_any_image(file)] if folder else list(matching.extra)
    if matching.absent:
        absent = short_name(matching.absent[0])
        return f"{path}: the images that it names are not there, such as {absent}: check the paths"
    if not images:
        return f"{path} holds no images: it should have files such as {_example_of(layout, index)}"
    below = (
        next((f for f in folder.files if f.endswith(tuple(f"/{name}" for name in METADATA))), None) if folder else None
    )
    if below is not None and layout is PUBLISHED:
        parent = short_name(f"{path}/{below.rpartition('/')[0]}")
        return f"{path}: no image is named after a wanted item; perhaps {parent} was meant"
    names = ", ".join(map(short_name, images[:_SHOWN]))
    return (
        f"{path}: none of its {len(images):,} images ({names}{' …' if len(images) > _SHOWN else ''}) is one of "
        f"the {len(index.wanted):,} wanted: looked for {_example_of(layout, index)} "
        f"(layout={matching.layout}); "
        "rename them, or say which is which in a metadata.jsonl or a map"
    )


def _example_of(layout: ImageLayout | None, index: ItemIndex) -> str:
    request = next(iter(index.wanted.values()))
    if layout is not None and layout.example is not None:
        return layout.example(request)
    return f"item {short_name(request.item)} or the prompt {truncate(request.prompt, 30, 10)!r}"


class FolderModel:
    """An image model for premade images. Call `match` before `run --no-judge`."""

    batch = 1
    concurrency = 16
    sees_spec = False
    style = "none"  # nothing is sent: the images exist already, whatever they were asked for with

    def __init__(
        self,
        shown_path: str,
        path: Path,
        layout: ImageLayout | None,
        folder: FolderListing | None,
        grid: ImageGrid | None = None,
    ) -> None:
        """Initialize from a folder with a layout, or from an image map, which has neither folder nor layout."""
        self.name = f"folder/{shown_path}"
        settings: dict[str, Setting] = {"version": _VERSION, "layout": layout.name if layout else _MAP}
        self.settings: Mapping[str, Setting] = settings if grid is None else {**settings, "grid": str(grid)}
        self._grid = grid
        self._place = shown_path
        self._path = path
        self._layout = layout
        self._folder = folder
        self._matched: Mapping[FolderImage, MatchedImage] | None = None
        self._blocked: Mapping[FolderImage, MatchedImage] = {}

    def match(self, images: Sequence[RequestedImage]) -> MatchReport:
        """Match files to these images, given in suite order."""
        index = ItemIndex(images if self._grid is None else self._grid.files_of(images))
        if self._folder is None or self._layout is None:
            candidates = map_candidates(self._path, index)
        else:
            candidates = iter(self._layout.candidates(self._folder, index))
        matching = resolve_candidates(candidates, index, self._root, self._place, str(self.settings["layout"]))
        if images and not matching.found and not matching.blocked:
            raise FormalimgError(_explain_no_match(matching, index, self._folder, self._layout))
        if self._grid is not None:
            matching = self._cut(matching, self._grid, images)
        self._matched = {FolderImage(match.item, match.sample): match for match in matching.found}
        self._blocked = {FolderImage(match.item, match.sample): match for match in matching.blocked}
        return matching

    def _cut(self, matching: MatchReport, grid: ImageGrid, images: Sequence[RequestedImage]) -> MatchReport:
        """Return a report on tiles instead of files; raise an error if the first file does not fit the grid."""
        if matching.found:
            first = matching.found[0]
            data = self._read(first)
            if isinstance(data, bytes):
                try:
                    grid.cut(data, 0)
                except GridError as error:
                    raise FormalimgError(f"{self._place}: {short_name(first.file)}: {error}") from None
        matched, blocked = (grid.images_in(files, images) for files in (matching.found, matching.blocked))
        keys = {(image.item, image.sample) for image in (*matched, *blocked)}
        missing = tuple(image for image in images if (image.item, image.sample) not in keys)
        return replace(matching, found=matched, blocked=blocked, missing=missing)

    def fingerprint(self, item: str, sample: int) -> str:
        """Return the name, size and modification time of an image's file; empty if there is no file."""
        match = self._found(item, sample) or self._blocked.get(FolderImage(item, sample))
        if match is None:
            return ""
        try:
            status = self._file(match).stat()
        except OSError:
            return ""
        tile = "" if self._grid is None else f":{self._grid}:{sample % self._grid.tiles}"
        return f"{_storable_name(match.file)}:{status.st_size}:{status.st_mtime_ns}{tile}"

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield the unmodified files, one result per request."""
        for request in requests:
            yield await asyncio.to_thread(self._load, request)

    def _load(self, request: ImageRequest) -> ImageResult:
        match = self._found(request.item, request.sample)
        if match is None:
            blocked = self._blocked.get(FolderImage(request.item, request.sample))
            if blocked is not None:
                return Refused(f"blocked, as {short_name(blocked.file)} says")
            reason = f"no image for item {request.item}, sample {request.sample} in {self._place}"
            return Failed(reason, absent=True)
        data = self._read(match)
        if isinstance(data, Failed):
            return data
        served: dict[str, Setting] = {"file": _storable_name(match.file), "matched_by": match.by}
        if self._grid is None:
            return Generated(data, served)
        try:
            tile = self._grid.cut(data, request.sample)
        except GridError as error:
            return Failed(f"{short_name(match.file)} in {self._place}: {error}")
        return Generated(tile, {**served, "tile": request.sample % self._grid.tiles})

    def _read(self, match: MatchedImage) -> bytes | Failed:
        try:
            with self._file(match).open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except OSError as error:
            return Failed(f"cannot read {short_name(match.file)} in {self._place}: {error.strerror}")
        if len(data) > _MAX_BYTES:
            return Failed(f"{short_name(match.file)} in {self._place} is too large for an image")
        return data

    def _found(self, item: str, sample: int) -> MatchedImage | None:
        if self._matched is None:
            raise RuntimeError("match must be called before images are asked for")
        return self._matched.get(FolderImage(item, sample))

    def _file(self, match: MatchedImage) -> Path:
        return Path(self._root, match.file)

    @property
    def _root(self) -> str:
        return str(self._path.parent if self._folder is None else self._path)


def open_folder(path: str, options: Mapping[str, str]) -> FolderModel:
    """A folder of images, or a file (JSON, JSON lines, CSV) that maps items to images, as an image model.

    Args:
        path: the folder or the file.
        options: `layout`: `published`, `imagefolder`, `map`, or the layout of a benchmark. By default it is detected.
            `grid`: columns and rows, such as `2x2`, where a file holds several samples. `files`: a pattern of paths
            below the folder, such as `*/sd-1.4_*`, where it holds more than the images of one model.
    """
    path = path.rstrip("/") or path  # with and without the slash it is the same folder, and the same model
    unknown = sorted(set(options) - {"layout", "grid", "files"})
    if unknown:
        raise FormalimgError(f"folder/{path}: unknown option {unknown[0]!r}: choose from layout, grid and files")
    grid = None
    if (size := options.get("grid")) is not None:
        match = _GRID.fullmatch(size)
        if match is None or size == "1x1":
            raise FormalimgError(f"grid must be columns x rows, up to 99 each, as in grid=2x2, and is {size!r}")
        grid = ImageGrid(int(match["columns"]), int(match["rows"]))
    layout, layouts = options.get("layout"), image_layouts()
    if layout is not None and layout not in (*layouts, _MAP):
        raise FormalimgError(f"folder/{path}: unknown layout {layout!r}: choose from {', '.join((*layouts, _MAP))}")
    # From os.path, because a Path would raise for users and names that cannot be.
    folder_path = Path(os.path.expanduser(path))  # noqa: PTH111
    if not path or not os.path.exists(folder_path):  # noqa: PTH110
        raise FormalimgError(f"there is no folder {path!r}: say where the images are, as in folder/my/images")
    if not folder_path.is_dir():
        if layout not in (None, _MAP) or (layout is None and folder_path.suffix.lower() not in _MAPS):
            raise FormalimgError(
                f"{path} is a file: give the folder of the images, or a map of them (a {', '.join(_MAPS[:-1])} or "
                f"{_MAPS[-1]} file)"
            )
        return FolderModel(path, folder_path, None, None, grid)
    if layout == _MAP:
        raise FormalimgError(f"{path} is a folder: layout=map needs the file that maps items to images")
    folder = scan_folder(str(folder_path))
    folder = folder._replace(files=tuple(file for file in folder.files if fnmatchcase(file, options.get("files", "*"))))
    fitting = layouts[layout] if layout else next(candidate for candidate in layouts.values() if candidate.fits(folder))
    return FolderModel(path, folder_path, fitting, folder, grid)


def _storable_name(file: str) -> str:
    """Return the file name as valid UTF-8, replacing undecodable bytes."""
    return file.encode("utf-8", "replace").decode("utf-8")
