"""The image store of a run: file names, ImageFolder metadata, and storage in the run folder or on an object store."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from formalimg._util.images import image_type
from formalimg._util.io import atomic_write, fsync_files, kind_of_special, read_plain_bytes, sizes_of_plain_files
from formalimg._util.text import truncate
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
class ImageLocation:
    """The location of an image in the run folder or on an object store, with validated reads."""

    name: str  # its recorded file name, which may be anything
    sha256: str  # the digest of its bytes: no other file is ever read
    store: ImageStore  # where it is

    @property
    def suffix(self) -> str:
        """The file extension including the dot, or an empty string if the name is not a valid image name."""
        return PurePosixPath(self.name).suffix if is_image_name(self.name) else ""

    def read_bytes(self) -> bytes:
        """Return the bytes of the file after verifying its digest."""
        data = self.store.read(require_image_name(self.name))
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ChangedImageError(errno.EIO, "it is not the file that was stored", str(self))
        return data

    def is_file(self) -> bool:
        """Return whether the image exists as a regular file."""
        return is_image_name(self.name) and self.store.has(self.name)

    def __str__(self) -> str:
        place = self.store.place
        return f"{place}/{self.name}" if is_image_name(self.name) else f"{place} {self.name!r:.200}"


@dataclass(frozen=True)
class RunFolderImage(ImageLocation):
    """An image in the run folder."""

    @property
    def path(self) -> Path:
        """The path of the image."""
        return self.store.images / require_image_name(self.name)

    def __fspath__(self) -> str:
        """Return the path for functions that accept one, without the validation of `read_bytes`."""
        return str(self.path)


@dataclass(frozen=True)
class ImageStore:
    """Thread-safe storage for the image files and metadata of a run, in the run folder.

    `_RemoteImageStore` is the same for images elsewhere. The manifest and the database of a run are untrusted: a
    location outside the run folder is read and written only if it has the marker of the run, and only files with valid
    image names are touched.
    """

    folder: Path  # the run folder

    @property
    def images(self) -> Path:
        """The folder of the images, or of those that are still to be uploaded."""
        return self.folder / IMAGES

    @property
    def place(self) -> str:
        """The folder or URL of the images, for messages."""
        return str(self.images)

    def prepare(self, *, named: bool) -> None:
        """Check that files can be stored. `named` is true if the user passed the location."""

    def require_own(self) -> None:
        """Raise an error if the location belongs to another run. The check is deferred if it is unreachable."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file atomically."""
        if name != METADATA and not is_image_name(name):
            message = f"an image cannot be stored as {name!r:.200}: give its item an id that can be a file name"
            raise FormalimgError(message)
        write_run_file(self.images / name, chunks)

    def sync(self, names: Collection[str]) -> None:
        """Sync the files to disk."""
        try:
            fsync_files(self.images, names)
        except OSError as error:
            raise FormalimgError(f"cannot write to {self.images}: {error.strerror}; {_RESUME}") from error

    def locate(self, name: str, sha256: str) -> ImageLocation:
        """Return the location of an image for reading.

        This is the only way to resolve a recorded name to a file: reading fails if the name is not a valid image name,
        or if the file is a link or has another digest.
        """
        return RunFolderImage(name, sha256, self)

    def read(self, name: str) -> bytes:
        """Return the bytes of a regular file."""
        return read_plain_bytes(self.images / name, MAX_IMAGE_BYTES)

    def has(self, name: str) -> bool:
        """Return whether a regular file exists."""
        return not kind_of_special(self.images / name) and (self.images / name).exists()

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files in bytes, by name."""
        try:
            sizes = sizes_of_plain_files(self.images)
            special = [path for path in self.images.iterdir() if path.name not in sizes]
        except OSError as error:
            raise FormalimgError(f"cannot list the images in {self.images}: {error.strerror}") from error
        for path in special:
            if is_image_name(path.name) or path.name == METADATA:
                raise FormalimgError(
                    f"{path} is {kind_of_special(path)}, and a run holds plain files only: remove it, or put the file "
                    "back"
                )
        return sizes

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self.images / require_image_name(name)).unlink()

    def upload_pending(self, names: Collection[str]) -> None:
        """Upload pending files from the run folder where possible."""


def open_image_store(folder: Path, url: str, owner: str) -> ImageStore:
    """Open the image store of a run."""
    return _RemoteImageStore(folder, url, owner) if url else ImageStore(folder)


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
        raise PermissionError(errno.EPERM, "its name is not an image name, or leads out of the folder", repr(name))
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


# --- object stores, through fsspec, with a queue in the run folder for failed uploads

# The supported URL schemes, and the library that each needs beside fsspec. No others: a run folder may come from
# anywhere, and reading it must not call any server that its manifest names.
LIBRARIES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs", "file": ""}
# The marker: a file that says which run the images belong to. `run.toml` may name any place. Without the marker of the
# run nothing is read, written or removed there; it is written only into an empty place that the user has named.
OWNER_FILE = ".formalimg-run"
_MAX_MARKER = 10_000
_CONTAINER_BEFORE_HOST = ("abfs", "abfss")  # the schemes with the name of a container, not of a user, before the @
_ATTEMPTS = 2
_log = logging.getLogger(__name__)


def check_url(text: str) -> str:
    """Validate a URL and return it without a trailing slash."""
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in LIBRARIES:
        schemes = ", ".join(f"{name}://" for name in LIBRARIES)
        raise FormalimgError(
            f"cannot keep images at {_shorten_url(text)}: give an address that begins with {schemes}; for a folder of "
            "this machine alone use --out"
        )
    parts = urlsplit(text)
    user, at, _ = parts.netloc.rpartition("@")
    if (at and (scheme not in _CONTAINER_BEFORE_HOST or ":" in user)) or "?" in text or "#" in text:
        raise FormalimgError(
            f"the address of images at {scheme}://… holds a name, a key or options, and it would be written into "
            "run.toml: give the bare address, and the rest in the environment or in fsspec's configuration"
        )
    if not rest.strip("/") or "::" in text or any(part in (".", "..") for part in rest.split("/")):
        raise FormalimgError(f"cannot keep images at {_shorten_url(text)}: name a bucket and a place in it")
    return text.rstrip("/")


class _ForeignPlaceError(PermissionError):
    """Raised when an image location lacks the marker of the run."""


class _SharedFolder:
    """The folder of a `file://` URL as an fsspec file system that never follows links."""

    def pipe_file(self, path: str, data: bytes) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        atomic_write(Path(path), [data], fsync=True)

    def cat_file(self, path: str, start: int = 0, end: int = MAX_IMAGE_BYTES) -> bytes:
        return read_plain_bytes(path, end)[start:]

    def ls(self, path: str, detail: bool = True) -> list[dict[str, object]]:
        sizes = sizes_of_plain_files(Path(path))
        return [{"name": f"{path}/{name}", "size": size, "type": "file"} for name, size in sizes.items()]

    def rm_file(self, path: str) -> None:
        Path(path).unlink()

    def info(self, path: str) -> dict[str, object]:
        return {"name": path, "size": os.lstat(path).st_size, "type": "file"}

    def invalidate_cache(self, path: str) -> None:
        """Do nothing: nothing is cached."""


@dataclass(frozen=True)
class _RemoteImageStore(ImageStore):
    """Image storage on an object store, with pending uploads in the `images` subfolder of the run."""

    url: str  # where the images are
    owner: str  # the text in the marker of the run

    @property
    def place(self) -> str:
        return self.url

    def prepare(self, *, named: bool) -> None:
        with self._errors("cannot keep images at"):
            if self._read_marker() != self.owner:
                if not named:
                    raise FormalimgError(self._foreign())
                if self._list().keys() - {OWNER_FILE}:  # a marker alone may be of a run that was killed as it began
                    raise FormalimgError(
                        f"{self.url} holds files that are not of this run: choose another address for the images"
                    )
            self._upload(self._marker_path(), self.owner.encode())

    def require_own(self) -> None:
        try:
            _ = self._own_root
        except _ForeignPlaceError as error:
            raise FormalimgError(error.strerror) from error
        except FormalimgError:
            raise
        except Exception as error:  # storage libraries raise anything
            _log.info("%s cannot be reached: %s", self.url, _format_reason(error))

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        data = b"".join(chunks)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._upload(self._path(name), data)
                # A pending file of this name is older.
                self._pending(name).unlink(missing_ok=True)
                return
            except Exception as error:  # storage libraries raise anything
                _log.info("upload %d of %d of %s failed: %s", attempt, _ATTEMPTS, name, _format_reason(error))
        write_run_file(self._pending(name), [data], fsync=True)

    def sync(self, names: Collection[str]) -> None:
        """Do nothing: uploaded and pending files are durable."""

    def locate(self, name: str, sha256: str) -> ImageLocation:
        return ImageLocation(name, sha256, self)

    def has(self, name: str) -> bool:
        return name in self._names

    def read(self, name: str) -> bytes:
        with contextlib.suppress(FileNotFoundError):
            return read_plain_bytes(self._pending(name), MAX_IMAGE_BYTES)
        with self._os_errors(name):
            return bytes(self._remote[0].cat_file(self._path(name)))

    def sizes(self) -> dict[str, int]:
        self.require_own()
        with self._errors("cannot list the images at"):
            present = self._list()
        return {**present, **super().sizes()}

    @cached_property
    def _names(self) -> Collection[str]:
        return frozenset(self.sizes())

    def remove(self, name: str) -> None:
        require_image_name(name)
        self._pending(name).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError), self._os_errors(name):
            self._remote[0].rm_file(self._path(name))

    def upload_pending(self, names: Collection[str]) -> None:
        for path in sorted(self.images.iterdir()):
            if path.name in names:
                try:
                    self._upload(self._path(path.name), read_plain_bytes(path, MAX_IMAGE_BYTES))
                except Exception as error:  # storage libraries raise anything; the file goes on waiting
                    _log.info("%s still waits in the run folder: %s", path.name, _format_reason(error))
                    return
                path.unlink()

    def _upload(self, path: str, data: bytes) -> None:
        system, root = self._remote
        system.pipe_file(path, data)
        system.invalidate_cache(root)
        size = system.info(path)["size"]
        if size != len(data):
            raise OSError(errno.EIO, f"{size} of {len(data)} bytes have arrived", path)

    def _marker_path(self) -> str:
        return f"{self._remote[1].rstrip('/')}/{OWNER_FILE}"

    def _read_marker(self) -> str:
        try:
            return bytes(self._remote[0].cat_file(self._marker_path(), 0, _MAX_MARKER)).decode(errors="replace")
        except FileNotFoundError:
            return ""

    def _foreign(self) -> str:
        return (
            f"{self.url} has no file {OWNER_FILE} that says it holds the images of the run in {self.folder}, so "
            f"nothing is read or written there: if it is yours, put the file back, with the text {self.owner!r:.300}"
        )

    def _list(self) -> dict[str, int]:
        system, root = self._remote
        system.invalidate_cache(root)
        try:
            entries = system.ls(root, detail=True)
        except FileNotFoundError:  # nothing was written there yet; whether anything can be, writing will show
            return {}
        return {PurePosixPath(file["name"]).name: int(file["size"]) for file in entries if file["type"] == "file"}

    @property
    def _remote(self) -> tuple[Any, str]:
        """The fsspec file system and the path on it."""
        scheme = check_url(self.url).partition("://")[0]
        try:
            from fsspec.core import url_to_fs

            system, root = url_to_fs(self.url)
            return _SharedFolder() if scheme == "file" else system, root
        except ImportError as error:
            from formalimg._util.installing import install_line

            command = install_line("stores", *filter(None, [LIBRARIES[scheme]]))
            raise FormalimgError(f"images at {scheme}://… need more than is installed: {command}") from error

    @cached_property
    def _own_root(self) -> str:
        if self._read_marker() != self.owner:
            raise _ForeignPlaceError(errno.EPERM, self._foreign(), self.url)
        return self._remote[1].rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._own_root}/{name if name == METADATA else require_image_name(name)}"

    def _pending(self, name: str) -> Path:
        return self.images / (name if name == METADATA else require_image_name(name))

    @contextlib.contextmanager
    def _os_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except _ForeignPlaceError:
            raise
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", f"{self.url}/{name}") from error
        except Exception as error:  # storage libraries raise anything
            raise OSError(errno.EIO, _format_reason(error), f"{self.url}/{name}") from error

    @contextlib.contextmanager
    def _errors(self, action: str) -> Iterator[None]:
        try:
            yield
        except FormalimgError:
            raise
        except Exception as error:  # storage libraries raise anything
            raise FormalimgError(
                f"{action} {self.url} ({_format_reason(error)}): see to the bucket, the keys and the network, then "
                "give the same command again"
            ) from error


def _format_reason(error: Exception) -> str:
    from formalimg.models.secrets import redact  # here, because most runs need none

    text = " ".join(str(error).split()) or "no reason given"
    return truncate(redact(text if isinstance(error, OSError) else f"{type(error).__name__}: {text}"), 200, 50)


def _shorten_url(text: str) -> str:
    before, at, after = text.rpartition("@")
    return repr((f"…@{after}" if at and before else text).partition("?")[0][:80])
