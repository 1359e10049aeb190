"""Image storage on an object store through fsspec, with a local queue for failed uploads."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from formalimg._util.installing import install_line
from formalimg._util.io import atomic_write, read_plain_bytes, sizes_of_plain_files
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.secrets import redact
from formalimg.runs.image_store import (
    IMAGES,
    MAX_IMAGE_BYTES,
    METADATA,
    ImageLocation,
    ImageStore,
    is_image_name,
    require_image_name,
    write_run_file,
)

LIBRARIES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "file": "",
}
"""The supported URL schemes, and the library that each needs beside fsspec.

No others: a run folder may come from anywhere, and reading it must not call any server that its manifest names.
"""

OWNER_FILE = ".formalimg-run"
"""The marker: a file that says which run the images belong to.

`run.toml` may come from anywhere and name any place. Without the marker of the run nothing is read, written or removed
there; it is written only into an empty place that the user has named.
"""
_MAX_MARKER = 10_000

_CONTAINER_BEFORE_HOST = ("abfs", "abfss")
"""In URLs of these schemes, the name before the @ is that of the container, not of a user."""

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


def open_remote_root(url: str) -> tuple[Any, str]:
    """Open the fsspec file system of a URL, and return it with the path on it."""
    scheme = check_url(url).partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        system, root = url_to_fs(url)
        return SharedFolder() if scheme == "file" else system, root
    except ImportError as error:
        command = install_line("stores", *filter(None, [LIBRARIES[scheme]]))
        raise FormalimgError(f"images at {scheme}://… need more than is installed: {command}") from error


class ForeignPlaceError(PermissionError):
    """Raised when an image location lacks the marker of the run."""


class SharedFolder:
    """The folder of a `file://` URL as an fsspec file system that never follows links."""

    def pipe_file(self, path: str, data: bytes) -> None:
        """Write a file atomically, creating its folder if necessary."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        atomic_write(Path(path), [data], fsync=True)

    def cat_file(self, path: str, start: int = 0, end: int = MAX_IMAGE_BYTES) -> bytes:
        """Return the bytes of a regular file of at most `end` bytes."""
        return read_plain_bytes(path, end)[start:]

    def ls(self, path: str, detail: bool = True) -> list[dict[str, object]]:
        """List the regular files of a folder."""
        sizes = sizes_of_plain_files(Path(path))
        return [{"name": f"{path}/{name}", "size": size, "type": "file"} for name, size in sizes.items()]

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        Path(path).unlink()

    def info(self, path: str) -> dict[str, object]:
        """Return the size of a file."""
        return {"name": path, "size": os.lstat(path).st_size, "type": "file"}

    def invalidate_cache(self, path: str) -> None:
        """Do nothing: nothing is cached."""


@dataclass(frozen=True)
class RemoteImageStore(ImageStore):
    """Image storage on an object store, with pending uploads in the `images` subfolder of the run."""

    url: str  # where the images are
    owner: str  # the text in the marker of the run

    def prepare(self, *, named: bool) -> None:
        """Check that images can be written and that the location belongs to this run."""
        with self._errors("cannot keep images at"):
            if self._read_marker() != self.owner:
                if not named:
                    raise FormalimgError(self._foreign())
                if self._list().keys() - {OWNER_FILE}:  # a marker alone may be of a run that was killed as it began
                    raise FormalimgError(f"{self.url} holds files of somebody else: name another place for the images")
            self._upload(self._marker_path(), self.owner.encode())

    def require_own(self) -> None:
        """Raise an error if the location lacks the marker of this run. The check is deferred if it is unreachable."""
        try:
            _ = self._own_root
        except ForeignPlaceError as error:
            raise FormalimgError(error.strerror) from error
        except FormalimgError:
            raise
        except Exception as error:  # storage libraries raise anything
            _log.info("%s cannot be reached: %s", self.url, _format_reason(error))

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Upload a file, or store it in the run folder for a later upload if that fails."""
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
        """Do nothing, since uploaded and pending files are already durable."""

    def locate(self, name: str, sha256: str) -> RemoteImage:
        """Return the location of an image."""
        return RemoteImage(name, sha256, self)

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        with contextlib.suppress(FileNotFoundError):
            return read_plain_bytes(self._pending(name), MAX_IMAGE_BYTES)
        try:
            return bytes(self._remote[0].cat_file(self._path(name)))
        except ForeignPlaceError:
            raise
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", f"{self.url}/{name}") from error
        except Exception as error:  # storage libraries raise anything
            raise OSError(errno.EIO, _format_reason(error), f"{self.url}/{name}") from error

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files in bytes, by name."""
        self.require_own()
        with self._errors("cannot list the images at"):
            present = self._list()
        return {**present, **super().sizes()}

    @cached_property
    def known_names(self) -> Collection[str]:
        """The names of all files, listed once and cached."""
        return frozenset(self.sizes())

    def remove(self, name: str) -> None:
        """Remove a file."""
        require_image_name(name)
        self._pending(name).unlink(missing_ok=True)
        try:
            self._remote[0].rm_file(self._path(name))
        except ForeignPlaceError:
            raise
        except FileNotFoundError:
            return
        except Exception as error:  # storage libraries raise anything
            raise OSError(errno.EIO, _format_reason(error), f"{self.url}/{name}") from error

    def upload_pending(self, names: Collection[str]) -> None:
        """Upload pending files from the run folder, stopping at the first failure."""
        for path in sorted((self.folder / IMAGES).iterdir()):
            if path.name in names:
                try:
                    self._upload(self._path(path.name), read_plain_bytes(path, MAX_IMAGE_BYTES))
                except Exception as error:  # storage libraries raise anything; the file goes on waiting
                    _log.info("%s still waits in the run folder: %s", path.name, _format_reason(error))
                    return
                path.unlink()

    def _upload(self, path: str, data: bytes) -> None:
        """Write a file and verify that the upload is complete."""
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
        files = (entry for entry in entries if entry["type"] == "file")
        return {PurePosixPath(entry["name"]).name: int(entry["size"]) for entry in files}

    @property
    def _remote(self) -> tuple[Any, str]:
        return open_remote_root(self.url)

    @cached_property
    def _own_root(self) -> str:
        if self._read_marker() != self.owner:
            raise ForeignPlaceError(errno.EPERM, self._foreign(), self.url)
        return self._remote[1].rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._own_root}/{_require_file_name(name)}"

    def _pending(self, name: str) -> Path:
        return self.folder / IMAGES / _require_file_name(name)

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


@dataclass(frozen=True)
class RemoteImage(ImageLocation):
    """An image on an object store."""

    store: RemoteImageStore  # the store it is in

    def _read(self, name: str) -> bytes:
        return self.store.read(name)

    def is_file(self) -> bool:
        """Return whether the image exists, using a cached listing of all images."""
        return self.name in self.store.known_names

    def __str__(self) -> str:
        return f"{self.store.url}/{self.name}" if is_image_name(self.name) else f"{self.store.url} {self.name!r:.200}"


def _require_file_name(name: str) -> str:
    return name if name == METADATA else require_image_name(name)


def _format_reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no reason given"
    return truncate(redact(text if isinstance(error, OSError) else f"{type(error).__name__}: {text}"), 200, 50)


def _shorten_url(text: str) -> str:
    before, at, after = text.rpartition("@")
    plain = f"…@{after}" if at and before else text
    return repr(plain.partition("?")[0][:80])
