"""Question graphs from third-party files, with one question or one item per record.

Fields may have various names (`FIELD_NAMES`). Odd records are tagged, and a record with neither item nor prompt is
skipped. The formats of published benchmarks are in `published.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from formalimg._util.record_files import TableRecord
from formalimg.benchmarks.items_file import is_number
from formalimg.benchmarks.odd_records import (
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
    clean_line,
    ordered_tags,
)
from formalimg.benchmarks.questions.spec import (
    COUNT_WORDS,
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

_NO_PARENTS = ("0", "none", "-")  # Unless a question is called so


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
        if name:
            graphs.setdefault(name, _Graph(name, row.where, zeroing)).add(row, nested)
        else:
            findings.skip(row.where, "it has neither item nor prompt")
    items: dict[str, Item[QuestionSpec]] = {}
    are_numbers = sum(map(is_number, graphs)) * 2 > len(graphs)
    for graph in graphs.values():
        questions = graph.questions()
        problem = find_graph_problem(questions, maximum=MAX_GRAPH_QUESTIONS, zeroing="direct") if questions else None
        if problem is not None:
            findings.skip(graph.where, problem)
            continue
        name = graph.name
        if Record(graph.where, {"id": name}, ItemFindings()).name("id") is None or is_number(name) != are_numbers:
            graph.odd.add(ODD_NAME)
            name = free_name(name, items)
        spec = QuestionSpec(questions).with_zeroing(graph.zeroing)
        items[name] = Item(suite, name, 1, graph.prompt, spec, (*graph.tags, *ordered_tags(graph.odd)))
    return list(items.values())


@dataclass
class _Graph:
    """The records of one item, whose irregularities become tags."""

    name: str
    where: str
    zeroing: Zeroing
    prompt: str = ""
    rows: list[TableRecord] = field(default_factory=list)
    odd: set[str] = field(default_factory=set)
    tags: list[str] = field(default_factory=list)

    def add(self, row: TableRecord, nested: Any) -> None:
        prompt = clean_line(row.text(FIELD_NAMES["prompt"]), self.odd)
        if self.prompt and prompt and prompt != self.prompt:
            self.odd.add(PROMPTS_DIFFER)
        self.prompt = self.prompt or prompt
        rule = row.text(FIELD_NAMES["zeroing"]).lower()
        if rule in ("direct", "transitive"):
            self.zeroing = cast(Zeroing, rule)
        elif rule:
            self.odd.add(FIELD_MALFORMED)
        tags = row.first(FIELD_NAMES["tags"])
        for tag in tags if isinstance(tags, list) else [tags]:
            if isinstance(tag, str) and tag.strip() and tag.strip().isprintable() and tag.strip() not in self.tags:
                self.tags.append(tag.strip())
        if nested is None:
            self.rows.append(row)
        elif isinstance(nested, list):
            entries = (entry if isinstance(entry, dict) else {"question": entry} for entry in nested)
            self.rows += [TableRecord.of(row.where, entry) for entry in entries]
        else:
            self.odd.add(FIELD_MALFORMED)

    def questions(self) -> tuple[GraphQuestion, ...]:
        rows: dict[str, TableRecord] = {}
        read: list[GraphQuestion] = []
        for number, row in enumerate(self.rows, 1):
            words = clean_line(row.text(FIELD_NAMES["question"]), self.odd)
            if not words or len(words) > MAX_QUESTION_LENGTH:
                self.odd.add(EMPTY_QUESTION)
                continue
            name = clean_line(row.text((*FIELD_NAMES["id"], "id")) or str(number), self.odd)
            if name in rows:
                self.odd.add(DUPLICATE_QUESTION)
                name = free_name(name, rows)
            rows[name] = row
            category = clean_line(row.text(FIELD_NAMES["category"]).lower() or "other", self.odd)
            read.append(GraphQuestion(name, words, (), self._expected(row), category, self._weight(row)))
        questions = tuple(replace(question, parents=self._parents(rows[question.id], rows)) for question in read)
        if not questions:
            self.odd.add(NO_QUESTIONS)
        if without_circles(questions) != questions:
            self.odd.add(CIRCULAR_PARENTS)
        if not self.prompt:
            self.odd.add(NO_PROMPT)
        return questions

    def _expected(self, row: TableRecord) -> ExpectedAnswer:
        value = row.first(FIELD_NAMES["expected"])
        answer = "yes" if value is None else str(value).strip().lower().rstrip(".")
        if answer in COUNT_WORDS:
            return cast(ExpectedAnswer, answer)
        if answer in ("no", "false", "0"):
            return "no"
        if answer not in ("yes", "true", "1"):
            self.odd.add(EXPECTED_UNKNOWN)
        return "yes"

    def _weight(self, row: TableRecord) -> float:
        value = row.first(FIELD_NAMES["weight"])
        try:
            weight = 1.0 if value is None else float(value)
        except (TypeError, ValueError):
            weight = 0.0
        if 0 < weight <= MAX_WEIGHT:
            return weight
        self.odd.add(QUESTION_MENDED)
        return 1.0

    def _parents(self, row: TableRecord, questions: Mapping[str, object]) -> tuple[str, ...]:
        value = row.first(FIELD_NAMES["parents"])
        names = value if isinstance(value, list) else re.split(r"[,;\s]+", str(value)) if value is not None else []
        stripped = dict.fromkeys(str(part).strip() for part in names)
        if any(name and name not in questions and name.lower() not in _NO_PARENTS for name in stripped):
            self.odd.add(UNKNOWN_PARENT)
        return tuple(name for name in stripped if name in questions)
