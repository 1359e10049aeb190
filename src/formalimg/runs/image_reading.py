"""Reading image files of a run that anybody may have made: plain files only, and only with the recorded digest."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path

from formalimg.runs.image_store import ImageLocation

MAX_FILE_BYTES = 512 * 1024 * 1024
"""No image that may be decoded has a larger file."""


def read_recorded_image(location: ImageLocation, sha256: str) -> bytes:
    """Return the bytes of an image, if they are those that were recorded. No other file is ever read.

    Args:
        location: where it is.
        sha256: the recorded digest of its bytes.

    Raises:
        OSError: if it cannot be read, is a link or not a plain file, or its bytes are not those that were recorded.
    """
    data = _read_plain_file(location) if isinstance(location, Path) else location.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise OSError(errno.EIO, "it is not the file that was made", str(location))
    return data


def _read_plain_file(path: Path) -> bytes:
    # Without O_NONBLOCK, opening a named pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise OSError(error.errno, "it is a symbolic link", str(path)) from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        if found.st_size > MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, "it is larger than any image", str(path))
        return file.read(MAX_FILE_BYTES)
