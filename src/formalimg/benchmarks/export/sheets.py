"""The sheet of a benchmark: what an export says of its items, besides what it says of all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple


class MarkdownTable(NamedTuple):
    """Rows under a heading; the first column holds names, the others counts."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Datasheet(NamedTuple):
    """What an export says of items."""

    contents: MarkdownTable  # what they ask for, in the terms of the suite
    notes: tuple[str, ...] = ()  # further facts, one sentence each
    texts: Mapping[str, Any] = {}  # the answers of the data sheet that are the benchmark's own, by name
    fields: Sequence[Mapping[str, Any]] = ()  # the fields of its records, as Croissant describes them
    as_published: Sequence[str] = ()  # what else was done to published files


def read_sheet(package: str, section: str, suite: str, contents: MarkdownTable, notes: Iterable[str]) -> Datasheet:
    """Return the sheet of a suite, with texts and fields from files.

    They are in `texts.toml` and `fields.toml` here, or in `datasheet.toml` in the folder of the benchmark.
    """
    known, fields = shared_texts(), shared_fields()
    own = files(package) / "datasheet.toml"
    if own.is_file():
        more = _read(own)
        known = {**known, **more}
        fields = {**fields, **more["fields"]}
    return Datasheet(
        contents,
        tuple(notes),
        {**known["kinds"][section], **known.get("suites", {}).get(suite, {})},
        fields[section],
        known["as_published"].get(suite, ()),
    )


@cache
def shared_texts() -> dict[str, Any]:
    """Return the texts that are for all benchmarks, or for several."""
    return _read(files(__package__) / "texts.toml")


@cache
def shared_fields() -> dict[str, list[dict[str, Any]]]:
    """Return descriptions of the fields of records, by section; those of all records under `all`."""
    return _read(files(__package__) / "fields.toml")


def _read(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def count_rows(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, ...], ...]:
    """Return names with their counts as rows of a table."""
    return tuple((name, f"{count:,}") for name, count in counts)
