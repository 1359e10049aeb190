"""Plain files only: opened without following symbolic links, and without waiting for the other end of a pipe."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from formalimg.errors import FormalimgError

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
    """Open a plain file, perhaps in an open folder, and return its descriptor; an `opener` for `open`.

    Raises:
        OSError: if it cannot be opened, or is a symbolic link, a folder, a pipe or a device; `strerror` says which.
    """
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
    """Return the content of a plain file, perhaps in an open folder.

    Raises:
        OSError: if it cannot be read, is not a plain file, or has more than `max_bytes` bytes.
    """
    with open(open_plain(path, os.O_RDONLY, dir_fd=dir_fd), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and no more than {max_bytes:,} are read", str(path))
        return file.read(max_bytes)


def kind_of_special(path: str | os.PathLike[str], *, dir_fd: int | None = None) -> str:
    """Return what a path is, as in "a symbolic link"; empty for a plain file and for what does not exist."""
    try:
        return _kind(os.lstat(path, dir_fd=dir_fd).st_mode)
    except (OSError, ValueError):
        return ""


def refuse_special_file(path: str | os.PathLike[str]) -> None:
    """Refuse what is neither a file nor a folder: reading a pipe waits for ever, and a device may never end.

    A link to a file is one the user may give. A path that does not exist is left to whoever opens it; what the shell
    has opened, as /dev/stdin or for `<(…)`, is allowed.

    Raises:
        FormalimgError: if it is a named pipe, a socket or a device, or a link that leads back to itself.
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
    """Refuse a folder with something in it that is neither a file nor a folder, for libraries that would open it.

    Raises:
        FormalimgError: if there is a named pipe, a socket, a device, or a link that leads back to itself.
    """
    for path in sorted(folder.rglob("*")):
        refuse_special_file(path)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, or a link to one; not, if it is a link that leads back to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


_OPENED_BY_SHELLS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def sizes_of_plain_files(folder: Path) -> dict[str, int]:
    """Return the sizes of the plain files in a folder in bytes, by name; links and other special files are left out."""
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.is_file(follow_symlinks=False)}


def _kind(mode: int) -> str:
    return next((kind for holds, kind in _KINDS if holds(mode)), "" if stat.S_ISREG(mode) else "a special file")


def _refusal(kind: str) -> str:
    return f"it is {kind} and not a plain file"
