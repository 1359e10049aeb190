"""Facets of a run's images: how many match each choice of a filter, given the other choices.

One pass over the run makes an index of bit sets, one bit per image; every count is then an intersection, so that a
viewer can offer all choices with their numbers on each page of a run with tens of thousands of images.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, NamedTuple

from formalimg._util.strict_json import stored_json, stored_text
from formalimg.runs.queries import ALL_IMAGES, ImageFilter, RunQuery, is_claimed, matching_images

_CLASS = re.compile(r"\(Is\s+\?[^\s()']+\s+'([^']*)'")
_OBJECTS = """CASE WHEN formula = '' THEN (
    SELECT json_group_array(named.word) FROM (
        SELECT json_extract(asked.value, '$.value') AS word FROM json_each(record, '$.concepts') AS asked
        WHERE json_extract(asked.value, '$.category') = 'object'
        UNION ALL SELECT json_extract(asked.value, '$.class') FROM json_each(record, '$.include') AS asked
    ) AS named) ELSE '[]' END"""
"""The objects of items without a formula: of their concepts, or those that must be there."""

_FAILED_PARTS = """(
    SELECT json_group_array(json_array(
        json_extract(part.value, '$.kind'), json_extract(part.value, '$.about'), json_extract(part.value, '$.name')))
    FROM json_each(verdicts.parts) AS part WHERE json_extract(part.value, '$.score') < 1)"""

ImageKey = tuple[str, int]


class FacetCounts(NamedTuple):
    """The number of images for each choice of each facet, with the other facets as they are chosen."""

    outcome: Mapping[str, int]  # by outcome and level
    level: Mapping[int, int]
    kind: Mapping[str, int]  # by the kind of a failed part, and by a word that it is about
    word: Mapping[str, int]
    about: Mapping[str, int]  # by what items mention: classes, objects, tags


class _Failed(NamedTuple):
    """A failed part by which images are found: its kind, a word that it is about, or both."""

    kind: str
    word: str


@dataclass(frozen=True)
class FacetIndex:
    """Bit sets of a run's images, in the order of the run."""

    images: Mapping[ImageKey, int]  # the number of each image, by item and sample
    outcomes: Mapping[str, int]  # the images of each choice
    levels: Mapping[int, int]
    failed: Mapping[_Failed, int]
    mentioned: Mapping[str, int]

    def counts(self, wanted: ImageFilter, among: Collection[ImageKey] | None = None) -> FacetCounts:
        """Count the images of each choice."""
        every = (1 << len(self.images)) - 1
        if among is not None:
            every = _bits((self.images[key] for key in among if key in self.images), len(self.images))
        by_outcome = self.outcomes.get(wanted.outcome, 0) if wanted.outcome else every
        by_level = self.levels.get(wanted.level, 0) if wanted.level is not None else every
        by_about = self.mentioned.get(wanted.about, 0) if wanted.about else every
        by_part = self.failed.get(_Failed(wanted.kind, wanted.word), 0) if wanted.kind or wanted.word else every
        found = every & by_about & by_outcome & by_level
        kinds = {one.kind: bits for one, bits in self.failed.items() if one.kind and one.word == wanted.word}
        words = {one.word: bits for one, bits in self.failed.items() if one.word and one.kind == wanted.kind}
        return FacetCounts(
            _counted(self.outcomes, every & by_level & by_about & by_part),
            _counted(self.levels, every & by_outcome & by_about & by_part),
            _counted(kinds, found),
            _counted(words, found),
            _counted(self.mentioned, every & by_outcome & by_level & by_part),
        )

    def images_with(self, wanted: ImageFilter) -> Iterator[ImageKey]:
        """Yield the images that match a filter. Its text and mark are not known here."""
        found = (1 << len(self.images)) - 1
        found &= self.outcomes.get(wanted.outcome, 0) if wanted.outcome else found
        found &= self.levels.get(wanted.level, 0) if wanted.level is not None else found
        found &= self.mentioned.get(wanted.about, 0) if wanted.about else found
        found &= self.failed.get(_Failed(wanted.kind, wanted.word), 0) if wanted.kind or wanted.word else found
        digits = f"{found:b}"[::-1]
        yield from (key for key, number in self.images.items() if digits[number : number + 1] == "1")


