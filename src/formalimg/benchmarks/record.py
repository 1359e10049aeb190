"""Strict parsing of item records: the fields of JSON objects are checked one by one, and every error is reported."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from formalimg._util.strict_json import is_text, is_utf8, loads_strict
from formalimg._util.text import truncate
from formalimg.benchmarks.odd_records import BROKEN_TEXT, REPEATED_FIELD, SkippedRecord
from formalimg.errors import FormalimgError

MAX_FINDINGS = 20  # Reading stops after this many findings
MAX_RECORD_BYTES = 1_000_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class ItemsError(FormalimgError, ValueError):
    """Raised if items cannot be read or written; `findings` lists each problem and its location."""

    def __init__(self, findings: Sequence[str]) -> None:
        self.findings = tuple(findings)
        lines = list(self.findings[:MAX_FINDINGS])
        if len(self.findings) >= MAX_FINDINGS:
            lines.append(f"(stopped after {MAX_FINDINGS} problems)")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[ItemsError], tuple[tuple[str, ...]]]:
        return type(self), (self.findings,)


class ItemFindings:
    """Collects errors in items, and raises them when the limit is reached or at the end."""

    def __init__(self) -> None:
        self._errors: list[str] = []
        self.skipped: list[SkippedRecord] = []  # published records of which no item could be made; no errors
        self.repairs: list[str] = []  # of published data, in lines of text

    def add(self, where: str, message: str) -> None:
        """Add an error at a location: a file, or a file and a line."""
        self._errors.append(truncate(f"{where}: {message}", 200, 200))
        if len(self._errors) >= MAX_FINDINGS:
            raise ItemsError(self._errors)

    def skip(self, where: str, why: str) -> None:
        """Record that a published record could not be turned into an item."""
        self.skipped.append(SkippedRecord(truncate(where, 200, 200), truncate(why, 200, 200)))

    def __len__(self) -> int:
        return len(self._errors)

    def raise_any(self) -> None:
        """Raise ItemsError if there are any errors."""
        if self._errors:
            raise ItemsError(self._errors)


@dataclass(frozen=True)
class Record:
    """The parsed fields of one item, their location, and the collector of errors in them."""

    where: str  # file and line
    fields: dict[str, Any]  # the JSON object
    findings: ItemFindings  # collects the errors
    called: str = "an item"  # what messages call the record; not every record is an item

    def wrong(self, message: str) -> None:
        """Report an error in this record."""
        self.findings.add(self.where, message)

    def has_all(self, needed: Sequence[str], known: Collection[str] | None = None) -> bool:
        """Return whether all needed fields and no unknown ones are present, and report an error if not."""
        missing = [name for name in needed if name not in self.fields]
        if missing:
            self.wrong(f"{', '.join(missing)} missing: {self.called} has {', '.join(needed)}")
        unknown = [name for name in self.fields if known is not None and name not in known]
        if unknown:
            self.wrong(f"unknown field {', '.join(unknown[:5])}: {self.called} has {', '.join(known or ())}")
        return not missing and not unknown

    def text(self, name: str, *, empty: bool = False) -> str | None:
        """Return a text field; None, with a finding, if it is not text."""
        value = self.fields[name]
        if not isinstance(value, str) or not (value.strip() or empty):
            self.wrong(f"{name} must be text{'' if empty else ' and not empty'}")
            return None
        if not is_utf8(value):
            self.wrong(f"{name} holds half a character (a lone surrogate): write it again")
            return None
        return value

    def name(self, name: str) -> str | None:
        """Return a text field that is a valid file name; None, with a finding, if it is not."""
        value = self.fields[name]
        if isinstance(value, int) and not isinstance(value, bool):
            self.wrong(f'{name} must be text: write "{str(value)[:40]}", in quotes')
            return None
        value = self.text(name)
        if value is not None and not _NAME.fullmatch(value):
            self.wrong(
                f"{name} {value[:40]!r} must be letters, digits, . _ - (at most 100, the first a letter or digit)"
            )
            return None
        return value

    def number(self, name: str) -> int | None:
        """Return a field that is a non-negative integer; None, with a finding, if it is not."""
        value = self.fields[name]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
            self.wrong(f"{name} must be a whole number")
            return None
        return value

    def words(self, name: str) -> tuple[str, ...] | None:
        """Return a field that is a list of distinct words; None, with a finding, if it is not."""
        value = self.fields[name]
        if not isinstance(value, list) or not all(is_text(word) and word for word in value):
            self.wrong(f"{name} must be a list of words")
            return None
        if len(set(value)) < len(value):
            self.wrong(f"{name} lists {next(word for word in value if value.count(word) > 1)!r} twice")
            return None
        return tuple(value)


def decode_record(data: bytes, where: str, findings: ItemFindings) -> Record | None:
    """Decode a record; return None, with a finding, if it is not valid (UTF-8, no duplicate field, no NaN)."""
    if len(data) > MAX_RECORD_BYTES:
        findings.add(where, f"longer than {MAX_RECORD_BYTES:,} bytes: this is not an item")
        return None
    try:
        fields = loads_strict(data.decode("utf-8"))
    except UnicodeDecodeError:
        findings.add(where, "not UTF-8: save it with that encoding")
    except RecursionError:
        findings.add(where, "not valid JSON: nested too deep")
    except ValueError as error:
        findings.add(where, f"not valid JSON: {error}")
    else:
        if isinstance(fields, dict):
            return Record(where, fields, findings)
        findings.add(where, "an item is a JSON object: {…}")
    return None


_MAX_DIGITS = 18


class RepeatedFields(dict[str, Any]):
    """A published object with a duplicate field, of which the last value counts as in the authors' programs."""


