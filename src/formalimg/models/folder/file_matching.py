"""What lies in a folder: looked at once, however much it is."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from formalimg._util.text import truncate
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


_SHOWN = 3
_LONGEST_NAME = 60


class Wanted(NamedTuple):
    """One image that a run needs.

    Attributes:
        item: the id of the item.
        sample: which of the item's images, from 0.
        prompt: the words it should have been made from.
        place: where the item stands in its whole suite, from 0; None if only the order of what is wanted is known.
        suite: the suite it belongs to; empty if that is not known.
    """

    item: str
    sample: int
    prompt: str
    place: int | None = None
    suite: str = ""


class Found(NamedTuple):
    """A wanted image and the file it is in (or the marker that says it was blocked)."""

    item: str
    sample: int
    file: str


@dataclass(frozen=True)
class Matching:
    """What came of looking for images.

    Attributes:
        place: where was looked.
        layout: how it was read: published, geneval, imagefolder or map.
        found: the images that are there, in the order they were wanted.
        blocked: those for which a marker says that the model declined to make them.
        missing: those that are not there.
        extra: files that belong to no wanted image.
        duplicates: files with the same bytes that stand for one image; the first of each group is used.
        absent: files that are named for a wanted image, but are not there.
    """

    place: str
    layout: str
    found: tuple[Found, ...]
    blocked: tuple[Found, ...] = ()
    missing: tuple[Wanted, ...] = ()
    extra: tuple[str, ...] = ()
    duplicates: tuple[tuple[str, ...], ...] = ()
    absent: tuple[str, ...] = ()

    def told(self) -> str:
        """A few lines for people: how many images there are of each kind, and the first names."""
        wanted = len(self.found) + len(self.blocked) + len(self.missing)
        rows = [
            ("found", len(self.found), f"of {wanted:,} wanted"),
            ("blocked", len(self.blocked), _listed([_image(found) for found in self.blocked])),
            ("missing", len(self.missing), _listed([_image(lacking) for lacking in self.missing])),
            ("not there", len(self.absent), _listed(self.absent)),
            ("extra", len(self.extra), _listed(self.extra)),
            ("twice", len(self.duplicates), _listed([" = ".join(map(named, group)) for group in self.duplicates])),
        ]
        width = max(len(f"{count:,}") for _, count, _ in rows)
        lines = [
            f"  {title:<9}  {count:>{width},}  {names}" for title, count, names in rows if count or title == "found"
        ]
        return "\n".join([f"images in {named(self.place)} (layout {self.layout})", *lines])


@runtime_checkable
class Matches(Protocol):
    """An image model whose images are there already, so that it can say beforehand which ones it has."""

    def match(self, wanted: Sequence[Wanted]) -> Matching:
        """Look for these images, given in the order of the suite. Must be called before `generate`.

        Raises:
            FormalimgError: if there are none at all, or it is not certain which file is which image.
        """
        ...

    def fingerprint(self, item: str, sample: int) -> str:
        """A short text that changes when the file of an image does; the same text for all that are not there."""
        ...


def named(name: str) -> str:
    """A file's name as it can be shown and stored: on one line, and not endless."""
    return truncate(name, _LONGEST_NAME, _LONGEST_NAME)


