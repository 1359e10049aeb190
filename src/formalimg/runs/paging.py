"""Images of a run, found and counted by the database, page by page: for those who look at large runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from formalimg.runs.image_store import ImageLocation, ImageStore
from formalimg.runs.record import Outcome

OutcomeSort: TypeAlias = Literal["pass", "fail", "unscored"]

_ALL_IMAGES = """
    FROM pictures JOIN items ON items.id = pictures.item
    LEFT JOIN verdicts ON judge = :judge AND verdicts.question = items.question AND picture = pictures.sha256
"""
_COLUMNS = (
    "pictures.item, level, pictures.sample, status, pictures.detail, passed, score, verdicts.reason, verdicts.detail, "
    "prompt, sha256"
)
_OF_OUTCOME = len(_COLUMNS.split(", ")) - 2
# A verdict belongs to a question and an image: where an image came to be absent, there is none, whatever was said.
_IS_SCORED = "(status = 'made' AND passed IS NOT NULL)"
_CONDITIONS: Mapping[OutcomeSort, str] = {
    "pass": f"{_IS_SCORED} AND passed = 1",
    "fail": f"{_IS_SCORED} AND passed = 0",
    "unscored": f"NOT {_IS_SCORED}",
}

# A formula is cut at its brackets, so that each piece is one atom: a class may also be the name of a colour.
_ATOMS = """json_each('["' || replace(replace(replace(formula, '\\', ''), '"', ''), '(', '","') || '"]')"""
_ABOUT = f"""(
    (instr(formula, :quoted) AND
        EXISTS (SELECT 1 FROM {_ATOMS} AS atom WHERE atom.value LIKE :is_about ESCAPE '\\'))
    OR EXISTS (SELECT 1 FROM json_each(tags) AS tag WHERE tag.value = :about)
    OR (formula = '' AND EXISTS (SELECT 1 FROM json_each(record, '$.concepts') AS asked WHERE
        json_extract(asked.value, '$.category') = 'object' AND json_extract(asked.value, '$.value') = :about))
)"""

Ask: TypeAlias = Callable[..., Iterator[tuple[Any, ...]]]
"""Asks the database of a run: a query and the values for its names."""

ReadOutcome: TypeAlias = Callable[[tuple[Any, ...]], Outcome]


class ImageFilter(NamedTuple):
    """Which images of a run are wanted. What is None or empty is not asked for.

    Attributes:
        level: of this level.
        outcome: that passed, that failed, or that have no verdict.
        kind: with a failed part of this kind, such as a kind of clause or a category.
        word: with a failed part that is about this word; where a kind is given too, a part of that kind.
        text: whose prompt or id holds this text, in small or capital letters.
        about: whose item speaks of this: a class of its formula, one of its objects, or one of its tags.
    """

    level: int | None = None
    outcome: OutcomeSort | None = None
    kind: str = ""
    word: str = ""
    text: str = ""
    about: str = ""


class ListedImage(NamedTuple):
    """An image in a list.

    Attributes:
        outcome: how it fared.
        prompt: what was asked for.
        sha256: of its file; None if there is no image.
    """

    outcome: Outcome
    prompt: str
    sha256: str | None


class ImagePage(NamedTuple):
    """Some of the images that were wanted, in the order of items and samples, and how many there are in all."""

    images: tuple[ListedImage, ...]
    total: int


class ImageFile(NamedTuple):
    """The file of an image: where it lies, its digest, and its size in pixels."""

    path: ImageLocation
    sha256: str
    width: int
    height: int


def image_page(ask: Ask, read: ReadOutcome, wanted: ImageFilter, start: int, count: int) -> ImagePage:
    """A page of the images that are wanted: `count` of them, from the one with number `start` on."""
    where, values = _where(wanted)
    # First who and how many, then all about the few: sorting whole rows would take longer than finding them.
    found = list(
        ask(
            f"SELECT pictures.rowid, count(*) OVER () {_ALL_IMAGES} {where} "
            "ORDER BY position, sample LIMIT :count OFFSET :start",
            count=count,
            start=start,
            **values,
        )
    )
    if not found:  # behind the last page nobody has counted
        ((total,),) = ask(f"SELECT count(*) {_ALL_IMAGES} {where}", **values)
        return ImagePage((), total)
    places = ", ".join(str(rowid) for rowid, _ in found)
    rows = ask(f"SELECT {_COLUMNS} {_ALL_IMAGES} WHERE pictures.rowid IN ({places}) ORDER BY position, sample")
    return ImagePage(tuple(_listed(row, read) for row in rows), found[0][1])


def neighbours(
    ask: Ask, read: ReadOutcome, wanted: ImageFilter, item: str, sample: int
) -> tuple[ListedImage | None, ListedImage | None]:
    """The wanted images right before and right after an image, which need not be among them itself."""
    where, values = _where(wanted)
    found = []
    for sign, order in (("<", "DESC"), (">", "ASC")):
        beside = f"(position, sample) {sign} ((SELECT position FROM items WHERE id = :item), :sample)"
        query = (
            f"SELECT {_COLUMNS} {_ALL_IMAGES} {where} {'AND' if where else 'WHERE'} {beside} "
            f"ORDER BY position {order}, sample {order} LIMIT 1"
        )
        found.append(next((_listed(row, read) for row in ask(query, item=item, sample=sample, **values)), None))
    return found[0], found[1]


def wanted_before(ask: Ask, wanted: ImageFilter, item: str, sample: int) -> int:
    """How many of the wanted images come before an image, which need not be among them itself."""
    where, values = _where(wanted)
    before = "(position, sample) < ((SELECT position FROM items WHERE id = :item), :sample)"
    query = f"SELECT count(*) {_ALL_IMAGES} {where} {'AND' if where else 'WHERE'} {before}"
    ((count,),) = ask(query, item=item, sample=sample, **values)
    return int(count)


def file_of_image(ask: Ask, images: ImageStore, item: str, sample: int) -> ImageFile | None:
    """The file of an image; None if there is none, or if its name leads out of the place of the images."""
    query = "SELECT file, sha256, width, height FROM pictures WHERE item = :item AND sample = :sample AND file <> ''"
    for file, sha256, width, height in ask(query, item=item, sample=sample):
        place = images.place(file, str(sha256 or ""))
        # The database may come from anywhere.
        inside = Path(file).name == file and (
            not isinstance(place, Path) or place.resolve().parent == place.parent.resolve()
        )
        if inside:
            return ImageFile(place, str(sha256 or ""), width or 1, height or 1)
    return None


def _listed(row: tuple[Any, ...], read: ReadOutcome) -> ListedImage:
    *_, prompt, sha256 = row
    return ListedImage(read(row[:_OF_OUTCOME]), prompt, sha256)


def _where(wanted: ImageFilter) -> tuple[str, dict[str, object]]:
    conditions: list[str] = []
    values: dict[str, object] = {}
    if wanted.level is not None:
        conditions.append("level = :level")
        values["level"] = wanted.level
    if wanted.outcome is not None:
        conditions.append(_CONDITIONS[wanted.outcome])
    if wanted.kind or wanted.word:
        conditions.append(f"{_IS_SCORED} AND EXISTS ({_failed_part(wanted)})")
        values |= {"kind": wanted.kind, "word": wanted.word}
    if wanted.text:
        conditions.append("(prompt LIKE :text ESCAPE '\\' OR items.id LIKE :text ESCAPE '\\')")
        values["text"] = f"%{_plain(wanted.text)}%"
    if wanted.about:
        conditions.append(_ABOUT)
        values |= {
            "about": wanted.about,
            "quoted": f"'{wanted.about}'",
            "is_about": f"Is ?% '{_plain(wanted.about)}')%",
        }
    return (f"WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _failed_part(wanted: ImageFilter) -> str:
    """A failed part that is wanted. Its values are asked of the whole list, which the database parses only once."""
    kind = f"AND {_of_part('kind')} = :kind" if wanted.kind else ""
    words = "SELECT 1 FROM json_each(verdicts.parts, part.fullkey || '.about') AS word WHERE word.value = :word"
    about = f"AND EXISTS ({words})" if wanted.word else ""
    return f"SELECT 1 FROM json_each(verdicts.parts) AS part WHERE {_of_part('score')} < 1 {kind} {about}"


def _of_part(name: str) -> str:
    return f"json_extract(verdicts.parts, part.fullkey || '.{name}')"


def _plain(words: str) -> str:
    """Text for LIKE, in which no character stands for others."""
    return words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