def decode_leniently(data: bytes) -> tuple[Any, frozenset[str]]:
    """Decode the JSON of published data, and return it with the tags of what is odd about its text.

    A byte order mark is ignored, and bytes that are not valid UTF-8 are replaced.
    """
    if len(data) > MAX_RECORD_BYTES:
        raise ValueError(f"longer than {MAX_RECORD_BYTES:,} bytes: this is not an item")
    try:
        text, tags = data.decode("utf-8-sig"), set[str]()
    except UnicodeDecodeError:
        text, tags = data.decode("utf-8", "replace"), {BROKEN_TEXT}
    parsed = parse_leniently(text)
    if isinstance(parsed, RepeatedFields):
        tags.add(REPEATED_FIELD)
    return parsed, frozenset(tags)


def parse_leniently(text: str) -> Any:
    """Parse the JSON of published data; objects with duplicate fields become `RepeatedFields`."""
    try:
        return json.loads(text, object_pairs_hook=_parse_object, parse_int=_parse_integer)
    except RecursionError:
        raise ValueError("not valid JSON: nested too deep") from None
    except ValueError as error:
        raise ValueError(f"not valid JSON: {error}") from None


def _parse_integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_DIGITS else None


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else RepeatedFields(fields)


def free_name(text: str, taken: Collection[str]) -> str:
    """Return a valid item name that resembles a published text and is not taken."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip("._-")[:40] or "item"
    number = 1
    while (name := plain if number == 1 else f"{plain}-{number}") in taken:
        number += 1
    return name


class ItemForm(Protocol):
    """The fields of an item record that are specific to one kind of suite."""

    NEEDED: tuple[str, ...]
    OPTIONAL: tuple[str, ...]
    PROOF: tuple[str, ...]
    """Those that only show that the spec can be satisfied."""
    SPEC: type

    def fields_of(self, spec: Any, *, with_proof: bool) -> dict[str, Any]:
        """Return a spec as record fields; `with_proof` adds those that only prove satisfiability."""

    def spec_in(self, record: Record, suite: str, level: int, tags: tuple[str, ...]) -> Any | None:
        """Return the spec in the fields of a record; None, with findings, if they are not valid."""

    def canonical_text(self, spec: Any) -> str:
        """Return a spec as one text, for digests."""

    def build_spec(self, fields: dict[str, Any]) -> Any:
        """Return the spec in fields that are known to be valid, without checking them."""
