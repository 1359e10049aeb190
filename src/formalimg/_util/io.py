"""Files: atomic writes, which appear whole under their name or not at all, and reading of plain files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from formalimg.errors import FormalimgError

PARTIAL_SUFFIX = ".part"
"""How files end that are being written; their names begin with a dot."""


def atomic_write(path: Path, chunks: Iterable[bytes], *, fsync: bool = False, hint: str = "") -> None:
    """Write a file that appears all at once under its name, or not at all; a replaced file keeps its permissions.

    Args:
        path: the file; its folder must exist.
        chunks: the content.
        fsync: whether the content must be on disk before the old file is replaced.
        hint: what to do if the file cannot be written; added to the error message.

    Raises:
        FormalimgError: if it cannot be written, for example because the disk is full.
    """
    # Plain strings: runs write thousands of small files, and Path objects take longer than the files.
    name = str(path)
    partial = os.path.join(os.path.dirname(name), f".{os.path.basename(name)}{PARTIAL_SUFFIX}")  # noqa: PTH118, PTH119, PTH120
    try:
        with open(partial, "wb") as file:  # noqa: PTH123
            file.writelines(chunks)
            if fsync:
                file.flush()
                os.fsync(file.fileno())
        if fsync and path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, name)  # noqa: PTH105
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(partial)  # noqa: PTH108
        raise FormalimgError(f"cannot write {path}: {error.strerror}{f'; {hint}' if hint else ''}") from error


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


def refuse_special_file(path: str | Path) -> None:
    """Refuse what is neither a file nor a folder: reading a FIFO waits for ever, and a device may never end.

    A path that does not exist is left to whoever opens it. What the shell has opened, as /dev/stdin or for `<(…)`, is
    allowed.

    Raises:
        FormalimgError: if it is a FIFO, a socket or a device, or a link that leads back to itself.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # also for plain strings
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FormalimgError(f"cannot use {path}: it is a link that leads back to itself") from error
        return
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(path).startswith(_OPENED_BY_SHELLS):
        return
    kind = next((name for is_kind, name in _SPECIAL_KINDS if is_kind(mode)), "no plain file")
    raise FormalimgError(f"cannot use {path}: it is {kind}, give a file or folder")


_OPENED_BY_SHELLS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
_SPECIAL_KINDS = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


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
