"""DrawBench as a table with one prompt and category per row, in CSV, TSV, JSON Lines or JSON.

Columns are `prompt` or `Prompts`, `category` or `Category`, and optionally `id`; without it, an item's id is its row
number, from 1. Prompts of Colors, Counting and Positional are parsed into formulas, and those of Text into their quoted
strings; any other prompt, or one that cannot be parsed, becomes a single question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import write_folder
from formalimg._util.record_files import read_table
from formalimg._util.text import csv_table
from formalimg.benchmarks.drawbench.benchmark import BY_FORMULA, BY_TEXT, CATEGORIES, find_category
from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import QuestionSpec, text_questions, whole_question
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.language.quoted_text import find_quoted_texts
from formalimg.models.folder.file_matching import (
    CandidateFile,
    FolderImage,
    FolderListing,
    ItemIndex,
    is_any_image,
    short_name,
)
from formalimg.models.folder.layouts import ImageLayout
from formalimg.types import Item

_FILE = "prompts.csv"


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a table, or in the `prompts.csv` of a folder."""
    items: dict[str, Item[Any]] = {}
    for number, row in enumerate(read_table(path / _FILE if path.is_dir() else path, findings.skip), 1):
        prompt, category = row.text(("prompt", "prompts")), find_category(row.text(("category",)))
        name = row.text(("id",)) or str(number)
        if not prompt or category is None:
            findings.skip(row.where, f"it needs a prompt, and a category: {', '.join(CATEGORIES)}")
        elif name in items:
            findings.skip(row.where, f"there is another item {name}")
        else:
            level, spec = CATEGORIES.index(category) + 1, read_prompt(prompt, category)
            items[name] = Item(suite, name, level, prompt, spec, (category.lower(),))
    return list(items.values())


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Write the prompts and their categories as a CSV table."""
    rows = ((item.id, CATEGORIES[item.level - 1], item.prompt) for item in items)
    write_folder(folder, {_FILE: csv_table([("id", "category", "prompt"), *rows])})


def read_prompt(prompt: str, category: str) -> QuestionSpec:
    """Return the spec by which a prompt of a category is judged."""
    if category in BY_TEXT and (texts := find_quoted_texts(prompt)):
        return QuestionSpec(text_questions(texts))
    if category not in BY_FORMULA:
        return QuestionSpec(whole_question(prompt), no_formula=f"prompts of {category} ask for more")
    spec = read_formula(prompt, coco_classes().words)
    return spec if isinstance(spec, QuestionSpec) else QuestionSpec(whole_question(prompt), no_formula=str(spec))


# --- image folders of several models: `Colors/12/sd-1.4_0.jpg`, by category, item, model and seed

_PATH = re.compile(
    r"(?:.*/)?(?P<category>[^/]+)/(?P<item>[^/]+)/(?P<model>[^/]+)_(?P<seed>\d{1,12})\.(?:png|jpe?g|webp)",
    re.IGNORECASE,
)


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield the candidate files, numbering the samples of an item by ascending seed."""
    parsed = {file: _parse_path(file) for file in folder.files if is_any_image(file)}
    models = list(dict.fromkeys(match["model"] for match in parsed.values() if match))
    if len(models) > 1:
        names = ", ".join(map(short_name, models[:3])) + (" …" if len(models) > 3 else "")
        raise FormalimgError(
            f"{folder.path} holds the images of {len(models)} models ({names}): give -M files='*/{models[0]}_*'"
        )
    seeds: dict[str, list[int]] = {}
    for path in filter(None, parsed.values()):
        seeds.setdefault(path["item"], []).append(int(path["seed"]))
    for file, match in parsed.items():
        item = index.item_numbered(match["item"]) if match else None
        image = FolderImage(item, sorted(seeds[match["item"]]).index(int(match["seed"]))) if match and item else None
        yield CandidateFile(file, image)


def _parse_path(file: str) -> re.Match[str] | None:
    match = _PATH.fullmatch(file)
    return match if match and find_category(match["category"]) else None


LAYOUT = ImageLayout("drawbench", lambda folder: any(map(_parse_path, folder.files)), image_candidates)
