"""Read one's own questions from a file: JSON Lines, CSV, JSON, or plain lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from formalimg._util.record_files import read_records
from formalimg.benchmarks.questions.spec import MAX_WEIGHT, ExpectedAnswer, GraphQuestion, find_graph_problem
from formalimg.errors import FormalimgError

_FIELDS = ("question", "id", "parents", "expected", "category", "weight")


def read_questions(path: str | Path) -> tuple[GraphQuestion, ...]:
    """Return the questions in a file.

    A `.jsonl` file has one object per line, a `.json` file a list of them, a `.csv` file a heading; the fields are
    `question`, and optionally `id` (by default the number of the question), `parents` (ids; in CSV separated by
    blanks), `expected` (yes or no), `category` and `weight`. Any other file has one question per line.
    """
    place = Path(path)
    questions = tuple(
        question_of(record, number, f"{place}, question {number}")
        for number, record in enumerate(read_records(place, "question"), 1)
    )
    problem = find_graph_problem(questions)
    if problem is not None:
        raise FormalimgError(f"{place}: {problem}: fix the file")
    return questions


def question_of(record: Mapping[str, Any], number: int, where: str) -> GraphQuestion:
    """Return the question in a record."""
    unknown = next((str(name) for name in record if name not in _FIELDS), None)
    if unknown is not None:
        raise FormalimgError(f"{where}: unknown field {unknown[:40]!r}: known are {', '.join(_FIELDS)}")
    parents = record.get("parents", ())
    if isinstance(parents, str):
        parents = parents.replace(",", " ").split()
    expected = str(record.get("expected", "yes")).strip().lower()
    words = " ".join(str(record.get("question", "")).split())
    name, category = str(record.get("id", number)).strip(), str(record.get("category", "other")).strip() or "other"
    if not words:
        raise FormalimgError(f"{where}: it has no words: give a question")
    if not (words + name + category).isprintable():
        raise FormalimgError(f"{where}: it holds characters that cannot be shown: take them out")
    if expected not in ("yes", "no"):
        raise FormalimgError(f"{where}: expected is {expected[:40]!r}: give yes or no")
    if not isinstance(parents, list | tuple):
        raise FormalimgError(f"{where}: parents must be a list of ids")
    try:
        weight = float(record.get("weight", 1))
    except (TypeError, ValueError):
        weight = 0.0
    if not 0 < weight <= MAX_WEIGHT:
        raise FormalimgError(f"{where}: weight must be a number above 0, of at most {MAX_WEIGHT:g}")
    return GraphQuestion(
        name,
        words,
        tuple(str(parent).strip() for parent in parents),
        cast(ExpectedAnswer, expected),
        category,
        weight,
    )
