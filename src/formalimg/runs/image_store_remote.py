"""Images on an object store, through fsspec; what cannot be brought there waits in the run folder: none is lost."""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models import redacted
from formalimg.runs.files import IMAGES, write_file
from formalimg.runs.image_store_url import Reached, reach

MARK = ".formalimg-run"
"""The file that says whose images these are."""

_TRIES = 2


@dataclass(frozen=True)
class RemoteImages:
    """Images on an object store; see `ImageStore`.

    Attributes:
        folder: the run folder, whose `images` holds what could not be brought to the store yet.
        url: where the images lie.
    """

    folder: Path
    url: str

    def prepare(self, owner: str, *, known: bool) -> None:
        """Make sure that images can be written, and that the place is the run's own."""
        with self._told("cannot keep images at"):
            there = self._listed()
            mark = self._reached.system.cat_file(self._path(MARK)).decode(errors="replace") if MARK in there else ""
        if mark not in ("", owner) if known else there.keys() - {MARK}:
            raise FormalimgError(f"{self.url} holds files of somebody else: name another place for the images")
        with self._told("cannot keep images at"):
            self._put(MARK, owner.encode())

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file on the store; where that fails, in the run folder, until it can be brought there."""
        data = b"".join(pieces)
        for _ in range(_TRIES):
            with contextlib.suppress(Exception):  # whatever the libraries of the stores raise
                self._put(name, data)
                # What waited under this name is older.
                self._waiting(name).unlink(missing_ok=True)
                return
        write_file(self._waiting(name), [data])

    def place(self, name: str, sha256: str) -> RemoteImage:
        """Where an image lies."""
        return RemoteImage(self, name, sha256)

    def read(self, name: str) -> bytes:
        """A file as it is.

        Raises:
            OSError: if it cannot be read.
        """
        with contextlib.suppress(FileNotFoundError):
            return self._waiting(name).read_bytes()
        try:
            return bytes(self._reached.system.cat_file(self._path(name)))
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", f"{self.url}/{name}") from error
        except Exception as error:  # whatever the libraries of the stores raise
            raise OSError(errno.EIO, _reason(error), f"{self.url}/{name}") from error

    def sizes(self) -> dict[str, int]:
        """All files by name, with their sizes in bytes."""
        with self._told("cannot list the images at"):
            there = self._listed()
        waiting = {path.name: path.stat().st_size for path in (self.folder / IMAGES).iterdir()}
        return {**there, **waiting}

    @cached_property
    def known_names(self) -> Collection[str]:
        """The names of all files, as they were when somebody first asked."""
        return frozenset(self.sizes())

    def remove(self, name: str) -> None:
        """Remove a file."""
        self._waiting(name).unlink(missing_ok=True)
        try:
            self._reached.system.rm_file(self._path(name))
        except FileNotFoundError:
            return
        except Exception as error:  # whatever the libraries of the stores raise
            raise OSError(errno.EIO, _reason(error), f"{self.url}/{name}") from error

    def settle(self, names: Collection[str]) -> None:
        """Bring to the store what waits in the run folder, up to the first that cannot be brought there."""
        for path in sorted((self.folder / IMAGES).iterdir()):
            if path.name in names:
                try:
                    self._put(path.name, path.read_bytes())
                except Exception:  # whatever the libraries of the stores raise; it goes on waiting
                    return
                path.unlink()

    def _put(self, name: str, data: bytes) -> None:
        """Write a file and see that it is there as a whole."""
        system, path = self._reached.system, self._path(name)
        system.pipe_file(path, data)
        system.invalidate_cache(self._reached.root)
        size = system.info(path)["size"]
        if size != len(data):
            raise OSError(errno.EIO, f"{size} of {len(data)} bytes have arrived", f"{self.url}/{name}")

    def _listed(self) -> dict[str, int]:
        system, root = self._reached
        system.invalidate_cache(root)
        try:
            entries = system.ls(root, detail=True)
        except FileNotFoundError:  # nothing was written there yet; whether anything can be, writing will show
            return {}
        files = (entry for entry in entries if entry["type"] == "file")
        return {PurePosixPath(entry["name"]).name: int(entry["size"]) for entry in files}

    @property
    def _reached(self) -> Reached:
        return reach(self.url)

    def _path(self, name: str) -> str:
        return f"{self._reached.root.rstrip('/')}/{_plain(name)}"

    def _waiting(self, name: str) -> Path:
        return self.folder / IMAGES / _plain(name)

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Errors of the store, as errors that users can act on."""
        try:
            yield
        except FormalimgError:
            raise
        except Exception as error:  # whatever the libraries of the stores raise
            raise FormalimgError(
                f"{what} {self.url} ({_reason(error)}): see to the bucket, the keys and the network, then give the "
                "same command again"
            ) from error


@dataclass(frozen=True)
class RemoteImage:
    """An image on an object store, read like the path of a file.

    Attributes:
        store: where it lies.
        name: the name of its file.
        sha256: the digest of its bytes: no other file is ever read.
    """

    store: RemoteImages
    name: str
    sha256: str

    @property
    def suffix(self) -> str:
        """The ending of its name, with the dot."""
        return PurePosixPath(self.name).suffix

    def read_bytes(self) -> bytes:
        """The file, as it was made.

        Raises:
            OSError: if it cannot be read, or is another.
        """
        data = self.store.read(self.name)
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise OSError(errno.EIO, "it is not the file that was made", str(self))
        return data

    def is_file(self) -> bool:
        """Is it there? Found in one listing of all images."""
        return self.name in self.store.known_names

    def __str__(self) -> str:
        return f"{self.store.url}/{self.name}"


def _plain(name: str) -> str:
    """The name of a file, if it is no more than that: the database may come from anywhere."""
    if name in ("", ".", "..") or "/" in name or "\\" in name:
        raise PermissionError(errno.EPERM, "its name leads out of the place of the images", name)
    return name


def _reason(error: Exception) -> str:
    """What a library said, in one line and without keys."""
    said = " ".join(str(error).split()) or "no reason given"
    return truncate(redacted(said if isinstance(error, OSError) else f"{type(error).__name__}: {said}"), 200, 50)
