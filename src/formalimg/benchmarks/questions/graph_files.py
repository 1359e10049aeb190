"""Question graphs from third-party files, with one question or one item per record.

Names of fields are forgiving (`FIELD_NAMES`), and so is everything else: what is odd is tagged, and only a record that
has neither item nor prompt is skipped. The formats of published benchmarks are in `published.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from formalimg._util.record_files import TableRecord
from formalimg.benchmarks.items_file import is_number
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    CIRCULAR_PARENTS,
    DUPLICATE_QUESTION,
    EMPTY_QUESTION,
    EXPECTED_UNKNOWN,
    FIELD_MALFORMED,
    NO_PROMPT,
    NO_QUESTIONS,
    ODD_NAME,
    PROMPTS_DIFFER,
    QUESTION_MENDED,
    UNKNOWN_PARENT,
    clean_text,
    ordered_tags,
)
from formalimg.benchmarks.questions.spec import (
    MAX_GRAPH_QUESTIONS,
    MAX_QUESTION_LENGTH,
    MAX_WEIGHT,
    ExpectedAnswer,
    GraphQuestion,
    QuestionSpec,
    Zeroing,
    find_graph_problem,
    without_circles,
)
from formalimg.benchmarks.record import ItemFindings, Record, free_name
from formalimg.types import Item

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "prompt_id", "image_id"),
    "prompt": ("prompt", "text", "caption"),
    "question": ("question", "question_natural_language", "question_text"),
    "id": ("question_id", "proposition_id", "qid"),
    "parents": ("parents", "parent", "dependency", "dependencies", "depends_on"),
    "expected": ("expected", "expected_answer", "gold_answer"),
    "category": ("category", "category_broad", "question_type", "type"),
    "weight": ("weight",),
    "zeroing": ("zeroing",),
    "tags": ("tags", "tag", "split"),
}
"""The names under which each field of a question is found, the first that is there. Where a record has an item, `id` is
the id of the question as well; where it has `questions`, a list, `id` is the item."""

_LEVEL = 1
_NONE = ("0", "none", "-")  # What stands for no parents, unless a question is called so


@dataclass
class _Graph:
    """The records collected for one item."""

    name: str
    where: str
    prompt: str = ""
    rows: list[TableRecord] = field(default_factory=list)
    odd: set[str] = field(default_factory=set)
    tags: list[str] = field(default_factory=list)
    zeroing: Zeroing = "transitive"


def is_question_table(rows: Sequence[TableRecord]) -> bool:
    """Return whether the records include both questions and prompts."""
    has_questions = any(row.first(FIELD_NAMES["question"]) or "questions" in row.fields for row in rows)
    return has_questions and any(row.text(FIELD_NAMES["prompt"]) for row in rows)


def read_graphs(
    rows: Sequence[TableRecord], suite: str, findings: ItemFindings, zeroing: Zeroing = "transitive"
) -> list[Item[QuestionSpec]]:
    """Return the items in the records of a file."""
    graphs: dict[str, _Graph] = {}
    for row in rows:
        nested = row.fields.get("questions")
        names = (*FIELD_NAMES["item"], "id") if nested is not None else FIELD_NAMES["item"]
        name = row.text(names) or row.text(FIELD_NAMES["prompt"])
        if not name:
            findings.skip(row.where, "it has neither item nor prompt")
            continue
        graph = graphs.setdefault(name, _Graph(name, row.where, zeroing=zeroing))
        _add_item_fields(graph, row)
        if nested is None:
            graph.rows.append(row)
        elif isinstance(nested, list):
            entries = (entry if isinstance(entry, dict) else {"question": entry} for entry in nested)
            graph.rows += [TableRecord.of(row.where, entry) for entry in entries]
        else:
            graph.odd.add(FIELD_MALFORMED)
    items: list[Item[QuestionSpec]] = []
    ids: set[str] = set()
    numbers = sum(map(is_number, graphs)) * 2 > len(graphs)
    for graph in graphs.values():
        item = _build_item(graph, suite, ids, numbers, findings)
        if item is not None:
            ids.add(item.id)
            items.append(item)
    return items


def _add_item_fields(graph: _Graph, row: TableRecord) -> None:
    prompt, broken = _one_line(row.text(FIELD_NAMES["prompt"]))
    if broken:
        graph.odd.add(BROKEN_TEXT)
    if graph.prompt and prompt and prompt != graph.prompt:
        graph.odd.add(PROMPTS_DIFFER)
    graph.prompt = graph.prompt or prompt
    rule = row.text(FIELD_NAMES["zeroing"]).lower()
    if rule in ("direct", "transitive"):
        graph.zeroing = cast(Zeroing, rule)
    elif rule:
        graph.odd.add(FIELD_MALFORMED)
    value = row.first(FIELD_NAMES["tags"])
    for tag in value if isinstance(value, list) else [value]:
        if isinstance(tag, str) and tag.strip() and tag.strip().isprintable() and tag.strip() not in graph.tags:
            graph.tags.append(tag.strip())


def _build_item(
    graph: _Graph, suite: str, ids: set[str], numbers: bool, findings: ItemFindings
) -> Item[QuestionSpec] | None:
    questions = _questions_of(graph)
    problem = find_graph_problem(questions, most=MAX_GRAPH_QUESTIONS, zeroing="direct") if questions else None
    if problem is not None:
        findings.skip(graph.where, problem)
        return None
    if not questions:
        graph.odd.add(NO_QUESTIONS)
    if without_circles(questions) != tuple(questions):
        graph.odd.add(CIRCULAR_PARENTS)
    if not graph.prompt:
        graph.odd.add(NO_PROMPT)
    name = graph.name
    if Record(graph.where, {"id": name}, ItemFindings()).name("id") is None or is_number(name) != numbers:
        graph.odd.add(ODD_NAME)
        name = free_name(name, ids)
    spec = QuestionSpec(tuple(questions)).with_zeroing(graph.zeroing)
    tags = (*graph.tags, *ordered_tags(graph.odd))
    return Item(suite, name, _LEVEL, graph.prompt, spec, tags)


def _questions_of(graph: _Graph) -> list[GraphQuestion]:
    """Return the questions of an item, tagging any problems found."""
    questions: dict[str, tuple[GraphQuestion, TableRecord]] = {}
    for number, row in enumerate(graph.rows, 1):
        words, broken = _one_line(row.text(FIELD_NAMES["question"]))
        if not words or len(words) > MAX_QUESTION_LENGTH:
            graph.odd.add(EMPTY_QUESTION)
            continue
        name, odd_name = _one_line(row.text((*FIELD_NAMES["id"], "id")) or str(number))
        category, odd_category = _one_line(row.text(FIELD_NAMES["category"]).lower() or "other")
        if broken or odd_name or odd_category:
            graph.odd.add(BROKEN_TEXT)
        if name in questions:
            graph.odd.add(DUPLICATE_QUESTION)
            name = free_name(name, questions)
        weight = _read_weight(row.first(FIELD_NAMES["weight"]), graph)
        questions[name] = (GraphQuestion(name, words, (), _read_expected(row, graph), category, weight), row)
    return [
        replace(question, parents=_read_parents(row, set(questions), graph)) for question, row in questions.values()
    ]


def _read_expected(row: TableRecord, graph: _Graph) -> ExpectedAnswer:
    value = row.first(FIELD_NAMES["expected"])
    words = "yes" if value is None else ("yes" if value else "no") if isinstance(value, bool) else str(value)
    answer = words.strip().lower().rstrip(".")
    if answer in ("no", "false", "0"):
        return "no"
    if answer not in ("yes", "true", "1"):
        graph.odd.add(EXPECTED_UNKNOWN)
    return "yes"


def _read_weight(value: Any, graph: _Graph) -> float:
    try:
        weight = 1.0 if value is None else float(value)
    except (TypeError, ValueError):
        weight = 0.0
    if 0 < weight <= MAX_WEIGHT:
        return weight
    graph.odd.add(QUESTION_MENDED)
    return 1.0


def _read_parents(row: TableRecord, ids: set[str], graph: _Graph) -> tuple[str, ...]:
    """Return the existing parents of a question, tagging unknown ones."""
    value = row.first(FIELD_NAMES["parents"])
    names = value if isinstance(value, list) else re.split(r"[,;\s]+", str(value)) if value is not None else []
    parents: dict[str, None] = {}
    for name in (str(part).strip() for part in names):
        if name in ids:
            parents[name] = None
        elif name and name.lower() not in _NONE:
            graph.odd.add(UNKNOWN_PARENT)
    return tuple(parents)


def _one_line(text: str) -> tuple[str, bool]:
    """Return a text with unprintable characters replaced, and whether any were."""
    if text.isprintable():  # as almost all are; half characters are not
        return text, False
    clean, broken = clean_text(text)
    printable = "".join(letter if letter.isprintable() else "\ufffd" for letter in clean)
    return printable, broken or printable != clean
