"""Image counts of a run, by filter value and for a run in progress.

Facets say how many images match each choice of a filter, given the other choices. One pass over the run makes an index
of bit sets, one bit per image; every count is then an intersection, so that a viewer can offer all choices with their
numbers on each page of a run with tens of thousands of images.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple

from formalimg._util.locks import LOCK_FILE, is_file_locked
from formalimg._util.strict_json import stored_json, stored_text
from formalimg.runs.database import RunCost
from formalimg.runs.manifest import TIME_FORMAT
from formalimg.runs.queries import ALL_IMAGES, ImageFilter, ImageQueries, is_claimed

if TYPE_CHECKING:
    from formalimg.runs.reader import StoredRun

_RATE_WINDOW = 120.0  # The rate is that of the last so many seconds
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

# --- runs in progress: whether a process writes to the folder, how far it is, how fast, time left


class ImageCounts(NamedTuple):
    """The numbers of planned, generated and judged images of a run."""

    images: int  # number of planned images
    waiting: int  # how many of them are still to be generated
    unjudged: int  # how many exist that the last judge has not looked at; 0 if there is no judge yet

    @property
    def done(self) -> int:
        """Number of finished images: judged, generated if there is no judge, or failed."""
        return self.images - self.waiting - self.unjudged


class RunActivity(NamedTuple):
    """The rate, remaining time and cost of a run in progress."""

    counts: ImageCounts  # how many images are done
    rate: float | None  # images per minute, over the last two minutes; None before the first
    seconds_left: float | None  # until the end, at this rate; None if there is no rate
    spent: RunCost  # the cost so far


def is_in_progress(folder: Path) -> bool:
    """Return whether a live process is writing to a run folder."""
    return is_file_locked(folder / LOCK_FILE)


def count_images(run: StoredRun) -> ImageCounts:
    """Count the planned, generated and judged images of a run."""
    statement = (
        "SELECT count(*), coalesce(sum(status = 'planned'), 0), "
        f"coalesce(sum(status = 'made' AND verdicts.item IS NULL), 0) {ALL_IMAGES}"
    )
    ((images, waiting, unjudged),) = run.query(tuple, statement)
    return ImageCounts(images, waiting, unjudged if run.manifest.judge is not None else 0)


def measure_activity(run: StoredRun) -> RunActivity:
    """Measure the rate, remaining time and cost of a run in progress."""
    now = datetime.now(UTC)
    try:
        begun = datetime.fromtimestamp((run.folder / LOCK_FILE).stat().st_mtime, UTC)
    except OSError:
        begun = now
    # Images count for the rate in the window, or since the process began if that is later.
    start = min(now, max(begun, now - timedelta(seconds=_RATE_WINDOW)))
    counts, seconds, spent = count_images(run), max((now - start).total_seconds(), 1.0), run.spent()
    recent = "pictures WHERE" if run.manifest.judge is None else "verdicts WHERE judge = :judge AND"
    statement = f"SELECT count(*) FROM {recent} at >= :since"
    ((done,),) = run.query(tuple, statement, since=start.strftime(TIME_FORMAT))
    if not done:
        return RunActivity(counts, None, None, spent)
    return RunActivity(counts, 60 * done / seconds, (counts.images - counts.done) * seconds / done, spent)


# --- facets


class FacetCounts(NamedTuple):
    """The number of images for each value of each facet, given the filters on the other facets."""

    outcome: Mapping[str, int]  # by outcome and level
    level: Mapping[int, int]
    kind: Mapping[str, int]  # by the kind of a failed part, and by a word that it is about
    word: Mapping[str, int]
    about: Mapping[str, int]  # by what items mention: classes, objects, tags


class _FailedPart(NamedTuple):
    kind: str
    word: str


@dataclass(frozen=True)
class FacetIndex:
    """Bit sets of a run's images for each facet value, in run order."""

    images: Mapping[ImageKey, int]  # the number of each image, by item and sample
    outcomes: Mapping[str, int]  # the images of each choice
    levels: Mapping[int, int]
    failed: Mapping[_FailedPart, int]
    mentioned: Mapping[str, int]

    def counts(self, filter_: ImageFilter, among: Collection[ImageKey] | None = None) -> FacetCounts:
        """Count the images for each facet value."""
        base = (1 << len(self.images)) - 1
        if among is not None:
            bits = _BitSets()
            for key in among:
                if key in self.images:
                    bits.add("", self.images[key])
            base = bits.freeze().get("", 0)
        outcome, level, mention, part = self._matches(filter_)
        outcome, level, mention, part = (base & bits for bits in (outcome, level, mention, part))
        matches = mention & outcome & level
        kinds = {key.kind: bits for key, bits in self.failed.items() if key.kind and key.word == filter_.word}
        words = {key.word: bits for key, bits in self.failed.items() if key.word and key.kind == filter_.kind}
        return FacetCounts(
            _count_bits(self.outcomes, level & mention & part),
            _count_bits(self.levels, outcome & mention & part),
            _count_bits(kinds, matches),
            _count_bits(words, matches),
            _count_bits(self.mentioned, outcome & level & part),
        )

    def _matches(self, filter_: ImageFilter) -> tuple[int, int, int, int]:
        """Return bit sets of the images that match the filter's outcome, level, mention and failed part."""
        all_images = (1 << len(self.images)) - 1
        part = _FailedPart(filter_.kind, filter_.word)
        return (
            self.outcomes.get(filter_.outcome, 0) if filter_.outcome else all_images,
            self.levels.get(filter_.level, 0) if filter_.level is not None else all_images,
            self.mentioned.get(filter_.about, 0) if filter_.about else all_images,
            self.failed.get(part, 0) if any(part) else all_images,
        )

    def images_with(self, filter_: ImageFilter) -> Iterator[ImageKey]:
        """Yield the images that match a filter, ignoring its text and mark."""
        outcome, level, mention, part = self._matches(filter_)
        digits = f"{outcome & level & mention & part:b}"[::-1]
        yield from (key for key, number in self.images.items() if digits[number : number + 1] == "1")


