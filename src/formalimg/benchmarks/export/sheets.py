"""The data sheet of a benchmark: the parts of an export's documentation that are specific to it."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Any, NamedTuple

from formalimg.benchmarks.hooks import format_level
from formalimg.benchmarks.loader import instruction_digest
from formalimg.benchmarks.registry import suite
from formalimg.types import Benchmark, Item


class MarkdownTable(NamedTuple):
    """Rows under a heading, with names in the first column and counts in the others."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Datasheet(NamedTuple):
    """The benchmark-specific texts, fields and counts in the documents of an export."""

    contents: MarkdownTable  # what they ask for, in the terms of the suite
    notes: tuple[str, ...] = ()  # further facts, one sentence each
    texts: Mapping[str, Any] = {}  # the answers of the data sheet that are the benchmark's own, by name
    fields: Sequence[Mapping[str, Any]] = ()  # the fields of its records, as Croissant describes them
    as_published: Sequence[str] = ()  # what else was done to published files


def read_sheet(package: str, section: str, suite: str, contents: MarkdownTable, notes: Iterable[str]) -> Datasheet:
    """Return the data sheet of a suite, with texts and fields read from files.

    They are in `texts.toml` and `fields.toml` here, or in `datasheet.toml` in the folder of the benchmark.
    """
    texts, fields = shared_texts(), shared_fields()
    file = files(package) / "datasheet.toml"
    if file.is_file():
        more = tomllib.loads(file.read_text(encoding="utf-8"))
        texts = {**texts, **more}
        fields = {**fields, **more["fields"]}
    return Datasheet(
        contents,
        tuple(notes),
        {**texts["kinds"][section], **texts.get("suites", {}).get(suite, {})},
        fields[section],
        texts["as_published"].get(suite, ()),
    )


@cache
def shared_texts() -> dict[str, Any]:
    """Return the texts shared by several or all benchmarks."""
    return tomllib.loads((files(__package__) / "texts.toml").read_text(encoding="utf-8"))


@cache
def shared_fields() -> dict[str, list[dict[str, Any]]]:
    """Return descriptions of record fields by section; those shared by all records are under `all`."""
    return tomllib.loads((files(__package__) / "fields.toml").read_text(encoding="utf-8"))


def count_rows(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, ...], ...]:
    """Return names with their counts as table rows."""
    return tuple((name, f"{count:,}") for name, count in counts)


class ItemStatistics(NamedTuple):
    """Counts of levels, tags and contents over a set of items."""

    suite: Benchmark
    items: int
    version: str  # empty if the items carry none, or several
    digest: str  # of the instructions
    distinct: int  # number of different prompts
    levels: MarkdownTable  # items and words of a prompt for each level
    tags: MarkdownTable | None  # items for each set of tags; None if no item has any
    sheet: Datasheet


def count_items(name: str, items: Sequence[Item[Any]]) -> ItemStatistics:
    """Count the levels, tags and contents of a suite's items."""
    benchmark = suite(name)
    versions = {item.version for item in items}
    levels = _level_table(benchmark, items)
    return ItemStatistics(
        benchmark,
        len(items),
        versions.pop() if len(versions) == 1 else "",
        instruction_digest(items),
        len({item.prompt for item in items}),
        levels,
        _tag_table(items),
        benchmark.datasheet(items) or Datasheet(levels),
    )


def _level_table(benchmark: Benchmark, items: Sequence[Item[Any]]) -> MarkdownTable:
    words: dict[int, list[int]] = {}
    for item in items:
        words.setdefault(item.level, []).append(len(item.prompt.split()))
    rows = (
        (
            format_level(benchmark, level),
            f"{len(lengths):,}",
            str(min(lengths)),
            f"{median(lengths):g}",
            str(max(lengths)),
        )
        for level, lengths in sorted(words.items())
    )
    return MarkdownTable(("level", "items", "fewest words", "median", "most words"), tuple(rows))


def _tag_table(items: Sequence[Item[Any]]) -> MarkdownTable | None:
    counts = Counter(", ".join(item.tags) for item in items)
    if set(counts) == {""}:
        return None
    return MarkdownTable(("tags", "items"), count_rows((tags or "none", counts[tags]) for tags in sorted(counts)))
