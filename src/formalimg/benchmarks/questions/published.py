"""Question-graph files: the published benchmarks' formats, recognized by their fields, and generic tables.

A format says only what differs from `graph_files.py`, which reads all others by generic names: the fields by which its
files are known, the rule of its scores, and its records under the names of `FIELD_NAMES`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.record_files import TableRecord, read_table
from formalimg.benchmarks.questions.graph_files import is_question_table, read_graphs
from formalimg.benchmarks.questions.spec import Zeroing
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item

FIRST_ROW = "first-row"
"""The tag of the item whose first question is the first row of a DPG file, which the published code skips."""

_NAME_AND_NUMBER = re.compile(r"\w+_\d+")
_ENOUGH = 100  # How many records tell the format of a file


class QuestionFormat(NamedTuple):
    """The format of the question files of a benchmark."""

    name: str  # the benchmark
    columns: frozenset[str]  # the fields that its files have, and others do not
    zeroing: Zeroing  # which parents fail a question, by the authors' code
    # returns the records of a file under the names of `FIELD_NAMES`
    read: Callable[[Sequence[TableRecord], Path], Iterable[TableRecord]]
    in_parts: bool = False  # whether several files of a folder make up the benchmark
    # whether records that have the columns are of this benchmark
    fits: Callable[[Sequence[TableRecord]], bool] = lambda rows: True


def find_format(rows: Sequence[TableRecord]) -> QuestionFormat | None:
    """Return the published format that matches the records, or None."""
    first = rows[:_ENOUGH]
    columns = set().union(*(row.fields for row in first))
    return next(
        (known_format for known_format in FORMATS if known_format.columns <= columns and known_format.fits(first)), None
    )


def dsg_split(item: str) -> str:
    """Return the DSG-1k split of an item: `tifa160` for `tifa160_7`."""
    return item.rpartition("_")[0]


def _read_dsg(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    for row in rows:
        yield row._replace(fields={**row.fields, "tags": dsg_split(str(row.fields.get("item_id", "")))})


def _read_dpg(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    for index, row in enumerate(rows):
        # The first word of the tuple is the category that the published code goes by.
        category = str(row.fields.get("tuple", "")).partition("(")[0].partition("-")[0].strip()
        tags = {"tags": FIRST_ROW} if index == 0 else {}
        yield row._replace(fields={**row.fields, **({"category": category} if category else {}), **tags})


def _read_oneig(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    part = path.stem.removesuffix("_zh")
    prompts = _oneig_prompts(path, part)
    for row in rows:
        name = str(row.fields.get("id", ""))
        texts, above = (_oneig_mapping(row.fields.get(field)) for field in ("question", "dependency"))
        questions = [{"id": key, "question": text, "parents": above.get(key)} for key, text in texts.items()]
        fields = {"id": f"{part}-{name}", "prompt": prompts.get(name, ""), "questions": questions, "tags": part}
        yield row._replace(fields=fields)


def _oneig_mapping(entry: Any) -> dict[str, Any]:
    """Return a mapping with string keys, decoded from JSON text if necessary."""
    if isinstance(entry, str):
        try:
            entry = json.loads(entry)
        except (ValueError, RecursionError):
            entry = None
    return {str(key): value for key, value in entry.items()} if isinstance(entry, dict) else {}


_ONEIG_PARTS = {"anime": "anime", "human": "portrait", "object": "object"}
"""The word in the category of a prompt, by the file of its questions."""


def _oneig_prompts(path: Path, part: str) -> dict[str, str]:
    """Return the prompts by id, from the prompt table at the root of the benchmark's repository."""
    language = "zh" if path.stem.endswith("_zh") else "en"
    tables = ("OneIG-Bench-ZH.csv",) if language == "zh" else ("OneIG-Bench.csv",)
    table = next(
        (candidate for folder in path.parents[:4] for name in tables if (candidate := folder / name).is_file()), None
    )
    if table is None:
        return {}
    word = _ONEIG_PARTS.get(part, part)
    fields = (f"prompt_{language}", "prompt_cn", "prompt")
    return {
        row.text(("id",)): row.text(fields)
        for row in read_table(table, lambda location, reason: None)
        if word in row.text(("category",)).lower()
    }


