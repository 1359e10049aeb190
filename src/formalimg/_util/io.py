"""Files: atomic writes, which appear whole under their name or not at all, and reading of plain files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg._util.plain_files import open_plain, refuse_special_file
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

PARTIAL_SUFFIX = ".part"
"""How files end that are being written; their names begin with a dot."""

_FSYNC_THREADS = 16


def atomic_write(path: Path, chunks: Iterable[bytes], *, fsync: bool = False, hint: str = "") -> None:
    """Write a file that appears all at once under its name, or not at all; a replaced file keeps its permissions.

    Args:
        path: the file; its folder must exist.
        chunks: the content.
        fsync: whether the content must be on disk before the old file is replaced, and its name before this returns.
        hint: what to do if the file cannot be written; added to the error message.

    Raises:
        FormalimgError: if it cannot be written, for example because the disk is full.
    """
    # Plain strings: runs write thousands of small files, and Path objects take longer than the files.
    name = str(path)
    partial = os.path.join(os.path.dirname(name), f".{os.path.basename(name)}{PARTIAL_SUFFIX}")  # noqa: PTH118, PTH119, PTH120
    try:
        with open(partial, "wb", opener=_create) as file:
            file.writelines(chunks)
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        if fsync and path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, name)  # noqa: PTH105
        if fsync:
            fsync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(partial)  # noqa: PTH108
        raise FormalimgError(f"cannot write {path}: {error.strerror}{f'; {hint}' if hint else ''}") from error


def fsync_files(folder: Path, names: Iterable[str]) -> None:
    """Wait until these files of a folder, and their names in it, are on disk and survive a loss of power.

    Raises:
        OSError: if they could not be written.
    """
    paths = [folder / name for name in names]
    # At the same time, because a file system does all that are waiting in one go: that takes a tenth of the time.
    done = [_fsync_threads().submit(_fsync, path) for path in paths[1:]]
    for path in paths[:1]:
        _fsync(path)
    for one in done:
        one.result()
    fsync_folder(folder)


@cache
def _fsync_threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # here, because most commands need none

    return ThreadPoolExecutor(_FSYNC_THREADS, "formalimg-fsync")


def _fsync(path: Path) -> None:
    # On Windows only a file that is open for writing can be flushed.
    descriptor = open_plain(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do that."""
    with contextlib.suppress(OSError):  # some file systems, and Windows, cannot; the files themselves are safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def atomic_write_text(path: Path, text: str) -> Path:
    """Write a UTF-8 text file durably and all at once, with its folder if necessary; return its path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write {path}: {error.strerror}") from error
    atomic_write(path, [text.encode("utf-8")], fsync=True)
    return path


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder to write to, which takes its place when everything is written.

    Raises:
        FormalimgError: if the folder is not empty, or cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FormalimgError(f"{folder} is not empty: choose another folder, or empty it")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
            new = Path(made) / "new"
            new.mkdir()
            yield new
            if folder.exists():
                folder.rmdir()
            new.rename(folder)
    except OSError as error:
        raise FormalimgError(f"cannot write {folder}: {error.strerror}") from error


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Create a folder with these texts as files, all of them or none; names may contain folders.

    Raises:
        FormalimgError: if the folder is not empty, or cannot be written.
    """
    with atomic_folder(folder) as new:
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(text.encode("utf-8"))


def _create(path: str, flags: int) -> int:
    """Create a file that is new, whatever lies there: a link left in its place would be written through."""
    flags |= os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        os.unlink(path)  # noqa: PTH108
        return os.open(path, flags, 0o666)


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 text file, without a byte order mark.

    Raises:
        FormalimgError: if it cannot be read.
    """
    refuse_special_file(path)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"{path} is not UTF-8 text (byte {error.start:,}): save it as UTF-8") from error
