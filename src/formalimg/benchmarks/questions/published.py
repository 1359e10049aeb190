"""Question-graph files: published formats, recognized by their fields, and generic tables (`graph_files.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.record_files import TableRecord, read_table
from formalimg.benchmarks.questions.graph_files import is_question_table, read_graphs
from formalimg.benchmarks.questions.spec import Zeroing
from formalimg.benchmarks.record import ItemFindings
from formalimg.errors import FormalimgError
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
    return next((candidate for candidate in FORMATS if candidate.columns <= columns and candidate.fits(first)), None)


def _read_dsg(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    for row in rows:
        split = str(row.fields.get("item_id", "")).rpartition("_")[0]  # `tifa160` for `tifa160_7`
        yield row._replace(fields={**row.fields, "tags": split})


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


def _oneig_prompts(path: Path, part: str) -> dict[str, str]:
    """Return the prompts by id, from the prompt table at the root of the benchmark's repository."""
    language = "zh" if path.stem.endswith("_zh") else "en"
    name = "OneIG-Bench-ZH.csv" if language == "zh" else "OneIG-Bench.csv"
    table = next((folder / name for folder in path.parents[:4] if (folder / name).is_file()), None)
    if table is None:
        return {}
    word = "portrait" if part == "human" else part  # in the category of a prompt
    fields = (f"prompt_{language}", "prompt_cn", "prompt")
    return {
        row.text(("id",)): row.text(fields)
        for row in read_table(table, lambda location, reason: None)
        if word in row.text(("category",)).lower()
    }


def _read_tiif(rows: Sequence[TableRecord], path: Path) -> Iterable[TableRecord]:
    descriptions = _tiif_descriptions(path)
    for index, row in enumerate(rows):
        kind = row.text(("type",)) or path.stem
        texts, answers = (row.fields.get(f"yn_{field}_list") for field in ("question", "answer"))
        expected = answers if isinstance(answers, list) else []
        questions = [
            {"question": text, "expected": expected[number] if number < len(expected) else "unknown", "category": kind}
            for number, text in enumerate(texts if isinstance(texts, list) else [])
        ]
        plain_kind = re.sub(r"[^\w.-]+", "_", kind)  # as in action+3d
        row_fields = {**(descriptions[index] if index < len(descriptions) else {}), **row.fields}
        for length in ("short", "long"):
            prompt = row_fields.get(f"{length}_description")
            name, tags = f"{plain_kind}-{length}-{index}", [kind, length]
            yield row._replace(fields={"id": name, "prompt": prompt, "questions": questions, "tags": tags})


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
        questions = checks
        if isinstance(checks, list):
            questions = [_corebench_question(check) if isinstance(check, dict) else {} for check in checks]
        tags = [row.text((field,)) for field in ("sub_class", "main_class")]
        fields = {"id": row.fields.get("id"), "prompt": row.fields.get("prompt"), "questions": questions, "tags": tags}
        yield row._replace(fields=fields)


def _corebench_question(check: dict[str, Any]) -> dict[str, Any]:
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
        "T2I-CoReBench", frozenset({"main_class", "sub_class", "prompt", "checklist"}), "direct", _read_corebench, True
    ),
)
"""The formats that are known; the first that fits counts."""


_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")


def read_published(path: Path, suite: str, findings: ItemFindings) -> list[Item[Any]]:
    """Return the items in a question file, or in a folder with one file or with all parts of a multi-part format.

    Several files of any other format in a folder are ambiguous, because their items may have the same ids.
    """
    if path.is_dir():
        paths = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES and file.is_file())
        tables = {file: read_table(file, lambda location, reason: None) for file in paths}
    else:
        tables = {path: read_table(path, findings.skip)}
    tables = {file: rows for file, rows in tables.items() if find_format(rows) or is_question_table(rows)}
    formats = {find_format(rows) for rows in tables.values()}
    file_format = next(iter(formats)) if len(formats) == 1 else None
    if not tables and not path.is_dir():
        findings.add(str(path), "it holds no questions: give a file with item, prompt and question, one line for each")
        return []
    if len(tables) != 1 and not (file_format and file_format.in_parts):
        names = ", ".join(file.name for file in tables) or "none"
        findings.add(str(path), f"it must hold one file of questions, and holds {names}: give the file")
        return []
    if file_format is None:
        return list(read_graphs([row for rows in tables.values() for row in rows], suite, findings))
    records = [row for file, rows in tables.items() for row in file_format.read(rows, file)]
    return list(read_graphs(records, suite, findings, file_format.zeroing))


def write_published(items: Sequence[Item[Any]], folder: Path) -> None:
    """Raise an error, because question graphs have no published format of their own."""
    raise FormalimgError(f"{items[0].suite} has no published form: write its items as items.jsonl")


# --- image folders of T2I-CoReBench, OneIG-Bench and TIIF-Bench

_ENDING = r"\.(?:png|jpe?g|webp)"
_COREBENCH = rf"(?:[^/]+/)?(?P<item>[A-Z]-[A-Z]{{2}}-\d{{3}})-(?P<sample>\d{{1,9}}){_ENDING}"
_ONEIG = rf"(?P<part>anime|human|object)/(?P<model>[^/]+)/(?P<id>\d+){_ENDING}"
_TIIF = rf"(?P<kind>[^/]+)/(?P<model>[^/]+)/(?P<length>short|long)_description/(?P<place>\d+){_ENDING}"


class _FileMatch(NamedTuple):
    """What an image's path says: the item's id, the sample, and the model, if any."""

    item: str
    sample: int = 0
    model: str = ""


def _match_file(file: str) -> _FileMatch | None:
    if match := re.fullmatch(_COREBENCH, file, re.IGNORECASE):
        return _FileMatch(match["item"], int(match["sample"]))
    if match := re.fullmatch(_ONEIG, file, re.IGNORECASE):
        return _FileMatch(f"{match['part']}-{match['id']}", 0, match["model"])
    if match := re.fullmatch(_TIIF, file, re.IGNORECASE):
        kind = re.sub(r"[^\w.-]+", "_", match["kind"])
        return _FileMatch(f"{kind}-{match['length']}-{match['place']}", 0, match["model"])
    return None


def image_candidates(folder: FolderListing, index: ItemIndex) -> Iterator[CandidateFile]:
    """Yield candidate files: `C-MA/C-MA-001-0.png`, `anime/MODEL/000.webp`, `TYPE/MODEL/short_description/0.png`."""
    matches = {file: _match_file(file) for file in folder.files}
    models = list(dict.fromkeys(match.model for match in matches.values() if match and match.model))
    if len(models) > 1:
        names = ", ".join(map(short_name, models[:3])) + (" …" if len(models) > 3 else "")
        raise FormalimgError(
            f"{folder.path} holds the images of {len(models)} models ({names}): give a folder with those of one"
        )
    for file, match in matches.items():
        if is_any_image(file):
            item = index.item_called(match.item) if match else None
            yield CandidateFile(file, FolderImage(item, match.sample) if match and item is not None else None)


LAYOUT = ImageLayout("questions", lambda folder: any(map(_match_file, folder.files)), image_candidates)
