"""Addresses of object stores: which are taken, and what must not be in them."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from formalimg.errors import FormalimgError

LIBRARIES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "file": "",
}
"""The stores that are known, by how their addresses begin, and the library that each needs beside fsspec.

No others: a run folder may come from anywhere, and reading it must not call any server that its card names.
"""

_NAME_BEFORE_HOST = ("abfs", "abfss")
"""Here the name before the @ is that of the container, not of a person."""


def checked_url(text: str) -> str:
    """The address, without a slash at its end.

    Raises:
        FormalimgError: if it is none of a known store, or holds what may be a secret.
    """
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in LIBRARIES:
        known = ", ".join(f"{name}://" for name in LIBRARIES)
        raise FormalimgError(
            f"cannot keep images at {_shown(text)}: give an address that begins with {known}; for a folder of this "
            "machine alone use --out"
        )
    parts = urlsplit(text)
    user, at, _ = parts.netloc.rpartition("@")
    if (at and (scheme not in _NAME_BEFORE_HOST or ":" in user)) or "?" in text or "#" in text:
        raise FormalimgError(
            f"the address of images at {scheme}://… holds a name, a key or options, and it would be written into "
            "run.toml: give the bare address, and the rest in the environment or in fsspec's configuration"
        )
    if not rest.strip("/") or "::" in text or any(part in (".", "..") for part in rest.split("/")):
        raise FormalimgError(f"cannot keep images at {_shown(text)}: name a bucket and a place in it")
    return text.rstrip("/")


class Reached(NamedTuple):
    """A file system of fsspec, and the place on it that an address names."""

    system: Any
    root: str


def reach(url: str) -> Reached:
    """The file system behind an address; which key opens it is its own business.

    Raises:
        FormalimgError: if a library is missing, or the address is none.
    """
    scheme = checked_url(url).partition("://")[0]
    try:
        from fsspec.core import url_to_fs

        # Folders are made where there are any; on object stores that would make buckets.
        return Reached(*url_to_fs(url, **({"auto_mkdir": True} if scheme == "file" else {})))
    except ImportError as error:
        needed = " ".join(["'formalimg[stores]'", *filter(None, [LIBRARIES[scheme]])])
        raise FormalimgError(f"images at {scheme}://… need more than is installed: pip install {needed}") from error


def _shown(text: str) -> str:
    """An address that nobody has checked: as little of it as tells the user what is meant."""
    before, at, after = text.rpartition("@")
    plain = f"…@{after}" if at and before else text
    return repr(plain.partition("?")[0][:80])
