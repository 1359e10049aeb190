"""Images of report pages: thumbnails embedded in the page, or larger files in a folder next to it."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Collection
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote

from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.inspection import inspect
from formalimg.types import Unscored

MAX_SIDE = 320  # The longer side of images inside a page, in pixels
_QUALITY = 72


class PageImage(Protocol):
    """An image that a page can show, with its URL and its size in pixels."""

    @property
    def address(self) -> str:
        """The URL of the image on the page."""
        ...

    @property
    def width(self) -> int:
        """The width of the image in pixels."""
        ...

    @property
    def height(self) -> int:
        """The height of the image in pixels."""
        ...


class Thumbnail(NamedTuple):
    """A thumbnail as a WebP file, with its size in pixels."""

    data: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """The image as a data URL."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode('ascii')}"


def make_thumbnail(path: ImageLocation, max_side: int = MAX_SIDE) -> Thumbnail | str:
    """Return a thumbnail of an image, decoded as for judges, or the reason why it cannot be shown."""
    from PIL import Image

    try:
        image = inspect(path.read_bytes())
    except FileNotFoundError:
        return "the file of the image is missing"
    except OSError as error:
        return f"the file of the image cannot be read: {error.strerror}"
    if isinstance(image, Unscored):
        too_large = image.reason == "too large"
        return "the image is too large to be shown" if too_large else "the file cannot be read as an image"
    small = image.pil
    small.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    page = io.BytesIO()
    small.save(page, "WEBP", quality=_QUALITY, method=4)
    return Thumbnail(page.getvalue(), small.width, small.height)


Images: TypeAlias = Literal["embed", "folder", "none"]
"""Where the images of a page are: small ones inside it, larger ones in a folder beside it, or nowhere."""

_MAX_FOLDER_SIDE = 1024
_OURS = re.compile(r"[0-9a-f]{24}\.webp")


class LinkedImage(NamedTuple):
    """An image in the folder of a page, with the size at which the page shows it."""

    folder: str
    width: int
    height: int
    data: bytes

    @property
    def name(self) -> str:
        """The file name, derived from the image content so that it is safe to use as a path."""
        return f"{sha256(self.data).hexdigest()[:24]}.webp"

    @property
    def address(self) -> str:
        """The URL of the image on the page."""
        return f"{quote(self.folder)}/{self.name}"


def image_loader(images: Images, folder: Path) -> Callable[[ImageLocation], PageImage | str]:
    """Return a function that loads images for a page and reads each file once."""

    def beside(path: ImageLocation) -> LinkedImage | str:
        small = make_thumbnail(path, _MAX_FOLDER_SIDE)
        if not isinstance(small, Thumbnail):
            return small
        shrunk = min(1.0, MAX_SIDE / max(small.width, small.height))
        width, height = (max(1, round(side * shrunk)) for side in (small.width, small.height))
        return LinkedImage(folder.name, width, height, small.data)

    match images:
        case "embed":
            return cache(make_thumbnail)
        case "folder":
            return cache(beside)
        case "none":
            return lambda path: ""


def image_folder(page: Path) -> Path:
    """Return the folder for the images of a page, such as `report_files` for `report.html`."""
    return page.with_name(f"{page.stem}_files")


def write_images(folder: Path, images: Collection[LinkedImage]) -> None:
    """Write the images of a page to a folder."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise FormalimgError(
            f"cannot create the folder {folder} for the images of the page: {error.strerror}"
        ) from error
    for image in images:
        atomic_write(folder / image.name, [image.data])


def remove_other_images(folder: Path, images: Collection[LinkedImage]) -> None:
    """Remove the images of an earlier version of the page, leaving all other files in place."""
    needed = {image.name for image in images}
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in needed:
            path.unlink(missing_ok=True)
