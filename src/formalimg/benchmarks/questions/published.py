"""Read files of question graphs: those of published benchmarks, known by their fields, and any others.

The formats are in `published_formats.py`. Files of none of them are read by the generic names (`graph_files.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.record_files import TableRecord, read_table
from formalimg.benchmarks.questions.graph_files import is_question_table, read_graphs
from formalimg.benchmarks.questions.published_formats import find_format
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
from formalimg.types import Item

_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a file of questions, or in the files of a folder that belong together."""
    if path.is_dir():
        return _read_folder(path, suite, findings)
    rows = read_table(path, findings.skip)
    if not _has_questions(rows):
        findings.add(str(path), "it holds no questions: give a file with item, prompt and question, one line for each")
        return []
    return _read_files({path: rows}, suite, findings)


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Refuse to write items: question graphs have no published form of their own."""
    raise FormalimgError(f"{items[0].suite} has no published form: write its items as items.jsonl")


def _has_questions(rows: Sequence[TableRecord]) -> bool:
    return find_format(rows) is not None or is_question_table(rows)


def _read_files(files: Mapping[Path, Sequence[TableRecord]], suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Read files of one format."""
    known = find_format(next(iter(files.values())))
    if known is None:
        return list(read_graphs([row for rows in files.values() for row in rows], suite, findings))
    read = [row for path, rows in files.items() for row in known.read(rows, path)]
    return list(read_graphs(read, suite, findings, known.zeroing))


def _read_folder(folder: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Read the question files of a folder.

    There must be one, or several of a format that comes in parts; others are named, because their items may be other
    ones of the same ids.
    """
    found = {}
    for path in sorted(one for one in folder.iterdir() if one.suffix.lower() in _SUFFIXES and one.is_file()):
        rows = read_table(path, lambda where, why: None)
        if _has_questions(rows):
            found[path] = rows
    formats = {find_format(rows) for rows in found.values()}
    known = next(iter(formats)) if len(formats) == 1 else None
    if len(found) != 1 and not (known and known.in_parts):
        names = ", ".join(path.name for path in found) or "none"
        findings.add(str(folder), f"it must hold one file of questions, and holds {names}: give the file")
        return []
    return _read_files(found, suite, findings)
