"""Where the images of a page are: inside it, in a folder beside it, or nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.reporting.thumbnails import LONGEST_SIDE, Shown, Thumbnail, thumbnail_of
from formalimg.runs import ImageLocation

Images: TypeAlias = Literal["embed", "folder", "none"]
"""Where the images of a page are: small ones inside it, larger ones in a folder beside it, or nowhere."""

_LARGER_SIDE = 1024
_OURS = re.compile(r"[0-9a-f]{24}\.webp")


class InFolder(NamedTuple):
    """An image in the folder beside a page, and how large it is shown there."""

    folder: str
    width: int
    height: int
    data: bytes

    @property
    def name(self) -> str:
        """The name of its file: what it holds decides, so that nothing foreign gets into a path."""
        return f"{sha256(self.data).hexdigest()[:24]}.webp"

    @property
    def address(self) -> str:
        """Where the page finds it."""
        return f"{quote(self.folder)}/{self.name}"


def showing(images: Images, folder: Path) -> Callable[[ImageLocation], Shown | str]:
    """What makes the images of a page from the files of a run; each file is read once.

    Args:
        images: where they will be.
        folder: beside the page, for those that are not inside it.
    """

    def beside(path: ImageLocation) -> InFolder | str:
        small = thumbnail_of(path, _LARGER_SIDE)
        if not isinstance(small, Thumbnail):
            return small
        shrunk = min(1.0, LONGEST_SIDE / max(small.width, small.height))
        width, height = (max(1, round(side * shrunk)) for side in (small.width, small.height))
        return InFolder(folder.name, width, height, small.data)

    match images:
        case "embed":
            return cache(thumbnail_of)
        case "folder":
            return cache(beside)
        case "none":
            return lambda path: ""


def folder_beside(page: Path) -> Path:
    """`report_files` for `report.html`."""
    return page.with_name(f"{page.stem}_files")


def write_images(folder: Path, images: Collection[InFolder]) -> None:
    """Write the images that a page will ask for."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot make the folder {folder} for the images of the page: {error.strerror}") from error
    for image in images:
        atomic_write(folder / image.name, [image.data])


def remove_other_images(folder: Path, images: Collection[InFolder]) -> None:
    """Remove what an earlier page asked for, and nothing that was not written here."""
    needed = {image.name for image in images}
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in needed:
            path.unlink(missing_ok=True)
