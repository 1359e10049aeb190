"""SQL queries that filter, count and page the images of a run, for viewers of large runs."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from formalimg._util.strict_json import (
    MAX_NAME,
    MAX_NUMBER,
    MAX_TEXT,
    StoredValueError,
    stored_digest,
    stored_file_name,
    stored_integer,
    stored_text,
    wrong_value,
)
from formalimg.judges.base import UnscoredReason
from formalimg.runs.image_store import ImageLocation, ImageStore, is_image_name

OutcomeKind: TypeAlias = Literal["pass", "fail", "unscored"]
ImageMark: TypeAlias = Literal["disagreement", "dropped"]

ALL_IMAGES = """
    FROM pictures JOIN items ON items.id = pictures.item
    LEFT JOIN verdicts ON judge = :judge AND verdicts.question = items.question AND picture = pictures.sha256
"""
OUTCOME_COLUMNS = (
    "pictures.item, level, pictures.sample, status, pictures.detail, passed, score, verdicts.reason, verdicts.detail"
)
OUTCOME_WIDTH = len(OUTCOME_COLUMNS.split(", "))
MAX_SCORE = 1_000_000  # Scores are from 0 to 1, but a judge of somebody else may have counted otherwise
_COLUMNS = f"{OUTCOME_COLUMNS}, prompt, sha256"
# A verdict belongs to a question and an image: where an image came to be absent, it has none, whatever is stored.
_IS_SCORED = "(status = 'made' AND passed IS NOT NULL)"
_CONDITIONS: Mapping[OutcomeKind, str] = {
    "pass": f"{_IS_SCORED} AND passed = 1",
    "fail": f"{_IS_SCORED} AND passed = 0",
    "unscored": f"NOT {_IS_SCORED}",
}
_REASONS_WITHOUT_IMAGE: Mapping[str, UnscoredReason] = {
    "planned": "no image",
    "absent": "no image",
    "refused": "refused",
    "failed": "generation failed",
    "unreadable": "unreadable image",
    "too large": "too large",
}

_BY_SCORE = f"CASE WHEN {_IS_SCORED} THEN -score ELSE {MAX_SCORE + 1} END"  # The best first, and last what is unscored
_ALL_HOLD = "NOT EXISTS (SELECT 1 FROM json_each(verdicts.parts) AS part WHERE json_extract(part.value, '$.score') < 1)"
_MARKS: Mapping[ImageMark, str] = {
    "disagreement": f"{_IS_SCORED} AND json_type(evidence, '$.fulfilled') IN ('true', 'false') "
    f"AND json_array_length(verdicts.parts) > 0 AND json_extract(evidence, '$.fulfilled') <> ({_ALL_HOLD})",
    # A detector drops boxes too, that overlap; those were not asked for anything else.
    "dropped": "status = 'made' AND coalesce(json_extract(evidence, '$.grounder.dropped[0].asked_for'), "
    "json_extract(evidence, '$.dropped[0].asked_for')) IS NOT NULL",
}

# A formula is split at its brackets, so that each piece is one atom: a class may also be the name of a colour.
_ATOMS = """json_each('["' || replace(replace(replace(formula, '\\', ''), '"', ''), '(', '","') || '"]')"""
_ABOUT = f"""(
    (instr(formula, :quoted) AND
        EXISTS (SELECT 1 FROM {_ATOMS} AS atom WHERE atom.value LIKE :is_about ESCAPE '\\'))
    OR EXISTS (SELECT 1 FROM json_each(tags) AS tag WHERE tag.value = :about)
    OR (formula = '' AND EXISTS (SELECT 1 FROM json_each(record, '$.concepts') AS asked WHERE
        json_extract(asked.value, '$.category') = 'object' AND json_extract(asked.value, '$.value') = :about))
    OR (formula = '' AND EXISTS (SELECT 1 FROM json_each(record, '$.include') AS asked WHERE
        json_extract(asked.value, '$.class') = :about))
)"""

Converted = TypeVar("Converted")


class ImageOutcome(NamedTuple):
    """The outcome of one image of one item."""

    item: str  # the item's id
    level: int  # the item's level
    sample: int  # the number of the image among those of the item, from 0
    passed: bool | None  # the verdict; None if unscored
    score: float | None  # the share of parts that hold; None if unscored
    reason: str  # why it is unscored; empty if scored
    detail: str  # what happened, in one line; empty if scored


class ImageFilter(NamedTuple):
    """A filter of a run's images. Fields that are None or empty do not filter."""

    level: int | None = None  # images of this level
    outcome: OutcomeKind | None = None  # images that passed, failed, or are unscored
    kind: str = ""  # with a failed part of this kind, such as a kind of clause or a category
    # with a failed part that is about this word; together with a kind, a part of that kind. A conditional clause is
    # about what it claims
    word: str = ""
    text: str = ""  # whose prompt or id contains this text, ignoring case
    about: str = ""  # whose item mentions this: a class of its formula, one of its objects, or one of its tags
    # where the judge's verdict on the whole and its clauses disagree, or boxes were dropped for their labels
    mark: ImageMark | None = None