def _read_tiif(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    described = _tiif_descriptions(path)
    for index, row in enumerate(rows):
        kind = row.text(("type",)) or path.stem
        texts, answers = (row.fields.get(f"yn_{field}_list") for field in ("question", "answer"))
        expected = answers if isinstance(answers, list) else []
        questions = [
            {"question": text, "expected": expected[n] if n < len(expected) else "unknown", "category": kind}
            for n, text in enumerate(texts if isinstance(texts, list) else [])
        ]
        called = re.sub(r"[^\w.-]+", "_", kind)  # as in action+3d
        row_fields = {**(described[index] if index < len(described) else {}), **row.fields}
        for length in ("short", "long"):
            prompt = row_fields.get(f"{length}_description")
            record = {
                "id": f"{called}-{length}-{index}",
                "prompt": prompt,
                "questions": questions,
                "tags": [kind, length],
            }
            yield row._replace(fields=record)


def _tiif_descriptions(path: Path) -> list[dict[str, Any]]:
    """Return the prompt records for a question file, in order, from the sibling prompt folder."""
    beside = path.parent.with_name(path.parent.name.replace("_eval_prompts", "_prompts"))
    file = beside / path.name.replace("_eval_prompts", "_prompts")
    if file == path or not file.is_file():
        return []
    try:
        return [row.fields for row in read_table(file, lambda location, reason: None)]
    except FormalimgError:
        return []


def _read_corebench(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    for row in rows:
        checks = row.fields.get("checklist")
        questions = [_corebench_question(check) for check in checks] if isinstance(checks, list) else checks
        tags = [row.text((field,)) for field in ("sub_class", "main_class")]
        fields = {"id": row.fields.get("id"), "prompt": row.fields.get("prompt"), "questions": questions, "tags": tags}
        yield row._replace(fields=fields)


def _corebench_question(check: Any) -> dict[str, Any]:
    if not isinstance(check, dict):
        return {}
    tags = check.get("tags")
    category = "+".join(map(str, tags)) if isinstance(tags, list) else tags
    return {"question": check.get("question"), "category": category}


def _is_dsg(rows: Sequence[TableRecord]) -> bool:
    """Return whether most item ids look like DSG-1k's (set and number); DPG-Bench has the same columns."""
    names = [row.text(("item_id",)) for row in rows]
    return 2 * sum(_NAME_AND_NUMBER.fullmatch(name) is not None for name in names) > len(names)


_DSG_COLUMNS = frozenset({"item_id", "text", "proposition_id", "dependency", "tuple", "question_natural_language"})

FORMATS: tuple[QuestionFormat, ...] = (
    QuestionFormat("DSG-1k", _DSG_COLUMNS, "direct", _read_dsg, fits=_is_dsg),
    QuestionFormat("DPG-Bench", _DSG_COLUMNS, "transitive", _read_dpg),
    QuestionFormat(
        "OneIG-Bench",
        frozenset({"id", "question", "dependency"}),
        "direct",
        _read_oneig,
        in_parts=True,
        fits=lambda rows: any(_oneig_mapping(row.fields.get("question")) for row in rows),
    ),
    QuestionFormat(
        "TIIF-Bench", frozenset({"yn_question_list", "yn_answer_list"}), "direct", _read_tiif, in_parts=True
    ),
    QuestionFormat(
        "T2I-CoReBench",
        frozenset({"main_class", "sub_class", "prompt", "checklist"}),
        "direct",
        _read_corebench,
        in_parts=True,
    ),
)
"""The formats that are known; the first that fits counts."""


_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a question file or a folder of question files."""
    if path.is_dir():
        return _read_folder(path, suite, findings)
    rows = read_table(path, findings.skip)
    if not _has_questions(rows):
        findings.add(str(path), "it holds no questions: give a file with item, prompt and question, one line for each")
        return []
    return _read_files({path: rows}, suite, findings)


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Raise an error, because question graphs have no published format of their own."""
    raise FormalimgError(f"{items[0].suite} has no published form: write its items as items.jsonl")


def _has_questions(rows: Sequence[TableRecord]) -> bool:
    return find_format(rows) is not None or is_question_table(rows)


def _read_files(files: Mapping[Path, Sequence[TableRecord]], suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Read files of one format."""
    file_format = find_format(next(iter(files.values())))
    if file_format is None:
        return list(read_graphs([row for rows in files.values() for row in rows], suite, findings))
    read = [row for path, rows in files.items() for row in file_format.read(rows, path)]
    return list(read_graphs(read, suite, findings, file_format.zeroing))


def _read_folder(folder: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Read the question files of a folder.

    There must be one, or several of a format that comes in parts; others are named, because their items may be other
    ones of the same ids.
    """
    tables = {}
    for path in sorted(file for file in folder.iterdir() if file.suffix.lower() in _SUFFIXES and file.is_file()):
        rows = read_table(path, lambda location, reason: None)
        if _has_questions(rows):
            tables[path] = rows
    formats = {find_format(rows) for rows in tables.values()}
    file_format = next(iter(formats)) if len(formats) == 1 else None
    if len(tables) != 1 and not (file_format and file_format.in_parts):
        names = ", ".join(path.name for path in tables) or "none"
        findings.add(str(folder), f"it must hold one file of questions, and holds {names}: give the file")
        return []
    return _read_files(tables, suite, findings)
