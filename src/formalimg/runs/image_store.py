"""The image store of a run: file names, ImageFolder metadata, and storage in the run folder or on an object store."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from formalimg._util.images import image_type
from formalimg._util.io import atomic_write, fsync_files, kind_of_special, read_plain_bytes, sizes_of_plain_files
from formalimg.errors import FormalimgError

IMAGES = "images"
METADATA = "metadata.jsonl"
MAX_IMAGE_BYTES = 512_000_000  # Files with more bytes than this are not read: images have at most 50 million pixels
_EXTENSIONS = ("png", "jpg", "webp")
_IMAGE_NAME = re.compile(rf"[^./\\:\x00-\x1f\x7f][^/\\:\x00-\x1f\x7f]*\.(?:{'|'.join(_EXTENSIONS)})")
_MAX_NAME_BYTES = 255
_RESUME = "free some space or fix it, then run the same command again to resume"


class ChangedImageError(OSError):
    """Raised when an image file does not match its recorded digest."""


@dataclass(frozen=True)
class ImageLocation(ABC):
    """The location of an image in the run folder or on an object store, with validated reads."""

    name: str  # its recorded file name, which may be anything
    sha256: str  # the digest of its bytes: no other file is ever read

    @property
    def suffix(self) -> str:
        """The file extension including the dot, or an empty string if the name is not a valid image name."""
        return PurePosixPath(self.name).suffix if is_image_name(self.name) else ""

    def read_bytes(self) -> bytes:
        """Return the bytes of the file after verifying its digest."""
        data = self._read(require_image_name(self.name))
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ChangedImageError(errno.EIO, "it is not the file that was made", str(self))
        return data

    @abstractmethod
    def _read(self, name: str) -> bytes: ...

    @abstractmethod
    def is_file(self) -> bool:
        """Return whether the image exists as a regular file."""


@dataclass(frozen=True)
class RunFolderImage(ImageLocation):
    """An image in the run folder."""

    folder: Path  # the folder of the images

    @property
    def path(self) -> Path:
        """The path of the image."""
        return self.folder / require_image_name(self.name)

    def _read(self, name: str) -> bytes:
        return read_plain_bytes(self.folder / name, MAX_IMAGE_BYTES)

    def is_file(self) -> bool:
        """Return whether the image exists as a regular file."""
        return is_image_name(self.name) and not kind_of_special(self.path) and self.path.exists()

    def __fspath__(self) -> str:
        """Return the path for functions that accept one, without the validation of `read_bytes`."""
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path) if is_image_name(self.name) else f"{self.folder} {self.name!r:.200}"


@dataclass(frozen=True)
class ImageStore:
    """Thread-safe storage for the image files and metadata of a run, in the run folder.

    `RemoteImageStore` has the same methods for images elsewhere. The manifest and the database of a run may come from
    anywhere: a place outside the run folder is read and written only if it has the marker of the run, and only files
    are touched whose names an image of a run can have.
    """

    folder: Path  # the run folder

    def prepare(self, *, named: bool) -> None:
        """Check that files can be stored. `named` is true if the user passed the location."""

    def require_own(self) -> None:
        """Raise an error if the location belongs to another run. The check is deferred if it is unreachable."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file atomically."""
        if name != METADATA and not is_image_name(name):
            message = f"an image cannot be stored as {name!r:.200}: give its item an id that can be a file name"
            raise FormalimgError(message)
        write_run_file(self.folder / IMAGES / name, chunks)

    def sync(self, names: Collection[str]) -> None:
        """Sync the files to disk."""
        try:
            fsync_files(self.folder / IMAGES, names)
        except OSError as error:
            raise FormalimgError(f"cannot write to {self.folder / IMAGES}: {error.strerror}; {_RESUME}") from error

    def locate(self, name: str, sha256: str) -> ImageLocation:
        """Return the location of an image for reading.

        This is the only way from a recorded name to a file: reading fails if the name is none that an image can have,
        or if the file is a link, or has another digest.
        """
        return RunFolderImage(name, sha256, self.folder / IMAGES)

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files in bytes, by name."""
        folder = self.folder / IMAGES
        try:
            sizes = sizes_of_plain_files(folder)
            special = [path for path in folder.iterdir() if path.name not in sizes]
        except OSError as error:
            raise FormalimgError(f"cannot list the images in {folder}: {error.strerror}") from error
        for path in special:
            if is_image_name(path.name) or path.name == METADATA:
                raise FormalimgError(
                    f"{path} is {kind_of_special(path)}, and a run holds plain files only: remove it, or put the file "
                    "back"
                )
        return sizes

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.folder / IMAGES / require_image_name(name)).unlink()

    def upload_pending(self, names: Collection[str]) -> None:
        """Upload pending files from the run folder where possible."""


def open_image_store(folder: Path, url: str, owner: str) -> ImageStore:
    """Open the image store of a run."""
    if not url:
        return ImageStore(folder)
    from formalimg.runs.remote_image_store import RemoteImageStore  # here, because most runs need none

    return RemoteImageStore(folder, url, owner)


def write_run_file(path: Path, chunks: Iterable[bytes], *, fsync: bool = False) -> None:
    """Write a file of a run atomically, with an error message that explains how to resume."""
    atomic_write(path, chunks, fsync=fsync, hint=_RESUME)


def is_image_name(name: object) -> bool:
    """Return whether an object is a valid image file name, as defined by `image_name`."""
    if not isinstance(name, str) or not _IMAGE_NAME.fullmatch(name):
        return False
    return len(name.encode("utf-8", "surrogatepass")) <= _MAX_NAME_BYTES


def require_image_name(name: str) -> str:
    """Return the name if it is a valid image file name, else raise an error."""
    if not is_image_name(name):
        raise PermissionError(errno.EPERM, "its name is not that of an image, or leads out of their place", repr(name))
    return name


def find_outdated_files(present: Iterable[str], images: Iterable[tuple[str, int]], named: Collection[str]) -> list[str]:
    """Return the existing files that belong to the images but are not in `named`.

    An image that is generated again may have another file type, and an ImageFolder must hold no file that its metadata
    does not name. Files that belong to no image of the run are left alone.
    """
    stems = {image_stem(*image) for image in images}
    return [
        name
        for name in present
        if is_image_name(name)
        and name not in named
        and name.rpartition(".")[2] in _EXTENSIONS
        and name.rpartition(".")[0] in stems
    ]


def image_name(item: str, sample: int, data: bytes) -> str:
    """Return the file name of an image: `<item>.png`, and `<item>_<sample>.png` for further samples."""
    return f"{image_stem(item, sample)}.{image_type(data) or 'webp'}"


def image_stem(item: str, sample: int) -> str:
    """Return a file name without extension that is unique for each item and sample."""
    # The first image of an item called a_1 must not be taken for the second of a.
    return f"{item}_{sample}" if sample or re.search(r"_[0-9]+$", item) else item


def metadata_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Yield the lines of `metadata.jsonl`, which make the folder loadable as a Hugging Face ImageFolder."""
    return (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)
