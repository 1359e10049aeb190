"""What was odd in published files and is read all the same: each oddity by a rule, and none of them silently."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.strict_json import loads_strict
from formalimg.suites.record import ItemFindings, Record

TidyReason: TypeAlias = Literal[
    "blanks at the edges",
    "ids of two types",
    "no category",
    "mistyped key",
    "no assessment point",
    "assessment point of L3 alone",
    "assessment point of L3 differs",
    "duplicate",
    "no questions",
    "questions of L3 differ",
    "no question of a dimension",
    "unusual weight",
    "same prompt as L2",
]

_MOST_NAMED = 13
"""So many places of one kind are all named; of more, only the first few."""

_FEW = 3


class Tidying(NamedTuple):
    """One oddity of published data.

    Attributes:
        where: file and record.
        what: the kind of oddity.
        how: what was made of it.
    """

    where: str
    what: TidyReason
    how: str


def tidied_lines(tidied: Iterable[Tidying]) -> list[str]:
    """What was tidied up as lines for people: each kind with its number, and the places.

    Items without questions are not among them: whoever lists items tells those by name.
    """
    kinds: dict[TidyReason, list[Tidying]] = {what: [] for what in get_args(TidyReason)}
    for each in tidied:
        kinds[each.what].append(each)
    lines = []
    for what, found in kinds.items():
        if not found or what == "no questions":
            continue
        lines.append(f"{what}: {len(found):,}")
        shown = found if len(found) <= _MOST_NAMED else found[:_FEW]
        lines += [f"  {each.where}: {each.how}" for each in shown]
        if len(shown) < len(found):
            lines.append(f"  and {len(found) - len(shown):,} more")
    return lines


class Tree(NamedTuple):
    """A field of knowledge, and where its files lie.

    Attributes:
        path: the path of its files within `prompt`, without their ending.
        discipline: what it is called in our tags.
        branch: of physics, such as optics; empty for others.
    """

    path: str
    discipline: str
    branch: str = ""

    @property
    def slug(self) -> str:
        """The path as the beginning of ids, such as physics-classical-mechanics."""
        return re.sub(r"[^a-z0-9]+", "-", self.path.lower()).strip("-")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of its items."""
        return tuple(filter(None, (self.discipline, self.branch)))


PUBLISHED_TREES = (
    Tree("Biology", "biology"),
    Tree("Chemical", "chemistry"),
    Tree("Geography", "geography"),
    Tree("Sociology", "sociology"),
    Tree("physics/Astronomy", "physics", "astronomy"),
    Tree("physics/Classical Mechanics", "physics", "mechanics"),
    Tree("physics/Electromagnetism", "physics", "electromagnetism"),
    Tree("physics/Optics", "physics", "optics"),
    Tree("physics/Thermodynamics", "physics", "thermodynamics"),
)


def tree_at(path: str) -> Tree:
    """The field whose files have this path; those that were not published are called by their names."""
    for tree in PUBLISHED_TREES:
        if tree.path == path:
            return tree
    discipline, *deeper = (Tree(part, "").slug for part in path.split("/"))
    return Tree(path, discipline, "-".join(deeper))


def tree_tagged(tags: tuple[str, ...]) -> Tree:
    """The field whose items have these tags."""
    for tree in PUBLISHED_TREES:
        if tree.tags == tags:
            return tree
    # Tags may be any words, and this becomes the name of a file.
    return tree_at("/".join(Tree(tag, "").slug or "other" for tag in tags))


_MISTYPED = re.compile(r"(ap|prompt)_([123])")

_LARGEST = 1_000
"""No number in published files is as large."""


class RecordForm(NamedTuple):
    """What the records of a kind of file hold.

    Attributes:
        called: what such a record is, with its article.
        texts: fields that must be there and hold words.
        optional: fields of words that may be missing.
        numbers: fields that must be there and hold a number above 0.
        ids: fields that name something, as text or as a whole number.
        ignored: fields that nobody needs.
        id_pattern: what ids look like.
    """

    called: str
    texts: tuple[str, ...]
    optional: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    ids: tuple[str, ...] = ("id",)
    ignored: tuple[str, ...] = ()
    id_pattern: str = "0|[1-9][0-9]{0,8}"


