"""The items file `items.jsonl`, one JSON object per line: encoding, decoding, order and lazy items.

Fields, in this order: `format` (of the file, 1), `suite`, `version` (of the suite), `id`, `level`, `prompt`, then the
fields of the suite's kind, and `tags`, if there are any. The same items always give the same bytes. The version of the
program is left out on purpose: a new release must not change the digest of a suite.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import atomic_write, refuse_special_file
from formalimg.benchmarks.odd_records import DUPLICATE_ID, NO_PROMPT, ODD_NAME
from formalimg.benchmarks.record import MAX_RECORD_BYTES, ItemFindings, ItemsError, Record, decode_record
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.types import Item, Spec_co

_DECODED = 256  # So many items of one file are kept decoded: those that are being generated and judged


class ItemRecords:
    """The records of a suite's items by number, decoded on demand; these lines are known to be right."""

    def __init__(self, suite: str = "", lines: Sequence[bytes] = ()) -> None:
        self._suite, self._lines = suite, lines
        self.fields = lru_cache(_DECODED)(self._read_fields)
        self.spec = lru_cache(_DECODED)(self.read_spec)

    def line(self, number: int) -> bytes:
        """Return the stored record of an item, without its line ending."""
        return self._lines[number]

    def read_spec(self, number: int) -> Any:
        """Return the specification stored in a record, after checking the record if it has not been checked yet."""
        return get_suite(self._suite).form.build_spec(self.fields(number))

    def is_canonical(self, number: int) -> bool:
        """Return whether a record is known to be valid and equals the output of `encode_item`."""
        return True

    def _read_fields(self, number: int) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self.line(number))
        return fields


class _InRecord:
    """An attribute read from the record unless the instance overrides it (`dataclasses.replace`)."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, item: FiledItem | None, owner: type) -> Any:
        if item is None:
            raise AttributeError(self._name)  # so that it is no default of the field
        if self._name == "prompt":
            return item.records.fields(item.number)["prompt"]
        return item.records.spec(item.number)


class FiledItem(Item[Any]):
    """An item that holds its id, level, tags and version, and reads its other fields on demand.

    It equals the `Item` with the same values, and is pickled as one.
    """

    records: ItemRecords
    number: int
    prompt = _InRecord()
    spec = _InRecord()

    @classmethod
    def of(
        cls, records: ItemRecords, number: int, suite: str, id_: str, level: int, tags: tuple[str, ...], version: str
    ) -> FiledItem:
        """Create the item of a record."""
        item = cls.__new__(cls)
        # In place of the constructor, which would want prompt and spec. Not by `__dict__`, which would take memory.
        put = object.__setattr__
        put(item, "suite", suite)
        put(item, "id", id_)
        put(item, "level", level)
        put(item, "tags", tags)
        put(item, "version", version)
        put(item, "records", records)
        put(item, "number", number)
        return item

    @property
    def is_canonical(self) -> bool:
        """Whether the record is known to be valid and equals the output of `encode_item`."""
        records = getattr(self, "records", None)  # copies with other values have none
        return records is not None and records.is_canonical(self.number)

    def _values(self) -> tuple[Any, ...]:
        return self.suite, self.id, self.level, self.prompt, self.spec, self.tags, self.version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        values = self.suite, self.id, self.level, self.tags, self.version
        if values != (other.suite, other.id, other.level, other.tags, other.version):
            return False
        return bool(self.prompt == other.prompt and self.spec == other.spec)

    def __hash__(self) -> int:
        return hash(self._values())

    def __reduce__(self) -> tuple[type[Item[Any]], tuple[Any, ...]]:
        return Item, self._values()


ITEMS_FILE = "items.jsonl"
FORMAT = 1

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NEEDED = ("format", "suite", "version", "id", "level", "prompt")


def encode_item(item: Item[Any], *, with_proof: bool = True) -> str:
    """Return the item as one line of JSON; the same item always gives the same text."""
    kind = get_suite(item.suite)
    if isinstance(item, FiledItem) and item.is_canonical:
        if with_proof:
            return item.records.line(item.number).decode()
        stored = item.records.fields(item.number)
        return _encode({name: value for name, value in stored.items() if name not in kind.form.PROOF})
    if not isinstance(item.spec, kind.form.SPEC):
        raise FormalimgError(
            f"item {item.id} of {item.suite} asks for a {type(item.spec).__name__}, "
            f"but items of {item.suite} have a {kind.form.SPEC.__name__}"
        )
    fields: dict[str, Any] = {
        "format": FORMAT,
        "suite": item.suite,
        "version": item.version,
        "id": item.id,
        "level": item.level,
        "prompt": item.prompt,
        **kind.form.fields_of(item.spec, with_proof=with_proof),
    }
    if item.tags:
        fields["tags"] = list(item.tags)
    return _encode(fields)


def formula_text(item: Item[Any]) -> str:
    """Return the formula of an item as text; empty for items without one."""
    if isinstance(item, FiledItem) and item.is_canonical:
        return str(item.records.fields(item.number).get("dsl", ""))
    return str(getattr(item.spec, "text", ""))


def decode_item(text: str, suite: str) -> Item[Any]:
    """Return the item encoded in a line written by `encode_item`."""
    findings = ItemFindings()
    item = read_line(text.encode("utf-8", "surrogatepass"), f"an item of {suite}", suite, findings)
    findings.raise_any()
    assert item is not None, "what cannot be read has findings"
    return item


def decode_known_item(line: bytes, suite: str) -> Item[Any]:
    """Return the item in a line already verified by the digest of its file, without checking it again."""
    fields = json.loads(line)
    spec, tags = get_suite(suite).form.build_spec(fields), tuple(fields.get("tags", ()))
    return Item(suite, fields["id"], fields["level"], fields["prompt"], spec, tags, fields["version"])


def read_lines(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items of an items file, and add any errors to the findings."""
    items: list[Item[Any]] = []
    ids = UniqueIds()
    for number, line in numbered_lines(path, findings):
        location = f"{path}, line {number}"
        item = read_line(line, location, suite, findings)
        if item is None:
            continue
        if problem := ids.find_problem(item, number):
            findings.add(location, problem)
        else:
            items.append(item)
    return items


