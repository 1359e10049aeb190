"""File helpers: atomic writes, and reads of regular files only.

Plain files are opened without following symbolic links, and without waiting for the other end of a pipe.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


_CAREFULLY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_plain(path: str | os.PathLike[str], flags: int, *, dir_fd: int | None = None) -> int:
    """Open a regular file, optionally relative to `dir_fd`, and return its descriptor; an `opener` for `open`."""
    try:
        descriptor = os.open(path, flags | _CAREFULLY, 0o666, dir_fd=dir_fd)
    except OSError as error:
        kind = kind_of_special(path, dir_fd=dir_fd)
        if kind:
            raise OSError(error.errno, _refusal(kind), os.fspath(path)) from error
        raise
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, _refusal(_kind(mode)), os.fspath(path))


def read_plain_bytes(path: str | os.PathLike[str], max_bytes: int, *, dir_fd: int | None = None) -> bytes:
    """Return the content of a regular file, optionally relative to `dir_fd`."""
    with open(open_plain(path, os.O_RDONLY, dir_fd=dir_fd), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and no more than {max_bytes:,} are read", str(path))
        return file.read(max_bytes)


def kind_of_special(path: str | os.PathLike[str], *, dir_fd: int | None = None) -> str:
    """Return the kind of a special file, such as "a symbolic link"; empty for regular and missing files."""
    try:
        return _kind(os.lstat(path, dir_fd=dir_fd).st_mode)
    except (OSError, ValueError):
        return ""


def refuse_special_file(path: str | os.PathLike[str]) -> None:
    """Raise an error unless the path is a file or folder, because reading pipes and devices may never end.

    Links to files are allowed, and so are files opened by the shell, such as /dev/stdin or `<(…)`. A missing path is
    left to the code that opens it.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116  # also for plain strings
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FormalimgError(f"cannot use {path}: it is a link that leads back to itself") from error
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(path).startswith(_OPENED_BY_SHELLS)):
        raise FormalimgError(f"cannot use {path}: it is {_kind(mode)}, give a file or folder")


def refuse_special_files(folder: Path) -> None:
    """Raise an error if a folder contains pipes or other special files that libraries would open."""
    for path in sorted(folder.rglob("*")):
        refuse_special_file(path)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; False for circular links."""
    try:
        return entry.is_dir()
    except OSError:
        return False


_OPENED_BY_SHELLS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def sizes_of_plain_files(folder: Path) -> dict[str, int]:
    """Return the sizes in bytes of the regular files in a folder, by name, excluding links and special files."""
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.is_file(follow_symlinks=False)}


def _kind(mode: int) -> str:
    return next((kind for holds, kind in _KINDS if holds(mode)), "" if stat.S_ISREG(mode) else "a special file")


def _refusal(kind: str) -> str:
    return f"it is {kind} and not a plain file"


PARTIAL_SUFFIX = ".part"  # How files end that are being written; their names begin with a dot
_FSYNC_THREADS = 16


def atomic_write(path: Path, chunks: Iterable[bytes], *, fsync: bool = False, hint: str = "") -> None:
    """Write a file atomically, keeping the permissions of a replaced file."""
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
    """Flush these files and their folder entries to disk, so that they survive a power failure."""
    paths = [folder / name for name in names]
    # At the same time, because a file system does all that are waiting in one go: that takes a tenth of the time.
    flushes = [_fsync_threads().submit(_fsync, path) for path in paths[1:]]
    for path in paths[:1]:
        _fsync(path)
    for flush in flushes:
        flush.result()
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
    """Flush the entries of a folder to disk, where the operating system supports it."""
    with contextlib.suppress(OSError):  # some file systems, and Windows, cannot; the files themselves are safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def atomic_write_text(path: Path, text: str) -> Path:
    """Write a UTF-8 text file durably and atomically, creating its folder if necessary; return its path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write {path}: {error.strerror}") from error
    atomic_write(path, [text.encode("utf-8")], fsync=True)
    return path


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` once everything has been written."""
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


@contextmanager
def merged_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved into `folder` at the end; existing files raise an error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as made:
            new = Path(made)
            yield new
            for path in new.rglob("*"):
                target = folder / path.relative_to(new)
                if os.path.lexists(target) and not (path.is_dir() and target.is_dir()):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
            _move(new, folder)
    except FileExistsError:
        raise
    except OSError as error:
        raise FormalimgError(f"cannot write {folder}: {error.strerror}") from error


def _move(source: Path, target: Path) -> None:
    """Move the content of a folder into another, moving new subfolders as a whole."""
    for entry in [*source.iterdir()]:
        if (target / entry.name).is_dir():
            _move(entry, target / entry.name)
        else:
            entry.rename(target / entry.name)


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Create a folder with these text files atomically; names may contain subfolders."""
    with atomic_folder(folder) as new:
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(text.encode("utf-8"))


def _create(path: str, flags: int) -> int:
    """Create a new file, deleting any existing file or link instead of writing through it."""
    flags |= os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        os.unlink(path)  # noqa: PTH108
        return os.open(path, flags, 0o666)


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 text file without its byte order mark."""
    refuse_special_file(path)
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"{path} is not UTF-8 text (byte {error.start:,}): save it as UTF-8") from error


CACHE_VARIABLE = "FORMALIMG_CACHE"  # Environment variable that names the cache folder


def cache_folder() -> Path:
    """Return the cache directory: `FORMALIMG_CACHE`, or `formalimg` in the platform's user cache directory."""
    variable = os.environ.get(CACHE_VARIABLE)
    if variable:
        return Path(variable)
    home = Path.home()
    match sys.platform:
        case "darwin":
            return home / "Library" / "Caches" / "formalimg"
        case "win32":
            return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "formalimg" / "Cache"
        case _:
            return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "formalimg"
