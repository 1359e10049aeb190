"""Images as GenEval keeps them: `00000/samples/0000.png`, with `00000/metadata.jsonl` that says the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.lines import json_rows
from formalimg.models.folder.matching import named
from formalimg.models.folder.scanning import Folder, is_any_image
from formalimg.models.folder.wishes import FolderImage, Wishes

_SAMPLE = re.compile(r"([0-9]{1,9})/samples/([0-9]{1,9})\.(?:png|jpe?g|webp)", re.IGNORECASE)
_GRID = re.compile(r"[0-9]+/grid\.[a-z]+", re.IGNORECASE)


def looks_like_geneval(folder: Folder) -> bool:
    """Is there any file where GenEval puts its images?"""
    return any(_SAMPLE.fullmatch(file) for file in folder.files)


def claims_by_folder(folder: Folder, wishes: Wishes) -> Iterator[Claim]:
    """What the images are by the prompt beside them, or by the number of their folder.

    Raises:
        FormalimgError: if a prompt or a number does not say which item is meant.
    """
    described = {file for file in folder.files if file.endswith("/metadata.jsonl")}
    items: dict[str, str | None] = {}
    for file in folder.files:
        sample = _SAMPLE.fullmatch(file)
        if sample is None:
            if is_any_image(file) and not _GRID.fullmatch(file):
                yield Claim(file, None)
            continue
        number = sample[1]
        if number not in items:
            beside = f"{number}/metadata.jsonl"
            prompt = _prompt(folder, beside) if beside in described else None
            items[number] = _item_at(number, folder, wishes) if prompt is None else _item_with(prompt, beside, wishes)
        item = items[number]
        yield Claim(file, None if item is None else FolderImage(item, int(sample[2])))


def _prompt(folder: Folder, file: str) -> str | None:
    for where, row in json_rows(folder.path, file):
        prompt = row.get("prompt")
        if prompt is not None and not isinstance(prompt, str):
            raise FormalimgError(f"{where}: prompt must be text")
        return prompt
    return None


def _item_with(prompt: str, file: str, wishes: Wishes) -> str | None:
    items = wishes.items_with(prompt)
    if len(items) > 1:
        two = " and ".join(map(named, items[:2]))
        raise FormalimgError(f"{file}: items {two} have the same prompt: use a map or layout=imagefolder")
    return items[0] if items else None


def _item_at(number: str, folder: Folder, wishes: Wishes) -> str | None:
    # A number counts in the suite that the images were made for. If not all of that suite is wanted now, it would
    # lead to the wrong item, and nobody would notice.
    if not wishes.places_known and int(number) >= len(wishes.items):
        raise FormalimgError(
            f"{named(folder.path)}: folder {number} is beyond the {len(wishes.items):,} wanted items, so numbers do "
            "not say which item is meant: ask for the whole suite, or put a metadata.jsonl with the prompt into each"
        )
    return wishes.item_at(int(number))
