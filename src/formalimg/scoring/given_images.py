"""Given images: files, bytes and PIL images that are to be scored, as an image model that serves them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from formalimg._util.image_input import AnyImage, NoImageError, image_file_bytes
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.models.folder.file_matching import is_any_image, scan_folder
from formalimg.types import Setting

GIVEN = "folder/given"
"""The name under which runs record given images as their model."""

_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class GivenImage:
    """An image to be scored."""

    name: str  # the path of its file, as it was given, or its number
    sha256: str  # the digest of its bytes
    load: Callable[[], bytes]  # reads its bytes

    @property
    def slug(self) -> str:
        """The name of the file in plain letters, for the ids of items."""
        return re.sub(r"[^a-z0-9]+", "-", Path(self.name).stem.lower()).strip("-")[:40] or "image"


def open_given_image(image: AnyImage, number: int) -> GivenImage:
    """Return an image that a user gave."""
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        return GivenImage(os.fspath(path), _hash_bytes(_read_file(path)), partial(_read_file, path))
    try:
        data = image_file_bytes(image)
    except NoImageError as error:
        raise FormalimgError(f"image {number} is none: {error}") from error
    return GivenImage(f"image {number}", _hash_bytes(data), lambda: data)


def find_image_files(paths: Sequence[Path]) -> list[Path]:
    """Return these files, and the images in these folders in natural order."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [path / file for file in scan_folder(str(path)).files if is_any_image(file)]
            if not inside:
                raise FormalimgError(f"{path} holds no images: give a folder with PNG, JPEG or WebP files")
            files += inside
        elif path.is_file():
            files.append(path)
        else:
            raise FormalimgError(f"there is no image {truncate(str(path), 100, 100)}: check the path")
    return files


class GivenImages:
    """An image model that serves given images, by the id of the item that each belongs to.

    Attributes:
        name, settings, batch, concurrency, sees_spec, style: as for every image model.
    """

    name = GIVEN
    batch = 1
    concurrency = 16
    sees_spec = False
    style = "none"

    def __init__(self, images: Mapping[str, GivenImage]) -> None:
        self.settings: Mapping[str, Setting] = {"version": 1}
        self._images = images

    def fingerprint(self, item: str, sample: int) -> str:
        """Return the digest of the image of an item, so that another image is read anew."""
        return self._images[item].sha256

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield the images as they are, one result per request."""
        for request in requests:
            image = self._images[request.item]
            try:
                data = await asyncio.to_thread(image.load)
            except FormalimgError as error:
                yield Failed(str(error))
                continue
            yield Generated(data, {"file": truncate(image.name, 150, 150)})


def _read_file(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise FormalimgError(f"there is no image {truncate(str(path), 100, 100)}: check the path")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FormalimgError(f"cannot read the image {truncate(str(path), 100, 100)}: {reason}") from error
    if len(data) > _MAX_BYTES:
        raise FormalimgError(f"{truncate(str(path), 100, 100)} is too large for an image: give one below 256 MB")
    return data


def _hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
