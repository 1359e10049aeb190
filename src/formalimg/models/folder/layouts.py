"""Folder layouts: how files and folders say which image is which. Here is that of images named by their items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    RequestedImage,
    is_any_image,
    is_image,
    is_number,
    short_name,
)
from formalimg.models.folder.metadata import METADATA, imagefolder_candidates

_MARKER = ".blocked"
_WITH_SAMPLE = re.compile(r"(.+)[_-]([0-9]{1,9})", re.DOTALL)
_MAX_IMGS_DEPTH = 2
_SHOWN = 6


@dataclass(frozen=True)
class ImageLayout:
    """A way to lay out images in folders."""

    name: str  # as users write it: `layout=…`
    fits: Callable[[FolderListing], bool]  # whether a folder looks like it
    # the candidate files of a folder for the images that are wanted
    candidates: Callable[[FolderListing, ItemIndex], Iterable[CandidateFile]]
    # how the file of an image may be called, for messages; None: it is described by item and prompt
    example: Callable[[RequestedImage], str] | None = None


def image_layouts() -> dict[str, ImageLayout]:
    """Return all layouts by name, in the order in which they are tried: any folder fits the last."""
    from formalimg.benchmarks.registry import suite, suite_names  # here, because only folders of images need it

    own = (suite(name).image_layout() for name in suite_names())
    known = [IMAGEFOLDER, *(layout for layout in own if layout is not None), PUBLISHED]
    return {layout.name: layout for layout in known}


def published_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of the layout `published`: images named by their items."""
    inside = images_prefix(folder)
    for file in folder.files:
        if not file.startswith(inside):
            continue
        blocked = file.endswith(_MARKER)
        name = file.removesuffix(_MARKER) if blocked else file
        if is_image(name):
            yield CandidateFile(file, _image(name.removeprefix(inside), index), blocked)
        elif is_any_image(name):
            yield CandidateFile(file, None)


def images_prefix(folder: FolderListing) -> str:
    """Return the prefix of the image paths in a folder: empty, or such as `responses/knolling/my-model/imgs/`."""
    depths: dict[int, dict[str, None]] = {}
    flat = False
    for file in folder.files:
        if not is_image(file.removesuffix(_MARKER)):
            continue
        parents = file.split("/")[:-1]
        flat = flat or not parents
        skipped = 1 if parents[:1] == ["responses"] else 0
        if "imgs" in parents:
            depth = parents.index("imgs")
            if depth - skipped <= _MAX_IMGS_DEPTH and parents[depth - 1 : depth] != ["grounding"]:
                depths.setdefault(depth, {})["/".join(parents[: depth + 1]) + "/"] = None
    closest_match = min(depths, default=None)
    if closest_match is None or (flat and closest_match > 0):
        return ""
    places = list(depths[closest_match])
    if len(places) > 1:
        shown = ", ".join(map(short_name, places[:_SHOWN])) + (" …" if len(places) > _SHOWN else "")
        raise FormalimgError(f"{folder.path} holds the images of {len(places)} models: give one of {shown}")
    return places[0]


def _image(name: str, index: ItemIndex) -> FolderImage | None:
    """Parse a file name; exact ids take precedence over ids up to leading zeros."""
    return _read(name, index, index.item_called) or _read(name, index, index.item_numbered)


def _read(name: str, index: ItemIndex, item_of: Callable[[str], str | None]) -> FolderImage | None:
    *parents, last = name.split("/")
    stem = last[: last.rfind(".")]
    if len(parents) == 1:
        item = item_of(parents[0])
        return FolderImage(item, int(stem)) if item is not None and is_number(stem) else None
    if parents:
        return None
    readings = [(stem, 0)]
    if with_sample := _WITH_SAMPLE.fullmatch(stem):
        readings.append((with_sample[1], int(with_sample[2])))
    possible = [FolderImage(item, sample) for part, sample in readings if (item := item_of(part)) is not None]
    wanted = [image for image in possible if image in index.wanted]
    if len(wanted) > 1:
        raise FormalimgError(
            f"{short_name(name)} can be item {short_name(wanted[0].item)} or sample {wanted[1].sample} of item "
            f"{short_name(wanted[1].item)}: put samples into a folder for each item, as in "
            f"{short_name(wanted[1].item)}/0.png"
        )
    return next(iter(wanted or possible), None)


def _example_name(wanted: RequestedImage) -> str:
    item, sample = short_name(wanted.item), wanted.sample
    return f"{item}_{sample}.png" if sample else f"{item}.png or {item}_0.png"


def _has_metadata(folder: FolderListing) -> bool:
    return any(name in folder.files for name in METADATA)


def _fits_any(folder: FolderListing) -> bool:
    return True


IMAGEFOLDER = ImageLayout("imagefolder", _has_metadata, imagefolder_candidates)
PUBLISHED = ImageLayout("published", _fits_any, published_candidates, _example_name)
