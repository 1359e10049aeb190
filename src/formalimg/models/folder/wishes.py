"""The wanted images, by every name that a file may know them by."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from formalimg.models.folder.matching import Wanted


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
