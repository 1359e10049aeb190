"""Where the images of a run lie: in its folder, or on an object store that any machine can reach."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from formalimg.runs.files import IMAGES, write_file
from formalimg.runs.image_store_remote import RemoteImage, RemoteImages

ImageLocation: TypeAlias = Path | RemoteImage
"""The file of an image: on this machine, or on an object store. Both have `name`, `suffix` and `read_bytes`."""


class ImageStore(Protocol):
    """Keeps the files of a run's images, and what describes them. May be used from any thread."""

    def prepare(self, owner: str, *, known: bool) -> None:
        """Make sure that files can be kept, before anybody makes any.

        Args:
            owner: the run, in words that no other run has.
            known: whether the run has begun before.

        Raises:
            FormalimgError: if nothing can be written there, or it belongs to somebody else.
        """
        ...

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file, which is there as a whole or not at all.

        Raises:
            FormalimgError: if it can be kept nowhere.
        """
        ...

    def place(self, name: str, sha256: str) -> ImageLocation:
        """Where an image lies, to be read."""
        ...

    def sizes(self) -> dict[str, int]:
        """All files by name, with their sizes in bytes.

        Raises:
            FormalimgError: if nobody can tell.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove a file.

        Raises:
            OSError: if that fails.
        """
        ...

    def settle(self, names: Collection[str]) -> None:
        """Bring those of these files to their place that had to be kept elsewhere meanwhile, as far as possible."""
        ...


@dataclass(frozen=True)
class FolderImages:
    """Images in the run folder itself.

    Attributes:
        folder: the run folder.
    """

    folder: Path

    def prepare(self, owner: str, *, known: bool) -> None:
        """Nothing has to be done: the folder is there."""

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file."""
        write_file(self.folder / IMAGES / name, pieces)

    def place(self, name: str, sha256: str) -> Path:
        """Where an image lies."""
        return self.folder / IMAGES / name

    def sizes(self) -> dict[str, int]:
        """All files by name, with their sizes in bytes."""
        return {path.name: path.stat().st_size for path in (self.folder / IMAGES).iterdir()}

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.folder / IMAGES / name).unlink()

    def settle(self, names: Collection[str]) -> None:
        """Everything is in its place already."""


def images_of(folder: Path, url: str) -> ImageStore:
    """Where the images of a run lie.

    Args:
        folder: the run folder.
        url: the address on an object store, as its card names it; empty if there is none.
    """
    return RemoteImages(folder, url) if url else FolderImages(folder)
