"""File matching: folder listing, index of requested images, and candidate files for each image."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.io import is_folder
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError

_MAX_FILES = 500_000
_SYSTEM_FILES = frozenset({"thumbs.db", "desktop.ini", "__macosx", "icon\r"})
_IMAGE = re.compile(r"\.(png|jpe?g|webp)", re.IGNORECASE)
_OTHER_IMAGE = re.compile(r"\.(gif|bmp|tiff?|avif|heic|jxl|jp2|svg)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")


class FolderListing(NamedTuple):
    """A folder and the paths of all files below it, separated by `/` and in natural sort order."""

    path: str
    files: tuple[str, ...]


def scan_folder(path: str) -> FolderListing:
    """List all files below a folder except for hidden and system files. Symbolic links are followed."""
    files: list[str] = []
    pending: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
    while pending:
        prefix, above = pending.pop()
        folder = Path(path, prefix)
        try:
            status = folder.stat()
            itself = (status.st_dev, status.st_ino)
            if itself in above:
                continue  # a link to a folder it lies in
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name.lower() in _SYSTEM_FILES:
                        continue
                    if is_folder(entry):
                        pending.append((f"{prefix}{entry.name}/", above | {itself}))
                    else:
                        is_file = True  # also for a circular link, so that opening it fails with its name
                        with suppress(OSError):
                            is_file = entry.is_file()
                        files += [prefix + entry.name] if is_file else []
        except OSError as error:
            raise FormalimgError(f"cannot read the folder {folder}: {error.strerror}") from error
        if len(files) > _MAX_FILES:
            raise FormalimgError(f"{path} holds more than {_MAX_FILES:,} files: give the folder of the images itself")
    # In natural order, so that 10.png follows 9.png.
    keys = {name: _DIGITS.sub(lambda number: number[0].rjust(12, "0"), name) for name in files}
    return FolderListing(path, tuple(sorted(files, key=lambda name: (keys[name], name))))


def is_image(file: str) -> bool:
    """Return whether a file has the extension of a supported image format."""
    return _IMAGE.fullmatch(_file_extension(file)) is not None


def is_any_image(file: str) -> bool:
    """Return whether a file has an image extension, even of an unsupported format."""
    return is_image(file) or _OTHER_IMAGE.fullmatch(_file_extension(file)) is not None


def _file_extension(file: str) -> str:
    return file[max(file.rfind("."), 0) :]


_SHOWN = 3
_MAX_NAME = 60

MatchedBy: TypeAlias = Literal[
    "id",  # the id of the item, in the name of the file or in metadata
    "prompt",  # the prompt of the item, in metadata
    "name",  # what a layout makes of the prompt, in the name of the file
    "place",  # the place of the item in its suite
]
MATCHED_BY: tuple[MatchedBy, ...] = get_args(MatchedBy)


class RequestedImage(NamedTuple):
    """An image requested by a run."""

    item: str  # the id of the item
    sample: int  # index of the image among those of the item, from 0
    prompt: str  # the prompt it should have been generated from
    number: int | None = None  # position of the item in its whole suite; None if only the order of requests is known
    suite: str = ""  # the suite it belongs to; empty if unknown
    styles: tuple[str, ...] = ()  # texts about the style of image that may have been in front of the prompt


class MatchedImage(NamedTuple):
    """A requested image, its file (or the marker file of a refusal), and the matching method."""

    item: str
    sample: int
    file: str
    by: MatchedBy = "id"


@dataclass(frozen=True)
class MatchReport:
    """Result of matching files to requested images."""

    path: str  # the folder or map
    layout: str  # the layout it was read by
    found: tuple[MatchedImage, ...]  # images with a file, in the order of the requests
    blocked: tuple[MatchedImage, ...] = ()  # images for which a marker says that the model refused
    missing: tuple[RequestedImage, ...] = ()  # images without a file
    extra: tuple[str, ...] = ()  # files that belong to no requested image
    # files with the same bytes that stand for one image; the first of each group is used
    duplicates: tuple[tuple[str, ...], ...] = ()
    absent: tuple[str, ...] = ()  # files that metadata name for a requested image, but that do not exist

    @property
    def ways(self) -> str:
        """Number of images per matching method, as in `1,980 by id, 20 by prompt`; empty if there are none."""
        return format_matches(Counter(image.by for image in self.found))

    def summary(self) -> str:
        """Return a summary of a few lines: number of images of each kind, and the first few names."""
        requested = len(self.found) + len(self.blocked) + len(self.missing)
        names = {
            "blocked": list(map(_format_image, self.blocked)),
            "missing": list(map(_format_image, self.missing)),
            "not there": self.absent,
            "extra": self.extra,
            "twice": [" = ".join(map(short_name, group)) for group in self.duplicates],
        }
        rows = [("found", len(self.found), f"of {requested:,} wanted" + (f": {self.ways}" if self.found else ""))]
        rows += [(title, len(texts), _format_names(texts)) for title, texts in names.items()]
        width = max(len(f"{count:,}") for _, count, _ in rows)
        lines = [f"  {title:<9}  {count:>{width},}  {text}" for title, count, text in rows if count or title == "found"]
        return "\n".join([f"images in {short_name(self.path)} (layout {self.layout})", *lines])


def format_matches(counts: Mapping[str, int]) -> str:
    """Format the number of images per matching method, as in `1,980 by id, 20 by prompt`."""
    return ", ".join(f"{counts[way]:,} by {way}" for way in MATCHED_BY if counts.get(way))


def short_name(name: str) -> str:
    """Return a truncated file name on a single line."""
    return truncate(name, _MAX_NAME, _MAX_NAME)


def _format_image(image: MatchedImage | RequestedImage) -> str:
    return f"item {short_name(image.item)}" + (f" sample {image.sample}" if image.sample else "")


def _format_names(names: Sequence[str]) -> str:
    text = ", ".join(truncate(name, 2 * _MAX_NAME, _MAX_NAME) for name in names[:_SHOWN])
    return text + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")


class FolderImage(NamedTuple):
    """Key of a requested image: its item and sample index."""

    item: str
    sample: int


class ItemIndex:
    """Index of the requested images by all names that a file may use for them."""

    def __init__(self, images: Sequence[RequestedImage]) -> None:
        self.wanted = {FolderImage(image.item, image.sample): image for image in images}
        first = {image.item: image for image in reversed(images)}
        self.items = tuple(dict.fromkeys(image.item for image in images))
        self.suite = next((image.suite for image in images), "")
        self._styles = next((image.styles for image in images), ())
        self.places_known = all(image.number is not None for image in images)
        self._by_name = {normalize_unicode(item): item for item in self.items}
        self._by_number: dict[str, list[str]] = {}
        self._by_prompt: dict[str, list[str]] = {}
        self._by_place: dict[int, str] = {}
        for order, item in enumerate(self.items):
            if is_number(item):
                self._by_number.setdefault(_without_zeros(item), []).append(item)
            self._by_prompt.setdefault(first[item].prompt, []).append(item)
            position = first[item].number if self.places_known else order
            if position is not None:
                self._by_place[position] = item

    def item_called(self, name: str) -> str | None:
        """Return the item with exactly this id."""
        return self._by_name.get(normalize_unicode(name))

    def item_numbered(self, name: str) -> str | None:
        """Return the item with this id or, if unique, with this number: `007` matches item 7 unless 007 exists."""
        exactly = self.item_called(name)
        if exactly is not None or not is_number(name):
            return exactly
        same = self._by_number.get(_without_zeros(name), [])
        return same[0] if len(same) == 1 else None

    def items_with(self, prompt: str | None) -> Sequence[str]:
        """Return the items with this prompt, falling back to ignoring case, whitespace and a style text."""
        if prompt is None:
            return ()
        if prompt in self._by_prompt:
            return self._by_prompt[prompt]
        words = _fold_prompt(prompt)
        for style in ("", *map(_fold_prompt, self._styles)):
            if words.startswith(style) and (items := self._by_words.get(words[len(style) :].lstrip())):
                return items
        return ()

    @cached_property
    def _by_words(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for prompt, items in self._by_prompt.items():
            index.setdefault(_fold_prompt(prompt), []).extend(items)
        return index

    def item_at(self, position: int) -> str | None:
        """Return the item at this position in the suite, from 0."""
        return self._by_place.get(position)


def is_number(text: str) -> bool:
    """Return whether a string consists of ASCII digits only."""
    return text.isascii() and text.isdigit()


def normalize_unicode(text: str) -> str:
    """Normalize a string to NFC, because file systems differ in their normalization."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _fold_prompt(prompt: str) -> str:
    return " ".join(normalize_unicode(prompt).casefold().split())


