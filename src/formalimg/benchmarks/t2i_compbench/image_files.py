"""Folder layout of T2I-CompBench's scripts: images are named by their prompts and a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formalimg.models.folder.file_matching import CandidateFile, FolderImage, FolderListing, ItemIndex, is_any_image
from formalimg.models.folder.layouts import ImageLayout

_PROMPT_AND_NUMBER = re.compile(
    r"(?:(?P<parents>[^/]+(?:/[^/]+)*)/)?(?P<prompt>[^/]*\s[^/]*)_(?P<number>\d{6,9})\.(?:png|jpe?g|webp)",
    re.IGNORECASE,
)
"""As T2I-CompBench's scripts name images: the prompt, and a number that counts all images of a list."""


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether images are named by their prompts and a number of six digits."""
    return any(_PROMPT_AND_NUMBER.fullmatch(file) for file in folder.files)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files: `samples/a red cup and a blue dog_000000.png`, or `color/samples/…` for each task.

    The images of a prompt are its samples in the order of their numbers. Items with the same prompt share them evenly,
    in the order of the suite; an item whose id begins like the folder takes precedence.
    """
    named: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for file in folder.files:
        if found := _PROMPT_AND_NUMBER.fullmatch(file):
            named.setdefault((found["parents"] or "", found["prompt"]), []).append((int(found["number"]), file))
        elif is_any_image(file):
            yield CandidateFile(file, None)
    for (parents, prompt), files in named.items():
        tasks = tuple(f"{parent.lower()}-" for parent in parents.split("/") if parent)
        items = index.items_with(prompt)
        items = [item for item in items if tasks and item.startswith(tasks)] or items
        each = -(-len(files) // len(items)) if items else 1
        for place, (_, file) in enumerate(sorted(files)):
            image = FolderImage(items[place // each], place % each) if items else None
            yield CandidateFile(file, image, by="name")


LAYOUT = ImageLayout("t2i-compbench", has_image_layout, image_candidates)
