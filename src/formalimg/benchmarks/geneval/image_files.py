"""Folder layout of GenEval's scripts: `00000/samples/0000.png`, with the prompt in `00000/metadata.jsonl`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    MatchedBy,
    RequestedImage,
    is_any_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout, read_jsonl_rows

_SAMPLE = re.compile(r"([0-9]{1,9})/samples/([0-9]{1,9})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_GRID = re.compile(r"[0-9]+/grid\.[a-z]+", re.IGNORECASE)


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether a folder has the layout of GenEval."""
    return any(_SAMPLE.fullmatch(file) for file in folder.files)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files of GenEval's layout: `00000/samples/0000.png`, prompts in `00000/metadata.jsonl`.

    Without a prompt, the number of the folder is the index of the item in the suite.
    """
    described = {file for file in folder.files if file.endswith("/metadata.jsonl")}
    items: dict[str, tuple[str | None, MatchedBy]] = {}
    for file in folder.files:
        sample = _SAMPLE.fullmatch(file)
        if sample is None:
            if is_any_image(file) and not _GRID.fullmatch(file):
                yield CandidateFile(file, None)
            continue
        number = sample[1]
        if number not in items:
            beside = f"{number}/metadata.jsonl"
            prompt = _prompt(folder, beside) if beside in described else None
            items[number] = (
                (_item_at(number, folder, index), "place")
                if prompt is None
                else (_item_with(prompt, beside, index), "prompt")
            )
        item, by = items[number]
        yield CandidateFile(file, None if item is None else FolderImage(item, int(sample[2])), by=by)


def _prompt(folder: FolderListing, file: str) -> str | None:
    for where, row in read_jsonl_rows(folder.path, file):
        prompt = row.get("prompt")
        if prompt is not None and not isinstance(prompt, str):
            raise FormalimgError(f"{where}: prompt must be text")
        return prompt
    return None


def _item_with(prompt: str, file: str, index: ItemIndex) -> str | None:
    items = index.items_with(prompt)
    if len(items) > 1:
        two = " and ".join(map(short_name, items[:2]))
        raise FormalimgError(f"{file}: items {two} have the same prompt: use a map or layout=imagefolder")
    return items[0] if items else None


def _item_at(number: str, folder: FolderListing, index: ItemIndex) -> str | None:
    # A number counts in the suite that the images were made for. If not all of that suite is wanted now, it would
    # lead to the wrong item, and nobody would notice.
    if not index.places_known and int(number) >= len(index.items):
        raise FormalimgError(
            f"{short_name(folder.path)}: folder {number} is beyond the {len(index.items):,} wanted items, so numbers "
            "do not say which item is meant: ask for the whole suite, or put a metadata.jsonl with the prompt into each"
        )
    return index.item_at(int(number))


def example_file(wanted: RequestedImage) -> str:
    """Return how the file of an image may be called."""
    file = f"{wanted.number or 0:05}/samples/{wanted.sample:04}.png"
    return f"{file}, or the prompt {truncate(wanted.prompt, 30, 10)!r} in a metadata.jsonl beside samples/"


LAYOUT = ImageLayout("geneval", has_image_layout, image_candidates, example_file)
