"""Which of the wanted images are there, told before anything is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from formalimg._util.text import truncate

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
