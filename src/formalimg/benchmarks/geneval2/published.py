"""The published file of GenEval 2: JSON Lines with `prompt`, `atom_count`, `vqa_list` and `skills`.

Each pair in `vqa_list` is a question and its expected answer: yes, or a number in words for questions that ask how
many. The entry at the same position in `skills` is its category. An item's id is its line number, and its level is the
number of atoms. No question depends on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from formalimg._util.record_files import TableRecord, read_table
from formalimg.benchmarks.odd_records import DUPLICATE_PROMPT, FIELD_MALFORMED, ordered_tags
from formalimg.benchmarks.questions.graph_files import read_graphs
from formalimg.benchmarks.questions.spec import COUNT_WORDS, MAX_GRAPH_QUESTIONS, QuestionSpec
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item

FILE = "geneval2_data.jsonl"  # The name of the published file
_MAX_LEVEL = 1_000


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in the published file, or in a folder that contains it."""
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not (path / FILE).is_file() and len(files) != 1:
            findings.add(str(path), f"it holds no {FILE}: give the file")
            return []
        path = path / FILE if (path / FILE).is_file() else files[0]
    rows: dict[str, TableRecord] = {}
    for number, row in enumerate(read_table(path, findings.skip), 1):
        if isinstance(row.fields.get("vqa_list"), list) or row.text(("prompt",)):
            rows[str(number)] = row
        else:
            findings.skip(row.where, "it has neither prompt nor vqa_list")
    items = read_graphs([_graph_record(name, row) for name, row in rows.items()], suite, findings)
    prompts: set[str] = set()
    return [_complete_item(item, rows[item.id].fields, prompts) for item in items]


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Raise an error, because items cannot be written in the published format."""
    raise FormalimgError(f"{items[0].suite} has no writer for its published form: write its items as items.jsonl")


def _graph_record(name: str, row: TableRecord) -> TableRecord:
    questions = []
    for index, pair in enumerate(_list(row.fields, "vqa_list")[:MAX_GRAPH_QUESTIONS]):
        text, answer = pair if isinstance(pair, list) and len(pair) == 2 else (None, "")
        word = str(answer).strip().lower()
        if word.isascii() and word.isdigit() and int(word) < len(COUNT_WORDS):
            word = COUNT_WORDS[int(word)]
        skill = next(iter(_list(row.fields, "skills")[index : index + 1]), None)
        category = skill if isinstance(skill, str) else None
        question = text if isinstance(text, str) else None
        questions.append({"question": question, "expected": word or "unknown", "category": category})
    return row._replace(fields={"id": name, "prompt": row.fields.get("prompt"), "questions": questions})


def _complete_item(item: Item[QuestionSpec], fields: dict[str, Any], prompts: set[str]) -> Item[QuestionSpec]:
    """Return the item with its level, and with tags for what is odd about the record besides its questions."""
    odd = set(item.tags)
    pairs = _list(fields, "vqa_list")
    if len(_list(fields, "skills")) != len(pairs) or len(pairs) > MAX_GRAPH_QUESTIONS:
        odd.add(FIELD_MALFORMED)
    if item.prompt and item.prompt in prompts:
        odd.add(DUPLICATE_PROMPT)
    prompts.add(item.prompt)
    level = fields.get("atom_count")
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= _MAX_LEVEL:
        odd.add(FIELD_MALFORMED)
        # One of a thing is asked for, and is no atom.
        level = sum(question.expected != "one" for question in item.spec.questions)
    return replace(item, level=level, tags=ordered_tags(odd))


def _list(fields: dict[str, Any], name: str) -> list[Any]:
    entries = fields.get(name)
    return entries if isinstance(entries, list) else []
