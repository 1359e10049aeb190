"""Text output for question items: item details and item statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.types import Item


def item_lines(item: Item[QuestionSpec]) -> Iterator[str]:
    """Yield the questions of an item with their dependencies, or its formula."""
    spec = item.spec
    if spec.formula is not None:
        from formalimg.benchmarks.formal.texts import item_lines as formula_lines  # here, because few items have one

        yield from formula_lines(replace(item, spec=spec.formula))  # type: ignore[arg-type]  # another type of spec
        if not spec.questions:
            return
    else:
        yield f"{item.suite}/{item.id}\n\n{item.prompt}\n"
        yield from odd_meanings(item.tags)
    if spec.no_formula:
        yield f"no formula: {spec.no_formula}"
    yield f"questions{', zeroing direct' if spec.zeroing == 'direct' else ''}"
    for question in spec.questions:
        above = f"  (after {', '.join(question.parents)})" if question.parents else ""
        yield f"  {question.id:<4} {question.category:<10} {question.question}  {question.expected}{above}"


def census_lines(suite: str, items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield the number of questions by category."""
    categories = Counter(question.category for item in items for question in item.spec.questions)
    formulas = sum(item.spec.formula is not None for item in items)
    yield f"{len(items)} items of {suite}, {formulas} of them with a formula"
    yield f"{categories.total():,} questions" + (f": {counts_text(categories)}" if categories else "")


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return the datasheet for an export of items, with question counts by category."""
    counts = Counter(question.category for item in items for question in item.spec.questions)
    formulas = sum(item.spec.formula is not None for item in items)
    dependent = sum(bool(question.parents) for item in items for question in item.spec.questions)
    notes = [
        f"{counts.total():,} questions, {dependent:,} of which depend on others.",
        f"{formulas:,} items have a formula in place of questions.",
    ]
    contents = MarkdownTable(("category", "questions"), count_rows(sorted(counts.items())))
    return read_sheet(__package__, "questions", suite, contents, notes)
