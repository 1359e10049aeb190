"""Folder layout for images of several models: `Colors/12/sd-1.4_0.jpg`, by category, item, model and seed."""

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
    """Return whether the images are in folders by category and item."""
    return any(_parse_path(file) for file in folder.files)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files, numbering the samples of an item by ascending seed."""
    parsed = {file: _parse_path(file) for file in folder.files if is_any_image(file)}
    models = list(dict.fromkeys(match["model"] for match in parsed.values() if match))
    if len(models) > 1:
        listed = ", ".join(map(short_name, models[:_SHOWN])) + (" …" if len(models) > _SHOWN else "")
        raise FormalimgError(
            f"{folder.path} holds the images of {len(models)} models ({listed}): give -M files='*/{models[0]}_*'"
        )
    seeds: dict[str, list[int]] = {}
    for path in filter(None, parsed.values()):
        seeds.setdefault(path["item"], []).append(int(path["seed"]))
    for file, match in parsed.items():
        item = index.item_numbered(match["item"]) if match else None
        image = FolderImage(item, sorted(seeds[match["item"]]).index(int(match["seed"]))) if match and item else None
        yield CandidateFile(file, image)


def _parse_path(file: str) -> re.Match[str] | None:
    match = _PATH.fullmatch(file)
    return match if match and find_category(match["category"]) else None


LAYOUT = ImageLayout("drawbench", has_image_layout, image_candidates)
