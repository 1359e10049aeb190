"""The layouts of images of published questions: T2I-CoReBench, OneIG-Bench, TIIF-Bench, and T2I-CompBench."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    is_any_image,
    short_name,
)

_ENDING = r"\.(?:png|jpe?g|webp)"
_COREBENCH = re.compile(rf"(?:[^/]+/)?(?P<item>[A-Z]-[A-Z]{{2}}-\d{{3}})-(?P<sample>\d{{1,9}}){_ENDING}", re.IGNORECASE)
_ONEIG = re.compile(rf"(?P<part>anime|human|object)/(?P<model>[^/]+)/(?P<id>\d+){_ENDING}", re.IGNORECASE)
_TIIF = re.compile(
    rf"(?P<kind>[^/]+)/(?P<model>[^/]+)/(?P<length>short|long)_description/(?P<place>\d+){_ENDING}", re.IGNORECASE
)


def is_question_layout(folder: FolderListing) -> bool:
    """Return whether a folder has one of these layouts."""
    return any(_COREBENCH.fullmatch(file) or _ONEIG.fullmatch(file) or _TIIF.fullmatch(file) for file in folder.files)


def question_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files: `C-MA/C-MA-001-0.png`, `anime/MODEL/000.webp`, `TYPE/MODEL/short_description/0.png`.

    Raises:
        FormalimgError: if it holds the images of several models.
    """
    models = dict.fromkeys(
        found["model"] for file in folder.files if (found := _ONEIG.fullmatch(file) or _TIIF.fullmatch(file))
    )
    if len(models) > 1:
        shown = ", ".join(map(short_name, list(models)[:3])) + (" …" if len(models) > 3 else "")
        raise FormalimgError(
            f"{folder.path} holds the images of {len(models)} models ({shown}): give a folder with those of one"
        )
    for file in folder.files:
        if is_any_image(file):
            yield CandidateFile(file, _image(file, index))


def _image(file: str, index: ItemIndex) -> FolderImage | None:
    name, sample = "", 0
    if found := _COREBENCH.fullmatch(file):
        name, sample = found["item"], int(found["sample"])
    elif found := _ONEIG.fullmatch(file):
        name = f"{found['part']}-{found['id']}"
    elif found := _TIIF.fullmatch(file):
        kind = re.sub(r"[^\w.-]+", "_", found["kind"])
        name = f"{kind}-{found['length']}-{found['place']}"
    item = index.item_called(name)
    return None if item is None else FolderImage(item, sample)


_PROMPT_AND_NUMBER = re.compile(
    rf"(?:(?P<parents>[^/]+(?:/[^/]+)*)/)?(?P<prompt>[^/]*\s[^/]*)_(?P<number>\d{{6,9}}){_ENDING}", re.IGNORECASE
)
"""As T2I-CompBench's scripts name images: the prompt, and a number that counts all images of a list."""


def is_prompt_layout(folder: FolderListing) -> bool:
    """Return whether images are named by their prompts and a number of six digits."""
    return any(_PROMPT_AND_NUMBER.fullmatch(file) for file in folder.files)


def prompt_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
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
