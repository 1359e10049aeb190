"""DrawBench as a table with one prompt and category per row, in CSV, TSV, JSON Lines or JSON.

Columns are `prompt` or `Prompts`, `category` or `Category`, and `id` if there is one; else an item is named by its
number in the table, from 1. Prompts of Colors, Counting and Positional are read as formulas, those of Text by their
quotes; all others, and those that cannot be read so, are asked as one question.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import atomic_write_text
from formalimg._util.record_files import TableRecord, read_table
from formalimg.benchmarks.drawbench.benchmark import BY_FORMULA, BY_TEXT, CATEGORIES, find_category
from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import QuestionSpec, text_questions, whole_question
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.language.quoted_text import find_quoted_texts
from formalimg.types import Item

_FILE = "prompts.csv"


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a table, or in the `prompts.csv` of a folder."""
    items: dict[str, Item[Any]] = {}
    for number, row in enumerate(read_table(path / _FILE if path.is_dir() else path, findings.skip), 1):
        item = _read_row(row, number, suite, findings)
        if item is not None and item.id in items:
            findings.skip(row.where, f"there is another item {item.id}")
        elif item is not None:
            items[item.id] = item
    return list(items.values())


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Write the prompts and their categories as a CSV table."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise FormalimgError(f"{folder} is not empty: choose a folder that does not exist yet")
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("id", "category", "prompt"))
    rows.writerows((item.id, CATEGORIES[item.level - 1], item.prompt) for item in items)
    atomic_write_text(folder / _FILE, text.getvalue())


def read_prompt(prompt: str, category: str) -> QuestionSpec:
    """Return the spec by which a prompt of a category is judged."""
    if category in BY_TEXT and (texts := find_quoted_texts(prompt)):
        return QuestionSpec(text_questions(texts))
    if category not in BY_FORMULA:
        return QuestionSpec(whole_question(prompt), no_formula=f"prompts of {category} ask for more")
    spec = read_formula(prompt, coco_classes().words)
    return spec if isinstance(spec, QuestionSpec) else QuestionSpec(whole_question(prompt), no_formula=str(spec))


def _read_row(row: TableRecord, number: int, suite: str, findings: ItemFindings) -> Item[Any] | None:
    prompt, category = row.text(("prompt", "prompts")), find_category(row.text(("category",)))
    if not prompt or category is None:
        findings.skip(row.where, f"it needs a prompt, and a category: {', '.join(CATEGORIES)}")
        return None
    level, spec = CATEGORIES.index(category) + 1, read_prompt(prompt, category)
    return Item(suite, row.text(("id",)) or str(number), level, prompt, spec, (category.lower(),))
