"""The folder of an export: its file list, and the image files in it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from starlette.exceptions import HTTPException

from formalimg._util.images import image_type
from formalimg._util.io import atomic_write
from formalimg.errors import FormalimgError
from formalimg.web.export.addresses import Address
from formalimg.web.viewer.images import thumbnail_bytes
from formalimg.web.viewer.site import READ_ERRORS, Site

ExportImages: TypeAlias = Literal["all", "failures", "none"]
"""Which images to export: all, those that do not pass, or none."""

ImageSize: TypeAlias = Literal["full", "thumbnail"]
MANIFEST = "export.json"  # lists the files of an export with their digests, so that the next one replaces only these
_FORMAT = "formalimg-export"
_OWN_PATH = re.compile(r"[a-z0-9_-]+(/[a-z0-9_-]+)*\.[a-z]+")  # inside the folder
_THREADS = 2  # for thumbnails, which are made while pages are rendered


class ExportFolder:
    """A folder for an export, in which files written by anything else are never removed."""

    def __init__(self, folder: Path, *, force: bool = False) -> None:
        """Open an export folder, which is created with the first file."""
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise FormalimgError(f"{folder} is not a folder: export to a new one")
        self._before = _read_manifest(folder)
        if self._before is None and not force and folder.exists() and any(folder.iterdir()):
            raise FormalimgError(
                f"{folder} is not empty and not an export of the viewer: name another folder, or give --force"
            )
        self._digests: dict[str, str] = {}
        self._ready: set[Path] = set()

    def __len__(self) -> int:
        return len(self._digests)

    def write(self, path: str, data: bytes) -> None:
        """Write a file."""
        atomic_write(self._target(path), [data])
        self._digests[path] = _digest(data)

    def write_same(self, path: str, data: bytes, source: str | os.PathLike[str]) -> None:
        """Write a copy of an existing file, as a hard link where the disk supports it."""
        target = self._target(path)
        try:
            target.unlink(missing_ok=True)
            os.link(source, target, follow_symlinks=False)
        except OSError:
            self.write(path, data)
        else:
            self._digests[path] = _digest(data)

    def _target(self, path: str) -> Path:
        """Return the full path of a file and create its parent folder."""
        target = self.folder / path
        if target.parent in self._ready:
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FormalimgError(f"cannot write {target}: {error.strerror}") from error
        if target.parent.resolve() != (self.folder.resolve() / path).parent:
            raise FormalimgError(f"{target.parent} is reached through a link: remove it, or export to a new folder")
        self._ready.add(target.parent)
        return target

    def finish(self) -> None:
        """Remove files of an earlier export that were not written again, and write the file list."""
        for path, digest in (self._before or {}).items():
            if path not in self._digests:
                _remove_own(self.folder, path, digest)
        manifest = json.dumps({"format": _FORMAT, "files": dict(sorted(self._digests.items()))}, indent=1)
        atomic_write(self.folder / MANIFEST, [manifest.encode(), b"\n"])


def _read_manifest(folder: Path) -> dict[str, str] | None:
    """Return the files of an earlier export, or None if there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    match manifest:
        case {"format": format_, "files": dict(digests)} if format_ == _FORMAT:
            return {str(path): str(digest) for path, digest in digests.items()}
    return None


def _remove_own(folder: Path, path: str, digest: str) -> None:
    """Remove a file of an earlier export unless it was modified, and its folder if that becomes empty."""
    target = folder / path
    if not _OWN_PATH.fullmatch(path) or target.is_symlink() or not target.is_file():
        return
    if not target.resolve().is_relative_to(folder.resolve()) or _digest(target.read_bytes()) != digest:
        return
    target.unlink()
    for parent in target.parents:
        if parent == folder or any(parent.iterdir()):
            return
        parent.rmdir()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


class ImageFiles:
    """Writes the images of an export, without a request for each."""

    def __init__(self, site: Site, folder: ExportFolder, images: ExportImages, size: ImageSize) -> None:
        """Select the images to write, and their size."""
        self._site, self._folder, self._images, self._size = site, folder, images, size
        self._passed: dict[str, frozenset[tuple[str, str]]] = {}
        self._thumbnails: dict[str, Future[bytes]] = {}

    @contextmanager
    def background_thumbnails(self) -> Iterator[None]:
        """Generate the thumbnails of all runs in the background while the block runs."""
        with ThreadPoolExecutor(_THREADS) as threads:
            try:
                for folder in self._site.runs() if self._images != "none" else ():
                    with suppress(*READ_ERRORS), self._site.open_folder(folder) as run:
                        for outcome in run.outcomes():
                            image = run.image_file(outcome.item, outcome.sample)
                            if image is None or (self._images == "failures" and outcome.passed):
                                continue
                            if image.sha256 not in self._thumbnails:
                                self._thumbnails[image.sha256] = threads.submit(thumbnail_bytes, image)
                yield
            finally:
                threads.shutdown(cancel_futures=True)

    def choose(self, address: Address) -> Address | None:
        """Return the address of the file exported for an image, or None if it is not exported."""
        if self._images == "none" or (self._images == "failures" and self._passes(address)):
            return None
        return address._replace(path="/thumbnail") if self._size == "thumbnail" else address

    def write(self, address: Address) -> str | None:
        """Write an image or its thumbnail; return its path, or None if it cannot be shown."""
        try:
            with self._site.open(address.value("run")) as run:
                image = run.image_file(address.value("item"), int(address.value("sample") or 0))
            if image is None:
                return None
            if address.path == "/thumbnail":
                path, future = address.file(".webp"), self._thumbnails.pop(image.sha256, None)
                self._folder.write(path, future.result() if future else thumbnail_bytes(image))
                return path
            data = image.path.read_bytes()
        except (HTTPException, *READ_ERRORS):
            return None
        kind = image_type(data)
        if kind is None:
            return None
        path = address.file(f".{kind}")
        if isinstance(image.path, os.PathLike):
            self._folder.write_same(path, data, image.path)
        else:
            self._folder.write(path, data)
        return path

    def _passes(self, address: Address) -> bool:
        name = address.value("run")
        if name not in self._passed:
            with self._site.open(name) as run:
                self._passed[name] = frozenset((it.item, str(it.sample)) for it in run.outcomes() if it.passed)
        return (address.value("item"), address.value("sample") or "0") in self._passed[name]