def numbered_lines(path: Path, findings: ItemFindings) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of an items file with their one-based numbers, up to the first overlong line."""
    refuse_special_file(path)
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_RECORD_BYTES + 2):
                number += 1
                yield number, line
                if len(line) > MAX_RECORD_BYTES and not line.endswith(b"\n"):
                    break  # what follows is the rest of this line, not the next one
    except OSError as error:
        findings.add(str(path), f"cannot be read: {error.strerror}")


class UniqueIds:
    """The ids seen in a file so far: unique, and all numbers or all names, but for published items with odd names."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._are_numbers: bool | None = None

    def find_problem(self, item: Item[Any] | ItemHead, number: int) -> str:
        """Return why the id of a line is not acceptable; empty if it is."""
        first = self._lines.setdefault(item.id, number)
        if first != number:
            return f"the id {item.id} is that of line {first} too: give one another id"
        if ODD_NAME in item.tags or DUPLICATE_ID in item.tags:
            return ""
        if self._are_numbers is None:
            self._are_numbers = is_number(item.id)
        if is_number(item.id) == self._are_numbers:
            return ""
        del self._lines[item.id]
        return f"the id {item.id}: ids must be all numbers or all names, not mixed"


def write_items(items: Iterable[Item[Any]], folder: str | Path) -> Path:
    """Write items of one suite to `<folder>/items.jsonl`, sorted by id; the file is replaced atomically.

    `ItemsError` is raised if the items could not be read again: two suites, a duplicate id, or a level that is not K.
    """
    lines = _check_lines(in_order(items))
    if not lines:
        raise ItemsError(["there are no items to write"])
    path = Path(folder) / ITEMS_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write {path}: {error.strerror}") from error
    atomic_write(path, lines, fsync=True)
    return path


class ItemHead(NamedTuple):
    """The fields of an item except its specification, and the record they were read from."""

    record: Record
    id: str
    level: int
    prompt: str
    tags: tuple[str, ...]
    version: str


def read_line(line: bytes, where: str, suite: str, findings: ItemFindings) -> Item[Any] | None:
    """Return the item of a line; None, with findings, if it is not valid."""
    before = len(findings)
    head = read_head(line, where, suite, findings)
    if head is None:
        return None
    spec = get_suite(suite).form.spec_in(head.record, suite, head.level, head.tags)
    if spec is None or len(findings) > before:
        return None
    return Item(suite, head.id, head.level, head.prompt, spec, head.tags, head.version)


def read_head(line: bytes, where: str, suite: str, findings: ItemFindings) -> ItemHead | None:
    """Return the fields of an item without its specification; None, with findings, if the line is not valid."""
    if not line.strip():
        findings.add(where, "an empty line: remove it")
        return None
    record = decode_record(line.removesuffix(b"\n"), where, findings)
    if record is None:
        return None
    if record.fields.get("format", FORMAT) != FORMAT:
        record.wrong(f"format must be {FORMAT}: the file was made by another version of formalimg, write it again")
        return None
    form = get_suite(suite).form
    needed = (*_NEEDED, *form.NEEDED)
    if not record.has_all(needed, (*needed, *form.OPTIONAL, "tags")):
        return None
    if record.fields["suite"] != suite:
        record.wrong(f"the suite is {record.fields['suite']!r}, but {suite!r} was asked for")
        return None
    tags = record.words("tags") if "tags" in record.fields else ()
    name, version = record.name("id"), record.text("version", empty=True)
    prompt, level = record.text("prompt", empty=NO_PROMPT in (tags or ())), record.number("level")
    if name is None or version is None or prompt is None or level is None or tags is None:
        return None
    return ItemHead(record, name, level, prompt, tags, version)


def _check_lines(items: list[Item[Any]]) -> list[bytes]:
    """Return the encoded lines of the items; raise an error if they would not read back as valid items."""
    findings = ItemFindings()
    suite = items[0].suite if items else ""
    for name in {item.suite for item in items}:
        get_suite(name)  # a benchmark that cannot be loaded is no fault of its items
    lines = []
    ids = UniqueIds()
    for number, item in enumerate(items):
        location = f"{item.suite} item {item.id}"
        if ids.find_problem(item, number):
            findings.add(location, "an id must be there only once, and ids must be all numbers or all names")
        try:
            lines.append(encode_item(item).encode("utf-8", "surrogatepass") + b"\n")
        except (TypeError, ValueError) as error:
            raise ItemsError([f"{location}: cannot be written as JSON: {error}"]) from error
        read_back = read_line(lines[-1], location, suite, findings)
        if read_back is not None and read_back != item:
            findings.add(location, "would not read back as it is: check the types of its fields")
    findings.raise_any()
    return lines


def id_order(name: str) -> tuple[bool, int, str]:
    """Return the sort key of an id: numbers first, by value, then names."""
    return (False, int(name), name) if is_number(name) else (True, 0, name)


def is_number(name: str) -> bool:
    """Return whether an id is a plain number without leading zeros, like the published ids."""
    return name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")


def in_order(items: Iterable[Item[Spec_co]]) -> list[Item[Spec_co]]:
    """Return the items sorted by suite and id."""
    return sorted(items, key=lambda item: (item.suite, id_order(item.id)))
