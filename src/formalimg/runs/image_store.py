"""The image store of a run: file names, ImageFolder metadata, and storage in the run folder or on an object store."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from formalimg._util.images import image_type
from formalimg._util.io import PARTIAL_SUFFIX, atomic_write
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.runs.remote_image_store import RemoteImage

IMAGES = "images"
METADATA = "metadata.jsonl"
_EXTENSIONS = ("png", "jpg", "webp")

ImageLocation: TypeAlias = "Path | RemoteImage"
"""The file of an image: on this machine, or on an object store. Both have `name`, `suffix` and `read_bytes`."""


class ImageStore(Protocol):
    """Stores the image files of a run and their metadata. Thread-safe."""

    def prepare(self, owner: str, *, known: bool) -> None:
        """Check that files can be stored, before any image is generated.

        Args:
            owner: a text that identifies the run.
            known: whether the run has begun before.

        Raises:
            FormalimgError: if nothing can be written there, or the place belongs to another run.
        """
        ...

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file atomically.

        Raises:
            FormalimgError: if it cannot be written anywhere.
        """
        ...

    def place(self, name: str, sha256: str) -> ImageLocation:
        """Return the location of an image, to be read."""
        ...

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files in bytes, by name.

        Raises:
            FormalimgError: if the files cannot be listed.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file.

        Raises:
            OSError: if that fails.
        """
        ...

    def upload_pending(self, names: Collection[str]) -> None:
        """Upload those of these files that had to be kept elsewhere meanwhile, as far as possible."""
        ...


@dataclass(frozen=True)
class FolderImageStore:
    """Images in the run folder itself.

    Attributes:
        folder: the run folder.
    """

    folder: Path

    def prepare(self, owner: str, *, known: bool) -> None:
        """Do nothing: the folder exists."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file atomically."""
        write_run_file(self.folder / IMAGES / name, chunks)

    def place(self, name: str, sha256: str) -> Path:
        """Return the path of an image."""
        return self.folder / IMAGES / name

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files in bytes, by name."""
        return {path.name: path.stat().st_size for path in (self.folder / IMAGES).iterdir()}

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.folder / IMAGES / name).unlink()

    def upload_pending(self, names: Collection[str]) -> None:
        """Do nothing: every file is in its place."""


def open_image_store(folder: Path, url: str) -> ImageStore:
    """Return the image store of a run.

    Args:
        folder: the run folder.
        url: the URL on an object store, as in the manifest; empty for the run folder.
    """
    if not url:
        return FolderImageStore(folder)
    from formalimg.runs.remote_image_store import RemoteImageStore  # here, because most runs need none

    return RemoteImageStore(folder, url)


def write_run_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file of a run atomically; the error says how to resume.

    Raises:
        FormalimgError: if it cannot be written, for example because the disk is full.
    """
    atomic_write(path, chunks, hint="free some space or fix it, then run the same command again to resume")


def create_run_folder(folder: Path) -> None:
    """Create the run folder and its `images`.

    Raises:
        FormalimgError: if the folder cannot be created, or holds files that are not ours.
    """
    refuse_foreign_images(folder)
    try:
        (folder / IMAGES).mkdir(parents=True, exist_ok=True)
        if not os.access(folder / IMAGES, os.W_OK):
            raise PermissionError(13, "no permission to write", str(folder))
    except OSError as error:
        raise FormalimgError(f"cannot make the run folder {folder}: {error.strerror}") from error


def refuse_foreign_images(folder: Path) -> None:
    """Refuse a folder that is not a run but has files in its `images`: they would be overwritten.

    Raises:
        FormalimgError: if there are such files.
    """
    known = any((folder / name).exists() for name in ("run.toml", "results.sqlite"))
    if not known and (folder / IMAGES).is_dir() and any((folder / IMAGES).iterdir()):
        raise FormalimgError(f"{folder} is not a run, and its {IMAGES} holds files: choose another folder for the run")


def remove_partial_files(folder: Path) -> None:
    """Remove files that a killed process left half written."""
    for path in (*folder.glob(f".*{PARTIAL_SUFFIX}"), *(folder / IMAGES).glob(f".*{PARTIAL_SUFFIX}")):
        path.unlink(missing_ok=True)


def outdated_files(present: Iterable[str], images: Iterable[tuple[str, int]], named: Collection[str]) -> list[str]:
    """Return the present files that belong to these images (item and sample), but are not among the named ones.

    An image that is generated again may have another file type, and an ImageFolder must hold no file that its metadata
    does not name. Files that belong to no image of the run are left alone.
    """
    stems = {image_stem(*image) for image in images}
    parted = ((name, *name.rpartition(".")) for name in present)
    return [
        name for name, stem, _, extension in parted if name not in named and extension in _EXTENSIONS and stem in stems
    ]


def image_name(item: str, sample: int, data: bytes) -> str:
    """Return the file name of an image: `<item>.png`, and `<item>_<sample>.png` for further samples."""
    return f"{image_stem(item, sample)}.{image_type(data) or 'webp'}"


def image_stem(item: str, sample: int) -> str:
    """Return the file name of an image without its extension; never the same for two images."""
    # The first image of an item called a_1 must not be taken for the second of a.
    return f"{item}_{sample}" if sample or re.search(r"_[0-9]+$", item) else item


def metadata_lines(rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """Return the lines of `metadata.jsonl`, by which the images load as a Hugging Face ImageFolder."""
    return (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in rows)
