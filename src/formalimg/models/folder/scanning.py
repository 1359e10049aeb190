"""What lies in a folder: looked at once, however much it is."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError

_MOST_FILES = 500_000
_LITTER = frozenset({"thumbs.db", "desktop.ini", "__macosx", "icon\r"})
_IMAGE = re.compile(r"\.(png|jpe?g|webp)", re.IGNORECASE)
_OTHER_IMAGE = re.compile(r"\.(gif|bmp|tiff?|avif|heic|jxl|jp2|svg)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")


class Folder(NamedTuple):
    """A folder and the names of all files below it, with `/` between folders, sorted as people count."""

    path: str
    files: tuple[str, ...]


def scan(path: str) -> Folder:
    """All files below a folder but hidden ones and what operating systems leave behind. Links are followed.

    Raises:
        FormalimgError: if a folder cannot be read, or there are absurdly many files.
    """
    found: list[str] = []
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
    while waiting:
        prefix, above = waiting.pop()
        folder = Path(path, prefix)
        try:
            status = folder.stat()
            itself = (status.st_dev, status.st_ino)
            if itself in above:
                continue  # a link to a folder it lies in
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name.lower() in _LITTER:
                        continue
                    if entry.is_dir():
                        waiting.append((f"{prefix}{entry.name}/", above | {itself}))
                    elif entry.is_file():
                        found.append(prefix + entry.name)
        except OSError as error:
            raise FormalimgError(f"cannot read the folder {folder}: {error.strerror}") from error
        if len(found) > _MOST_FILES:
            raise FormalimgError(f"{path} holds more than {_MOST_FILES:,} files: give the folder of the images itself")
    return Folder(path, tuple(sorted(found, key=counting_order)))


def is_image(file: str) -> bool:
    """Does a name end like that of an image we read?"""
    return _IMAGE.fullmatch(_ending(file)) is not None


def is_any_image(file: str) -> bool:
    """Does a name end like that of an image, if only of a kind that we do not read?"""
    return is_image(file) or _OTHER_IMAGE.fullmatch(_ending(file)) is not None


def counting_order(name: str) -> tuple[str, str]:
    """Sorts names so that 10.png comes after 9.png."""
    return _DIGITS.sub(lambda number: number.group().rjust(12, "0"), name), name


def _ending(file: str) -> str:
    return file[max(file.rfind("."), 0) :]
