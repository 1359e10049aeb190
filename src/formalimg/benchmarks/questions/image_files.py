"""Image folder layouts of T2I-CoReBench, OneIG-Bench and TIIF-Bench."""

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
from formalimg.models.folder.layouts import ImageLayout

_ENDING = r"\.(?:png|jpe?g|webp)"
_COREBENCH = re.compile(rf"(?:[^/]+/)?(?P<item>[A-Z]-[A-Z]{{2}}-\d{{3}})-(?P<sample>\d{{1,9}}){_ENDING}", re.IGNORECASE)
_ONEIG = re.compile(rf"(?P<part>anime|human|object)/(?P<model>[^/]+)/(?P<id>\d+){_ENDING}", re.IGNORECASE)
_TIIF = re.compile(
    rf"(?P<kind>[^/]+)/(?P<model>[^/]+)/(?P<length>short|long)_description/(?P<place>\d+){_ENDING}", re.IGNORECASE
)


def has_image_layout(folder: FolderListing) -> bool:
    """Return whether a folder has one of the supported layouts."""
    return any(_COREBENCH.fullmatch(file) or _ONEIG.fullmatch(file) or _TIIF.fullmatch(file) for file in folder.files)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield candidate files: `C-MA/C-MA-001-0.png`, `anime/MODEL/000.webp`, `TYPE/MODEL/short_description/0.png`."""
    models = dict.fromkeys(
        match["model"] for file in folder.files if (match := _ONEIG.fullmatch(file) or _TIIF.fullmatch(file))
    )
    if len(models) > 1:
        listed = ", ".join(map(short_name, list(models)[:3])) + (" …" if len(models) > 3 else "")
        raise FormalimgError(
            f"{folder.path} holds the images of {len(models)} models ({listed}): give a folder with those of one"
        )
    for file in folder.files:
        if is_any_image(file):
            yield CandidateFile(file, _match_image(file, index))


def _match_image(file: str, index: ItemIndex) -> FolderImage | None:
    name, sample = "", 0
    if match := _COREBENCH.fullmatch(file):
        name, sample = match["item"], int(match["sample"])
    elif match := _ONEIG.fullmatch(file):
        name = f"{match['part']}-{match['id']}"
    elif match := _TIIF.fullmatch(file):
        kind = re.sub(r"[^\w.-]+", "_", match["kind"])
        name = f"{kind}-{match['length']}-{match['place']}"
    item = index.item_called(name)
    return None if item is None else FolderImage(item, sample)


LAYOUT = ImageLayout("questions", has_image_layout, image_candidates)