class ListedImage(NamedTuple):
    """An image in a page of results."""

    outcome: ImageOutcome  # its outcome
    prompt: str  # the prompt of its item
    sha256: str | None  # the digest of its file; None if there is no image


class ImagePage(NamedTuple):
    """A page of filtered images, ordered by item and sample or by score, and the total number of matches."""

    images: tuple[ListedImage, ...]
    total: int


class ImageFile(NamedTuple):
    """The file of an image: its location, its digest, and its size in pixels."""

    path: ImageLocation
    sha256: str
    width: int
    height: int


def read_outcome(row: tuple[Any, ...]) -> ImageOutcome:
    """Return the outcome from a row that begins with `OUTCOME_COLUMNS`."""
    item, level, sample, status, no_image, passed, score, reason, detail, *_ = row
    # Large runs have a million of these: one plain condition each, and no calls.
    if not (type(item) is str and type(level) is int and type(sample) is int and len(item) <= MAX_NAME):
        raise wrong_value("item, level, sample", (item, level, sample))
    if not (0 <= level <= MAX_NUMBER and 0 <= sample <= MAX_NUMBER):
        raise wrong_value("level, sample", (level, sample))
    if status != "made":
        if status not in _REASONS_WITHOUT_IMAGE:
            raise wrong_value("status", status)
        if type(no_image) is not str or len(no_image) > MAX_TEXT:
            raise wrong_value("detail", no_image)
        return ImageOutcome(item, level, sample, None, None, _REASONS_WITHOUT_IMAGE[status], no_image)
    if reason is None:  # there is no verdict at all
        return ImageOutcome(item, level, sample, None, None, "not judged", "")
    if not (type(reason) is str and type(detail) is str and len(reason) <= MAX_NAME and len(detail) <= MAX_TEXT):
        raise wrong_value("reason, detail", (reason, detail))
    if passed is None:
        return ImageOutcome(item, level, sample, None, None, reason, detail)
    if not (type(passed) is int and passed in (0, 1) and type(score) is float and abs(score) <= MAX_SCORE):
        raise wrong_value("passed, score", (passed, score))
    return ImageOutcome(item, level, sample, bool(passed), score, reason, detail)


class ImageQueries(ABC):
    """Queries on the images of a run, filtered, counted and paged by the database."""

    _images: ImageStore

    @property
    @abstractmethod
    def has_images(self) -> bool:
        """Whether the run contains image files, which is False for imported verdicts."""

    @abstractmethod
    def query(
        self, convert: Callable[[tuple[Any, ...]], Converted], query: str, **values: object
    ) -> Iterator[Converted]:
        """Run an SQL statement with named parameters and yield the converted rows."""

    def page(self, filter_: ImageFilter, start: int, count: int, *, by_score: bool = False) -> ImagePage:
        """Return `count` matching images starting at index `start`, and the total number of matches."""
        condition, values = _build_condition(filter_)
        order = ", ".join(_sort_keys(by_score))
        # First which and how many, then all columns of the few: sorting whole rows would take longer than finding them.
        statement = f"SELECT pictures.rowid, count(*) OVER () {ALL_IMAGES} {condition} ORDER BY {order}"
        rows = list(self.query(tuple, f"{statement} LIMIT :count OFFSET :start", count=count, start=start, **values))
        if not rows:  # beyond the last page the window function has counted nothing
            return ImagePage((), self._count(condition, values))
        rowids = ", ".join(str(rowid) for rowid, _ in rows)
        statement = f"SELECT {_COLUMNS} {ALL_IMAGES} WHERE pictures.rowid IN ({rowids}) ORDER BY {order}"
        images = self.query(_read_listed_image, statement)
        if not self.has_images:
            images = (image._replace(sha256=None) for image in images)
        return ImagePage(tuple(images), rows[0][1])

    def neighbours(
        self, filter_: ImageFilter, item: str, sample: int, *, by_score: bool = False
    ) -> tuple[ListedImage | None, ListedImage | None]:
        """Return the matching images directly before and after an image, which does not have to match."""
        condition, values = _build_condition(filter_)
        values |= {"item": item, "sample": sample}
        neighbours = []
        for sign, direction in (("<", "DESC"), (">", "ASC")):
            order = ", ".join(f"{key} {direction}" for key in _sort_keys(by_score))
            beside = f"{condition} {'AND' if condition else 'WHERE'} {_beside_condition(sign, by_score)}"
            statement = f"SELECT {_COLUMNS} {ALL_IMAGES} {beside} ORDER BY {order} LIMIT 1"
            neighbours.append(next(self.query(_read_listed_image, statement, **values), None))
        return neighbours[0], neighbours[1]

    def count_before(self, filter_: ImageFilter, item: str, sample: int, *, by_score: bool = False) -> int:
        """Return the number of matching images before an image, which does not have to match."""
        condition, values = _build_condition(filter_)
        before = f"{condition} {'AND' if condition else 'WHERE'} {_beside_condition('<', by_score)}"
        return self._count(before, {**values, "item": item, "sample": sample})

    def _count(self, condition: str, values: Mapping[str, object]) -> int:
        ((count,),) = self.query(tuple, f"SELECT count(*) {ALL_IMAGES} {condition}", **values)
        return int(count)

    def matching_images(self, filter_: ImageFilter) -> set[tuple[str, int]]:
        """Return all matching images, by item and sample."""
        condition, values = _build_condition(filter_)
        return set(self.query(tuple, f"SELECT pictures.item, pictures.sample {ALL_IMAGES} {condition}", **values))

    def image_file(self, item: str, sample: int) -> ImageFile | None:
        """Return the file of an image, or None if it does not exist or its name is invalid."""
        if not self.has_images:
            return None
        statement = "SELECT file, sha256, width, height FROM pictures WHERE item = :item AND sample = :sample"
        for file, sha256, width, height in self.query(tuple, f"{statement} AND file <> ''", item=item, sample=sample):
            with contextlib.suppress(StoredValueError):  # the database may come from anywhere
                name, digest = stored_file_name(file, "file"), stored_digest(sha256, "sha256")
                size = stored_integer(width or 1, "width", 1), stored_integer(height or 1, "height", 1)
                if is_image_name(name):
                    return ImageFile(self._images.locate(name, digest), digest, *size)
        return None


