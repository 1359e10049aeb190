"""The items of a run folder, decoded one at a time: what judging the images of a large run needs."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Any

from formalimg._util.strict_json import MAX_NAME, StoredValueError, stored_integer, stored_json, stored_text
from formalimg.benchmarks.items_file import FiledItem, ItemRecords, encode_item
from formalimg.runs.database import run_database_errors
from formalimg.runs.reader import StoredRun
from formalimg.types import Item

_DECODED = 256
"""So many items are kept decoded: those that are being judged."""


class StoredItems(ItemRecords):
    """The records of a run's items, by their number in the run; each is checked whenever it is decoded."""

    def __init__(self, run: StoredRun) -> None:
        super().__init__()
        self._run = run
        self._items: list[FiledItem] = []
        self._questions: dict[str, str] = {}
        self._decoded = lru_cache(_DECODED)(self._decode)
        for number, (id_, level, tags, version, question) in enumerate(run.item_heads()):
            named = stored_text(id_, "id", MAX_NAME), stored_integer(level, "level")
            words = tuple(intern(str(tag)) for tag in stored_json(tags, "tags", list))
            shared = intern(version if isinstance(version, str) else "")
            self._items.append(FiledItem.of(self, number, intern(run.manifest.suite), *named, words, shared))
            self._questions[named[0]] = stored_text(question, "question", MAX_NAME)
        self._by_id = {item.id: item for item in self._items}

    def item(self, id_: str) -> Item[object]:
        """Return the item with this id, to be decoded when it is used."""
        return self._by_id[id_]

    def question(self, id_: str) -> str:
        """Return the key of what an item asks for, as it was stored."""
        return self._questions[id_]

    def line(self, number: int) -> bytes:
        """Return the record of an item."""
        return encode_item(self._decoded(number)).encode()

    def read_spec(self, number: int) -> Any:
        """Return the specification of an item."""
        return self._decoded(number).spec

    def is_canonical(self, number: int) -> bool:
        """Return False: the database may come from anywhere."""
        return False

    def _read_fields(self, number: int) -> dict[str, Any]:
        return {"prompt": self._decoded(number).prompt}

    def _decode(self, number: int) -> Item[object]:
        head = self._items[number]
        item = self._run.suite_item(head.id)
        if item is None or (item.tags, item.version) != (head.tags, head.version):
            with run_database_errors(self._run.folder):
                raise StoredValueError(f"item {head.id}: its record is not the one that was read before")
        return item