def _image(image: Found | Wanted) -> str:
    return f"item {named(image.item)}" + (f" sample {image.sample}" if image.sample else "")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(truncate(name, 2 * _LONGEST_NAME, _LONGEST_NAME) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")


class FolderImage(NamedTuple):
    """An item's n-th image."""

    item: str
    sample: int


class Wishes:
    """What is wanted.

    Attributes:
        wanted: the images, in the order they were given.
        items: the ids, each once, in the order of the suite.
        places_known: whether it is certain where in the whole suite the items stand.
        suite: the suite that they belong to; empty if that is not known.
    """

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.wanted = {FolderImage(one.item, one.sample): one for one in wanted}
        first = {one.item: one for one in reversed(wanted)}
        self.items = tuple(dict.fromkeys(one.item for one in wanted))
        self.suite = next((one.suite for one in wanted), "")
        self.places_known = all(one.place is not None for one in wanted)
        self._by_name = {composed(item): item for item in self.items}
        self._by_number: dict[str, list[str]] = {}
        self._by_prompt: dict[str, list[str]] = {}
        self._by_place: dict[int, str] = {}
        for order, item in enumerate(self.items):
            if is_number(item):
                self._by_number.setdefault(_without_zeros(item), []).append(item)
            self._by_prompt.setdefault(first[item].prompt, []).append(item)
            place = first[item].place if self.places_known else order
            if place is not None:
                self._by_place[place] = item

    def item_called(self, name: str) -> str | None:
        """The item of exactly this id."""
        return self._by_name.get(composed(name))

    def item_numbered(self, name: str) -> str | None:
        """The item of this id but for leading zeros, if it is the only one: `007` is item 7, unless 007 is wanted."""
        exactly = self.item_called(name)
        if exactly is not None or not is_number(name):
            return exactly
        same = self._by_number.get(_without_zeros(name), [])
        return same[0] if len(same) == 1 else None

    def items_with(self, prompt: str | None) -> Sequence[str]:
        """The items that have exactly this prompt."""
        return () if prompt is None else self._by_prompt.get(prompt, ())

    def item_at(self, place: int) -> str | None:
        """The item at this place of the suite, from 0."""
        return self._by_place.get(place)


def is_number(text: str) -> bool:
    """Is a text made of plain digits only?"""
    return text.isascii() and text.isdigit()


def composed(text: str) -> str:
    """A text with its accents in one form: file systems differ in this."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _without_zeros(number: str) -> str:
    return number.lstrip("0") or "0"


_SHOWN_DUPLICATES = 3


class Claim(NamedTuple):
    """What a file says it is.

    Attributes:
        file: its name, as seen from the folder.
        image: what it shows; None if that is nothing that was asked for.
        blocked: whether it is only a marker that says that there is no image.
        there: whether the file exists.
    """

    file: str
    image: FolderImage | None
    blocked: bool = False
    there: bool = True


def settle(claims: Iterable[Claim], wishes: Wishes, folder: str, place: str, layout: str) -> Matching:
    """Give each wanted image its file.

    Args:
        claims: what the files say.
        wishes: what is wanted.
        folder: where the files' names lead from.
        place: how the user called it.
        layout: how it was read.

    Raises:
        FormalimgError: if files that differ stand for the same image.
    """
    files: dict[FolderImage, list[str]] = {}
    markers: dict[FolderImage, str] = {}
    absent: list[str] = []
    extra: list[str] = []
    for file, image, blocked, there in dict.fromkeys(claims):
        if image is None or image not in wishes.wanted:
            extra.extend([file] if there else [])
        elif not there:
            absent.append(file)
        elif blocked:
            markers[image] = file
        else:
            files.setdefault(image, []).append(file)
    several = {image: tuple(names) for image, names in files.items() if len(names) > 1}
    _refuse_differing(several, folder)
    return Matching(
        place,
        layout,
        found=tuple(Found(*image, files[image][0]) for image in wishes.wanted if image in files),
        # An image beside its marker was made at a later attempt.
        blocked=tuple(Found(*one, markers[one]) for one in wishes.wanted if one in markers and one not in files),
        missing=tuple(wish for one, wish in wishes.wanted.items() if one not in files and one not in markers),
        extra=tuple(extra),
        duplicates=tuple(several.values()),
        absent=tuple(absent),
    )


def _refuse_differing(several: dict[FolderImage, tuple[str, ...]], folder: str) -> None:
    differing = [image for image, names in several.items() if not _same_bytes([Path(folder, n) for n in names])]
    if not differing:
        return
    shown = ", ".join(
        f"{' and '.join(map(named, several[image]))} (item {named(image.item)}, sample {image.sample})"
        for image in differing[:_SHOWN_DUPLICATES]
    )
    more = f" and {len(differing) - _SHOWN_DUPLICATES:,} more" if len(differing) > _SHOWN_DUPLICATES else ""
    raise FormalimgError(f"different files for the same image in {named(folder)}: {shown}{more}; keep one of each")


def _same_bytes(paths: Sequence[Path]) -> bool:
    try:
        if len({path.stat().st_size for path in paths}) > 1:
            return False
        first = paths[0].read_bytes()
        return all(path.read_bytes() == first for path in paths[1:])
    except OSError as error:
        raise FormalimgError(f"cannot read {error.filename}: {error.strerror}") from error