def _without_zeros(number: str) -> str:
    return number.lstrip("0") or "0"


class CandidateFile(NamedTuple):
    """A candidate file for the image of an item."""

    file: str  # its path relative to the folder
    image: FolderImage | None  # the image it claims to be; None if it was not requested
    blocked: bool = False  # whether it is only the marker of a refusal
    exists: bool = True  # whether the file exists
    by: MatchedBy = "id"  # how it was matched


def resolve_candidates(
    candidates: Iterable[CandidateFile], index: ItemIndex, folder: str, path: str, layout: str
) -> MatchReport:
    """Assign a file to each requested image."""
    files: dict[FolderImage, dict[str, MatchedBy]] = {}
    markers: dict[FolderImage, str] = {}
    absent: list[str] = []
    extra: list[str] = []
    for file, image, blocked, exists, by in dict.fromkeys(candidates):
        if image is None or image not in index.wanted:
            extra.extend([file] if exists else [])
        elif not exists:
            absent.append(file)
        elif blocked:
            markers[image] = file
        else:
            files.setdefault(image, {}).setdefault(file, by)
    several = {image: tuple(names) for image, names in files.items() if len(names) > 1}
    _reject_differing(several, folder)
    return MatchReport(
        path,
        layout,
        found=tuple(
            MatchedImage(*image, *next(iter(files[image].items()))) for image in index.wanted if image in files
        ),
        # An image beside its marker was made at a later attempt.
        blocked=tuple(MatchedImage(*key, markers[key]) for key in index.wanted if key in markers and key not in files),
        missing=tuple(request for key, request in index.wanted.items() if key not in files and key not in markers),
        extra=tuple(extra),
        duplicates=tuple(several.values()),
        absent=tuple(absent),
    )


def _reject_differing(several: dict[FolderImage, tuple[str, ...]], folder: str) -> None:
    differing = [
        f"{' and '.join(map(short_name, names))} (item {short_name(image.item)}, sample {image.sample})"
        for image, names in several.items()
        if not _same_bytes([Path(folder, name) for name in names])
    ]
    if differing:
        more = f" and {len(differing) - _SHOWN:,} more" if len(differing) > _SHOWN else ""
        raise FormalimgError(
            f"different files for the same image in {short_name(folder)}: {', '.join(differing[:_SHOWN])}{more}; keep "
            "one of each"
        )


def _same_bytes(paths: Sequence[Path]) -> bool:
    try:
        if len({path.stat().st_size for path in paths}) > 1:
            return False
        first = paths[0].read_bytes()
        return all(path.read_bytes() == first for path in paths[1:])
    except OSError as error:
        raise FormalimgError(f"cannot read {error.filename}: {error.strerror}") from error
