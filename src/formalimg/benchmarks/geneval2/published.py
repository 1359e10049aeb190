"""The published file of GenEval 2: JSON Lines with `prompt`, `atom_count`, `vqa_list` and `skills`.

Each pair of `vqa_list` is a question and the answer that is good: yes, or a number in words where it asks how many. The
skill at the same place of `skills` is its category. An item is called by the number of its line, and its level is the
number of atoms. No question depends on another.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from formalimg._util.record_files import TableRecord, read_table
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    DUPLICATE_PROMPT,
    EMPTY_QUESTION,
    EXPECTED_UNKNOWN,
    FIELD_MALFORMED,
    NO_PROMPT,
    NO_QUESTIONS,
    clean_text,
    ordered_tags,
)
from formalimg.benchmarks.questions.spec import (
    COUNT_WORDS,
    MAX_GRAPH_QUESTIONS,
    MAX_QUESTION_LENGTH,
    ExpectedAnswer,
    GraphQuestion,
    QuestionSpec,
)
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item

FILE = "geneval2_data.jsonl"  # The name of the published file
_MAX_LEVEL = 1_000


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in the published file, or in a folder that contains it."""
    file = _data_file(path) if path.is_dir() else path
    if file is None:
        findings.add(str(path), f"it holds no {FILE}: give the file")
        return []
    items = []
    prompts: set[str] = set()
    for number, row in enumerate(read_table(file, findings.skip), 1):
        if not isinstance(row.fields.get("vqa_list"), list) and not row.text(("prompt",)):
            findings.skip(row.where, "it has neither prompt nor vqa_list")
            continue
        item = _read_item(row, str(number), suite, prompts)
        prompts.add(item.prompt)
        items.append(item)
    return items


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Raise an error, because items cannot be written in the published format."""
    raise FormalimgError(f"{items[0].suite} is not written in its published form: write its items as items.jsonl")


def _data_file(folder: Path) -> Path | None:
    if (folder / FILE).is_file():
        return folder / FILE
    files = sorted(folder.glob("*.jsonl"))
    return files[0] if len(files) == 1 else None


def _read_item(row: TableRecord, name: str, suite: str, prompts: set[str]) -> Item[QuestionSpec]:
    odd: set[str] = set()
    prompt = _clean_line(row.text(("prompt",)), odd)
    questions = tuple(_read_questions(row, odd))
    if not prompt:
        odd.add(NO_PROMPT)
    elif prompt in prompts:
        odd.add(DUPLICATE_PROMPT)
    if not questions:
        odd.add(NO_QUESTIONS)
    level = row.fields.get("atom_count")
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= _MAX_LEVEL:
        odd.add(FIELD_MALFORMED)
        # One of a thing is asked for, and is no atom.
        level = sum(question.expected != "one" for question in questions)
    return Item(suite, name, level, prompt, QuestionSpec(questions), ordered_tags(odd))


def _read_questions(row: TableRecord, odd: set[str]) -> list[GraphQuestion]:
    pairs, skills = row.fields.get("vqa_list"), row.fields.get("skills")
    pairs = pairs if isinstance(pairs, list) else []
    skills = skills if isinstance(skills, list) else []
    if len(skills) != len(pairs) or len(pairs) > MAX_GRAPH_QUESTIONS:
        odd.add(FIELD_MALFORMED)
    questions = []
    for index, pair in enumerate(pairs[:MAX_GRAPH_QUESTIONS]):
        text, answer = pair if isinstance(pair, list) and len(pair) == 2 else ("", "")
        words = _clean_line(" ".join(text.split()), odd) if isinstance(text, str) else ""
        if not words or len(words) > MAX_QUESTION_LENGTH:
            odd.add(EMPTY_QUESTION)
            continue
        skill = skills[index] if index < len(skills) else None
        category = _clean_line(skill.strip().lower(), odd) if isinstance(skill, str) else ""
        questions.append(
            GraphQuestion(str(index + 1), words, (), _read_expected(answer, odd), category or "other"),
        )
    return questions


def _read_expected(answer: object, odd: set[str]) -> ExpectedAnswer:
    """Parse the expected answer: yes, no, or a number in words or digits."""
    word = str(answer).strip().lower()
    if word.isascii() and word.isdigit() and int(word) < len(COUNT_WORDS):
        word = COUNT_WORDS[int(word)]
    if word not in get_args(ExpectedAnswer):
        odd.add(EXPECTED_UNKNOWN)
        return "yes"
    return cast(ExpectedAnswer, word)


def _clean_line(text: str, odd: set[str]) -> str:
    """Return a text with unprintable characters replaced, and tag it if any were found."""
    if text.isprintable():
        return text
    clean, _ = clean_text(text)
    odd.add(BROKEN_TEXT)
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in clean)
