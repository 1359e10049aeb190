"""Entries of metadata and map files: a file, and words that say which item it shows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.models.folder.claims import Claim
from formalimg.models.folder.lines import Row
from formalimg.models.folder.matching import named
from formalimg.models.folder.wishes import FolderImage, Wishes, is_number

_MOST_DIGITS = 9


class Entry(NamedTuple):
    """What is said about one file.

    Attributes:
        where: where it is said.
        file: the file.
        item: the item it shows; holds whatever the prompt says.
        id: the item it shows, or some other number of the user's own if no item has this id.
        prompt: the words it was made from.
        sample: which of the item's images it is; None if the entries are in the order of the samples.
    """

    where: str
    file: str
    item: str | None
    id: str | None
    prompt: str | None
    sample: int | None


def entry_of(row: Row, file_fields: tuple[str, ...]) -> Entry:
    """A row, read. Fields that nobody knows are passed over.

    Raises:
        FormalimgError: if the file or the item is not said, or a field has the wrong type.
    """
    where, fields = row
    file = next((fields[name] for name in file_fields if fields.get(name) is not None), None)
    if not isinstance(file, str) or not file or "\0" in file:
        raise FormalimgError(f"{where}: {' or '.join(file_fields)} must name a file")
    prompt = fields.get("prompt") if fields.get("prompt") is not None else fields.get("text")
    if prompt is not None and not isinstance(prompt, str):
        raise FormalimgError(f"{where}: prompt must be text")
    item, identity = (_id(fields.get(name), name, where) for name in ("item", "id"))
    if item is None and identity is None and prompt is None:
        raise FormalimgError(f"{where}: must say the item: add item, id or prompt")
    return Entry(where, file, item, identity, prompt, _sample(fields.get("sample"), where))


def claims_of(entries: Iterable[Entry], wishes: Wishes, folder: str) -> Iterator[Claim]:
    """What the entries say about their files, which are named as seen from the folder.

    Raises:
        FormalimgError: if an entry contradicts itself, or its prompt is that of several items.
    """
    numbered: Counter[str] = Counter()
    for entry in entries:
        item = _item(entry, wishes)
        image = None
        if item is not None:
            image = FolderImage(item, numbered[item] if entry.sample is None else entry.sample)
            numbered[item] += entry.sample is None
        # isfile, because a Path would raise for names that no file can have.
        there = os.path.isfile(os.path.join(folder, entry.file))  # noqa: PTH113, PTH118
        yield Claim(entry.file, image, there=there)


def _item(entry: Entry, wishes: Wishes) -> str | None:
    meant = wishes.items_with(entry.prompt)
    item = wishes.item_numbered(entry.id) if entry.item is None and entry.id is not None else None
    if entry.item is not None:
        item = wishes.item_numbered(entry.item)
    elif item is None:
        if len(meant) > 1:
            raise FormalimgError(
                f"{entry.where}: items {' and '.join(map(named, meant[:2]))} have this prompt: add item"
            )
        return meant[0] if meant else None
    if item is not None and meant and item not in meant:
        raise FormalimgError(
            f"{entry.where}: says item {named(item)}, but the prompt is that of item {named(meant[0])}: mend one, "
            "or take the other out"
        )
    return item


def _id(value: Any, name: str, where: str) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise FormalimgError(f"{where}: {name} must be text or a whole number")


def _sample(value: Any, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and is_number(value) and len(value) <= _MOST_DIGITS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise FormalimgError(f"{where}: sample must be a whole number from 0 on")