def _bits(numbers: Iterable[int], size: int) -> int:
    bits = bytearray(size // 8 + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def _counted(choices: Mapping[Any, int], among: int) -> dict[Any, int]:
    counts = {choice: (bits & among).bit_count() for choice, bits in choices.items()}
    return {choice: count for choice, count in counts.items() if count}


class _BitSets(dict[Hashable, bytearray]):
    """Bit sets under construction, by choice."""

    def add(self, choice: Hashable, number: int) -> None:
        bits = self.setdefault(choice, bytearray())
        if number >> 3 >= len(bits):
            bits.extend(bytes((number >> 3) + 1 - len(bits)))
        bits[number >> 3] |= 1 << (number & 7)

    def frozen(self) -> dict[Any, int]:
        return {choice: int.from_bytes(bits, "little") for choice, bits in self.items()}


def read_facets(query: RunQuery) -> FacetIndex:
    """Read the index of a run."""
    about = dict(query(_mentions, f"SELECT id, formula, tags, {_OBJECTS} FROM items"))
    scored = "status = 'made' AND passed IS NOT NULL"
    columns = f"pictures.item, pictures.sample, level, {scored}, passed, CASE WHEN {scored} THEN {_FAILED_PARTS} END"
    rows = query(_image, f"SELECT {columns} {ALL_IMAGES} ORDER BY position, sample")
    outcomes, levels, failed, mentioned = (_BitSets() for _ in range(4))
    images: dict[ImageKey, int] = {}
    for number, (item, sample, level, outcome, parts) in enumerate(rows):
        images[item, sample] = number
        outcomes.add(outcome, number)
        levels.add(level, number)
        for word in about.get(item, ()):
            mentioned.add(word, number)
        for part in parts:
            failed.add(part, number)
    return FacetIndex(images, outcomes.frozen(), levels.frozen(), failed.frozen(), mentioned.frozen())


def count_facets(query: RunQuery, index: FacetIndex, wanted: ImageFilter) -> FacetCounts:
    """Count the images of each choice; text and mark are looked up in the run."""
    if not wanted.text and wanted.mark is None:
        return index.counts(wanted)
    return index.counts(wanted, matching_images(query, ImageFilter(text=wanted.text, mark=wanted.mark)))


class _ImageRow(NamedTuple):
    item: str
    sample: int
    level: int
    outcome: str
    failed: frozenset[_Failed]


def _image(row: tuple[Any, ...]) -> _ImageRow:
    item, sample, level, is_scored, passed, parts = row
    if not is_scored:
        return _ImageRow(item, sample, level, "unscored", frozenset())
    failed = frozenset(_failed_parts(stored_json(parts, "parts", list)))
    return _ImageRow(item, sample, level, "pass" if passed else "fail", failed)


def _failed_parts(parts: Iterable[Any]) -> Iterable[_Failed]:
    """Yield what images are found by: each failed part by its kind, its words, and both."""
    for of_kind, about, name in parts:
        kind, clause = (text if isinstance(text, str) else "" for text in (of_kind, name))
        yield _Failed(kind, "")
        words = [str(word) for word in about] if isinstance(about, list) else []
        for word in words if kind != "condition" else [word for word in words if is_claimed(word, clause)]:
            yield _Failed(kind, word)
            yield _Failed("", word)


def _mentions(row: tuple[Any, ...]) -> tuple[str, tuple[str, ...]]:
    """Return what an item is about: the classes of its formula, its tags, or the objects of its concepts."""
    item, formula, tags, objects = row
    words = [*stored_json(tags, "tags", list), *stored_json(objects or "[]", "record", list)]
    classes = _CLASS.findall(stored_text(formula, "formula"))
    # Tuples of shared words: there is one of them for each item.
    return item, tuple({intern(word) for word in (*classes, *words) if isinstance(word, str)})