class _BitSets(dict[Hashable, bytearray]):
    def add(self, choice: Hashable, number: int) -> None:
        bits = self.setdefault(choice, bytearray())
        if number >> 3 >= len(bits):
            bits.extend(bytes((number >> 3) + 1 - len(bits)))
        bits[number >> 3] |= 1 << (number & 7)

    def freeze(self) -> dict[Any, int]:
        return {choice: int.from_bytes(bits, "little") for choice, bits in self.items()}


def _count_bits(choices: Mapping[Any, int], among: int) -> dict[Any, int]:
    counts = {choice: (bits & among).bit_count() for choice, bits in choices.items()}
    return {choice: count for choice, count in counts.items() if count}


def read_facets(run: ImageQueries) -> FacetIndex:
    """Build the facet index of a run."""
    mentions = dict(run.query(_read_mentions, f"SELECT id, formula, tags, {_OBJECTS} FROM items"))
    scored = "status = 'made' AND passed IS NOT NULL"
    columns = f"pictures.item, pictures.sample, level, {scored}, passed, CASE WHEN {scored} THEN {_FAILED_PARTS} END"
    rows = run.query(tuple, f"SELECT {columns} {ALL_IMAGES} ORDER BY position, sample")
    outcomes, levels, failed, mentioned = (_BitSets() for _ in range(4))
    images: dict[ImageKey, int] = {}
    for number, (item, sample, level, is_scored, passed, parts) in enumerate(rows):
        images[item, sample] = number
        outcomes.add(("pass" if passed else "fail") if is_scored else "unscored", number)
        levels.add(level, number)
        for word in mentions.get(item, ()):
            mentioned.add(word, number)
        for part in _list_failed_parts(stored_json(parts, "parts", list) if is_scored else ()):
            failed.add(part, number)
    return FacetIndex(images, outcomes.freeze(), levels.freeze(), failed.freeze(), mentioned.freeze())


def _list_failed_parts(parts: Iterable[Any]) -> Iterator[_FailedPart]:
    for stored_kind, subjects, name in parts:
        kind, clause = (text if isinstance(text, str) else "" for text in (stored_kind, name))
        yield _FailedPart(kind, "")
        words = [str(word) for word in subjects] if isinstance(subjects, list) else []
        for word in words if kind != "condition" else [word for word in words if is_claimed(word, clause)]:
            yield _FailedPart(kind, word)
            yield _FailedPart("", word)


def _read_mentions(row: tuple[Any, ...]) -> tuple[str, tuple[str, ...]]:
    item, formula, tags, objects = row
    words = [*stored_json(tags, "tags", list), *stored_json(objects or "[]", "record", list)]
    classes = _CLASS.findall(stored_text(formula, "formula"))
    # Tuples of shared words: there is one of them for each item.
    return item, tuple({intern(word) for word in (*classes, *words) if isinstance(word, str)})
