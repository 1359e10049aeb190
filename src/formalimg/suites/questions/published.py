"""Question files of published benchmarks, known by their columns; each format is one `QuestionFormat` in `FORMATS`.

A format says only what differs from the generic reader (`graph_files.py`): the columns by which its files are known,
the rule of its scores, and what else a record tells. Files of no known format are read by the generic names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.record_files import TableRecord, read_table
from formalimg.errors import FormalimgError
from formalimg.suites.item import Item
from formalimg.suites.questions.graph_files import is_question_table, read_graphs
from formalimg.suites.questions.spec import Zeroing
from formalimg.suites.record import ItemFindings

_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")


class QuestionFormat(NamedTuple):
    """The format of the question files of a benchmark.

    Attributes:
        name: the benchmark.
        columns: the fields that its files have, and others do not.
        zeroing: which parents fail a question, by the authors' code.
        read: returns the fields of a record under the names of `FIELD_NAMES`, where they have others there.
    """

    name: str
    columns: frozenset[str]
    zeroing: Zeroing
    read: Callable[[dict[str, Any]], dict[str, Any]] = lambda fields: fields


def dsg_split(item: str) -> str:
    """Return the part of DSG-1k that an item is of: `tifa160` for `tifa160_7`."""
    return item.rpartition("_")[0]


def _read_dsg(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "tags": dsg_split(str(fields.get("item_id", "")))}


DSG = QuestionFormat(
    "DSG-1k",
    frozenset({"item_id", "text", "proposition_id", "dependency", "tuple", "question_natural_language"}),
    "direct",
    _read_dsg,
)
"""`dsg-1k-anns.csv`, and the files like it of the same repository."""

FORMATS: tuple[QuestionFormat, ...] = (DSG,)
"""The formats that are known; the first whose columns are all there counts."""


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a file of questions, or in the one such file of a folder."""
    if path.is_dir():
        return _read_folder(path, suite, findings)
    rows = read_table(path, findings.skip)
    if not is_question_table(rows):
        findings.add(str(path), "it holds no questions: give a file with item, prompt and question, one line for each")
        return []
    return _read_rows(rows, suite, findings)


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Refuse to write items: question graphs have no published form of their own.

    Raises:
        FormalimgError: always.
    """
    raise FormalimgError(f"{items[0].suite} has no published form: write its items as items.jsonl")


def _read_rows(rows: Sequence[TableRecord], suite: str, findings: ItemFindings) -> list[Item[Any]]:
    there = set().union(*(row.fields for row in rows[:100]))
    known = next((one for one in FORMATS if one.columns <= there), None)
    if known is None:
        return list(read_graphs(rows, suite, findings))
    read = [TableRecord(row.where, known.read(row.fields)) for row in rows]
    return list(read_graphs(read, suite, findings, known.zeroing))


def _read_folder(folder: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Read the only question file of a folder; several are named, because their items may be others of the same ids."""
    found = {}
    for path in sorted(one for one in folder.iterdir() if one.suffix.lower() in _SUFFIXES and one.is_file()):
        rows = read_table(path, lambda where, why: None)
        if is_question_table(rows):
            found[path] = rows
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        findings.add(str(folder), f"it must hold one file of questions, and holds {names}: give the file")
        return []
    return _read_rows(next(iter(found.values())), suite, findings)