def _sort_keys(by_score: bool) -> tuple[str, ...]:
    return (_BY_SCORE, "position", "sample") if by_score else ("position", "sample")


def _beside_condition(sign: str, by_score: bool) -> str:
    """Return the SQL condition for images before or after an image, using the position index if possible."""
    if not by_score:
        return f"(position, sample) {sign} ((SELECT position FROM items WHERE id = :item), :sample)"
    keys = ", ".join(_sort_keys(by_score))
    image = f"SELECT {keys} {ALL_IMAGES} WHERE pictures.item = :item AND pictures.sample = :sample"
    return f"({keys}) {sign} ({image})"


def _read_listed_image(row: tuple[Any, ...]) -> ListedImage:
    *_, prompt, sha256 = row
    if sha256 is not None:
        stored_digest(sha256, "sha256")
    return ListedImage(read_outcome(row[:OUTCOME_WIDTH]), stored_text(prompt, "prompt"), sha256)


def _build_condition(filter_: ImageFilter) -> tuple[str, dict[str, object]]:
    conditions: list[str] = []
    values: dict[str, object] = {}
    if filter_.level is not None:
        conditions.append("level = :level")
        values["level"] = filter_.level
    if filter_.outcome is not None:
        conditions.append(_CONDITIONS[filter_.outcome])
    if filter_.mark is not None:
        conditions.append(_MARKS[filter_.mark])
    if filter_.kind or filter_.word:
        conditions.append(f"{_IS_SCORED} AND EXISTS ({_failed_part_query(filter_)})")
        values |= {"kind": filter_.kind, "word": filter_.word}
    if filter_.text:
        conditions.append("(prompt LIKE :text ESCAPE '\\' OR items.id LIKE :text ESCAPE '\\')")
        values["text"] = f"%{_escape_like(filter_.text)}%"
    if filter_.about:
        conditions.append(_ABOUT)
        values |= {
            "about": filter_.about,
            "quoted": f"'{filter_.about}'",
            "is_about": f"Is ?% '{_escape_like(filter_.about)}')%",
        }
    return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _failed_part_query(filter_: ImageFilter) -> str:
    """Return an SQL subquery for matching failed parts that parses the list of parts only once."""
    kind = f"AND {_part_field('kind')} = :kind" if filter_.kind else ""
    words = "SELECT 1 FROM json_each(verdicts.parts, part.fullkey || '.about') AS word WHERE word.value = :word"
    subject_condition = (
        f"AND EXISTS ({words}) AND ({_part_field('kind')} <> 'condition' OR {_CLAIMED})" if filter_.word else ""
    )
    return (
        f"SELECT 1 FROM json_each(verdicts.parts) AS part WHERE {_part_field('score')} < 1 {kind} {subject_condition}"
    )


def _part_field(name: str) -> str:
    return f"json_extract(verdicts.parts, part.fullkey || '.{name}')"


# A conditional clause is about what it claims, not about the condition: a wrong place is no failure of `Is`.
_CLAIMED = (
    f"instr(replace({_part_field('name')}, '(not (' || :word || ' ', ''), '(' || :word || ' ') > 0 "
    f"OR instr(substr(replace({_part_field('name')}, '(not (', ''), 5), '(') = 0"
)


def is_claimed(word: str, clause: str) -> bool:
    """Return whether a conditional clause claims a predicate, by the same rule as `_CLAIMED`."""
    return f"({word} " in clause.replace(f"(not ({word} ", "") or "(" not in clause.replace("(not (", "")[4:]


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
