"""GenEval in lines of text: one item with its objects and formulas, and what many items are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.benchmarks.geneval.benchmark import BENCHMARKS
from formalimg.benchmarks.object_spec import ObjectSpec, translate
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.types import Item


def item_lines(item: Item[ObjectSpec]) -> Iterator[str]:
    """Yield the objects that an item asks for, and the formulas that say the same."""
    spec, level_names = item.spec, BENCHMARKS[0].level_names
    yield f"{item.suite}/{item.id}, {level_names.get(item.level, item.level)}\n\n{item.prompt}\n"
    yield from odd_meanings(item.tags)
    yield "objects"
    for one in spec.include:
        place = "" if one.target is None else f", {one.relation} {spec.include[one.target].label}"
        yield f"  {one.count} {' '.join(filter(None, (one.color, one.label)))}{place}"
    for absent in spec.exclude:
        yield f"  fewer than {absent.count} {absent.label}"
    yield "\nformulas"
    for clause in translate(spec):
        yield f"  {clause.kind:<9}  {clause.text}"


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return what an export says of items, with counts of what they ask for."""
    counts = Counter(one.label for item in items for one in item.spec.include)
    colored = sum(bool(one.color) for item in items for one in item.spec.include)
    placed = sum(one.target is not None for item in items for one in item.spec.include)
    notes = [
        f"{counts.total():,} requirements for objects of {len(counts)} classes.",
        f"{colored:,} name a colour, and {placed:,} a place relative to another object.",
    ]
    contents = MarkdownTable(("class", "requirements"), count_rows(sorted(counts.items())))
    return read_sheet(__package__, "objects", suite, contents, notes)
