"""Folder layout of collections of several models: `Colors/12/sd-1.4_0.jpg`, by category, item, model and seed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formalimg.benchmarks.drawbench.benchmark import find_category
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    is_any_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout

_PATH = re.compile(
    r"(?:.*/)?(?P<category>[^/]+)/(?P<item>[^/]+)/(?P<model>[^/]+)_(?P<seed>\d{1,12})\.(?:png|jpe?g|webp)",
    re.IGNORECASE,
)
_SHOWN = 3


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether images lie in folders of categories and items."""
    return any(_parse(file) for file in folder.files)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files; the images of an item are its samples in the order of their seeds."""
    parsed = {file: _parse(file) for file in folder.files if is_any_image(file)}
    models = list(dict.fromkeys(found["model"] for found in parsed.values() if found))
    if len(models) > 1:
        shown = ", ".join(map(short_name, models[:_SHOWN])) + (" …" if len(models) > _SHOWN else "")
        raise FormalimgError(
            f"{folder.path} holds the images of {len(models)} models ({shown}): give -M files='*/{models[0]}_*'"
        )
    seeds: dict[str, list[int]] = {}
    for one in filter(None, parsed.values()):
        seeds.setdefault(one["item"], []).append(int(one["seed"]))
    for file, found in parsed.items():
        item = index.item_numbered(found["item"]) if found else None
        image = FolderImage(item, sorted(seeds[found["item"]]).index(int(found["seed"]))) if found and item else None
        yield CandidateFile(file, image)


def _parse(file: str) -> re.Match[str] | None:
    found = _PATH.fullmatch(file)
    return found if found and find_category(found["category"]) else None


LAYOUT = ImageLayout("drawbench", has_image_layout, image_candidates)