class Entry(NamedTuple):
    """A record that is as it should be: ids and texts as text without blanks at the edges, and missing ones empty."""

    where: str
    texts: dict[str, str]
    numbers: dict[str, float]


def read_entries(root: Path, name: str, form: RecordForm, findings: ItemFindings, tidied: list[Tidying]) -> list[Entry]:
    """The records of a file; what is wrong is added to the findings, and what was tidied up to the tidyings."""
    records = _list_in(root / name, name, findings)
    kinds = {type(record.get("id")) for record in records if isinstance(record, dict)}
    entries: dict[str, Entry] = {}
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            findings.add(f"{name}, record {number}", "must be an object")
            continue
        where = f"{name}, id {record['id']}" if "id" in record else f"{name}, record {number}"
        if len(kinds) > 1 and isinstance(record.get("id"), int):
            tidied.append(Tidying(where, "ids of two types", f"read as text, {str(record['id'])!r}"))
        fields = _rekeyed(record, form, where, tidied)
        entry = _entry(Record(where, fields, findings, form.called), form, tidied)
        if entry is None:
            continue
        if entry.texts["id"] in entries:
            findings.add(where, "another record has this id")
        entries[entry.texts["id"]] = entry
    return list(entries.values())


def _list_in(path: Path, name: str, findings: ItemFindings) -> Sequence[Any]:
    try:
        found = loads_strict(path.read_text(encoding="utf-8"))
    except OSError as error:
        findings.add(name, f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        findings.add(name, f"not valid JSON in UTF-8: {error}")
    else:
        if isinstance(found, list):
            return found
        findings.add(name, "must be a list of records")
    return ()


def _rekeyed(record: dict[str, Any], form: RecordForm, where: str, tidied: list[Tidying]) -> dict[str, Any]:
    """The record with the keys that were meant: `ap_3` is `ap_l3`, unless that is there too."""
    fields = {}
    for key, value in record.items():
        meant = _MISTYPED.sub(r"\1_l\2", key) if _MISTYPED.fullmatch(key) else key
        if meant != key and meant in (*form.texts, *form.optional) and meant not in record:
            tidied.append(Tidying(where, "mistyped key", f"{key} read as {meant}"))
            key = meant
        fields[key] = value
    return fields


def _entry(record: Record, form: RecordForm, tidied: list[Tidying]) -> Entry | None:
    before = len(record.findings)
    needed = (*form.ids, *form.texts, *form.numbers)
    if not record.has_all(needed, (*needed, *form.optional, *form.ignored)):
        return None
    found = {name: record.text(name, empty=name in form.optional) for name in _text_names(record, form)}
    texts = {name: text.strip() for name, text in found.items() if text is not None}
    for name in form.ids:
        value = record.fields[name]
        texts[name] = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
        if not re.fullmatch(form.id_pattern, texts[name]):
            record.wrong(f"{name} must be a number as published ids are, but is {value!r}")
    numbers = {name: record.fields[name] for name in form.numbers}
    for name, value in numbers.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < _LARGEST:
            record.wrong(f"{name} must be a number above 0 and below {_LARGEST:,}, but is {value!r}")
    if len(record.findings) > before:
        return None
    blank = [name for name, text in found.items() if text != texts[name]]
    if blank:
        tidied.append(Tidying(record.where, "blanks at the edges", f"taken off {', '.join(blank)}"))
    return Entry(record.where, {**dict.fromkeys(form.optional, ""), **texts}, numbers)


def _text_names(record: Record, form: RecordForm) -> Iterator[str]:
    yield from form.texts
    yield from (name for name in form.optional if name in record.fields)
