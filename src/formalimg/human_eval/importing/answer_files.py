"""Files of answers to the questions of items, in our own table format or that of a published benchmark.

Our own table (CSV, TSV, JSON Lines or JSON) has `item`, `question` (its id, or its words), `answer`, and optionally
`model` and `sample`. Other names for the same are known (`ANSWER_NAMES`). Files of a published benchmark are known by
their columns (`ANSWER_FORMATS`), and bring the rule by which its authors read answers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, repeat
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from formalimg._util.io import refuse_special_file
from formalimg._util.record_files import TableRecord, iterate_table
from formalimg._util.text import truncate
from formalimg.benchmarks.record import free_name
from formalimg.errors import FormalimgError

OtherAnswers: TypeAlias = Literal["no", "unscored"]
"""What an answer counts as that is neither yes nor no: no, as in the code of DSG; or its image is unscored."""

ANSWER_NAMES = {
    "model": ("model", "t2i_model", "image_model", "generator"),
    "item": ("item", "item_id", "prompt_id", "image_id"),
    "sample": ("sample", "sample_id"),
    "id": ("question_id", "proposition_id", "qid"),
    "question": ("question", "question_natural_language", "question_text"),
    "answer": ("answer", "response", "prediction"),
}
"""The names under which each field of an answer is found, the first that is there."""

_FIRST_ROWS = 100  # How many rows tell which columns a file has
_MAX_SAMPLE, _MAX_NAME, _MAX_ANSWER = 10_000, 100, 900
_YES_OR_NO = re.compile(r"\W*(yes|no|true|false)\b", re.IGNORECASE)
_AS_NUMBER = {"1": True, "1.0": True, "0": False, "0.0": False}


class AnswerFormat(NamedTuple):
    """The answer file format of a benchmark."""

    name: str  # the benchmark
    columns: frozenset[str]  # the fields that its files have, and others do not
    other_answers: OtherAnswers  # what its code makes of an answer that is neither yes nor no
    # whether a model may have answered some splits of the items only: those are then the items of its run
    by_split: bool = False


OWN = AnswerFormat("own table", frozenset(), "unscored")
DSG_ANSWERS = AnswerFormat(
    "DSG-1k", frozenset({"dsg_prompt_split", "t2i_model", "item_id", "question_id", "answer"}), "no", by_split=True
)
"""The released answers of VQA models; their column of dependencies is damaged and not read."""

ANSWER_FORMATS: tuple[AnswerFormat, ...] = (DSG_ANSWERS,)
"""The formats that are known; the first whose columns are all there counts."""


class ImportedReply(NamedTuple):
    """An answer as recorded in a file."""

    model: str  # the image model; empty if the file names none
    item: str  # the item
    sample: int  # which of the item's images by this model, from 0
    question: str  # the id of the question; empty if the file has its words only
    words: str  # the words of the question; empty if the file has its id only
    text: str  # the answer


@dataclass(frozen=True)
class AnswerTable:
    """The answers in a file, which is read again on each iteration because it may contain millions of rows."""

    path: Path  # the file
    format: AnswerFormat  # its format

    def replies(self) -> Iterator[ImportedReply | None]:
        """Yield the answers, and None for each unreadable record."""
        unread = 0

        def skip(position: str, reason: str) -> None:
            nonlocal unread
            unread += 1

        for row in iterate_table(self.path, skip):
            yield _parse_reply(row)
        yield from repeat(None, unread)


def read_answers(path: str | Path) -> AnswerTable:
    """Open a file of answers as a table."""
    path = Path(path)
    first = islice(iterate_table(path, lambda position, reason: None), _FIRST_ROWS)
    columns = {name for row in first for name in row.fields}
    table = AnswerTable(
        path, next((known_format for known_format in ANSWER_FORMATS if known_format.columns <= columns), OWN)
    )
    if all(reply is None for reply in table.replies()):
        raise FormalimgError(f"{path} holds no answers: give a table with item, model, sample, question and answer")
    return table


def read_reply(text: str) -> bool | None:
    """Parse a yes/no answer; None if it is neither."""
    match = _YES_OR_NO.match(text)
    return match.group(1).lower() in ("yes", "true") if match else _AS_NUMBER.get(text.strip())


def read_sample(row: TableRecord, names: Sequence[str]) -> int | None:
    """Return the sample number of a record, 0 if the field is absent; None if it is invalid."""
    text = row.text(tuple(names)) or "0"
    digits = text.lstrip("0") or "0"
    is_sample = text.isascii() and text.isdigit() and len(digits) < 9 and int(digits) <= _MAX_SAMPLE
    return int(digits) if is_sample else None


def read_name(row: TableRecord, names: Sequence[str]) -> str:
    """Return the name of a model or rater, truncated for storage and display; empty if there is none."""
    return truncate(row.text(tuple(names)), _MAX_NAME, 20)


def find_item(name: str, ids: Collection[str]) -> str:
    """Return the id of the item to which a name in a file refers, normalising unusual names such as `a b` to `a-b`."""
    return name if name in ids else free_name(name, ())


def describe_source(path: Path) -> str:
    """Return the name, digest and import date of a file: `mplug.csv (sha256 0123456789ab), 2026-01-31`."""
    return f"{file_mark(path)}, {datetime.now(UTC):%Y-%m-%d}"


def file_mark(path: Path) -> str:
    """Return the name of a file with a shortened digest that distinguishes it from other files."""
    name = truncate(path.name, 80, 20).replace(";", "_")
    try:
        refuse_special_file(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror or error}: check the path") from error
    return f"{name} (sha256 {digest[:12]})"


def _parse_reply(row: TableRecord) -> ImportedReply | None:
    """Parse the answer in a record; None if it does not identify the image and the question."""
    item, sample = row.text(ANSWER_NAMES["item"]), read_sample(row, ANSWER_NAMES["sample"])
    number, words = row.text(ANSWER_NAMES["id"]), row.text(ANSWER_NAMES["question"])
    if not item or sample is None or not (number or words):
        return None
    answer = row.first(ANSWER_NAMES["answer"])
    text = ("yes" if answer else "no") if isinstance(answer, bool) else str(answer) if answer is not None else ""
    return ImportedReply(
        read_name(row, ANSWER_NAMES["model"]), item, sample, number, words, truncate(text, _MAX_ANSWER, 100)
    )
