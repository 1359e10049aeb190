"""Published files of FormalImg: `benchmarks/<suite>/<id>.json`, one instance per file.

Each file holds an object with the fields `prompt`, `dsl` (the formula), `cnf` (its lifted form), `k` (the level)
and `object_classes`, in this order and indented by four.

An instance is read however odd its fields are: see `odd_records` for the tags. The published programs use few of the
fields: `prompt` is sent to the image model, `object_classes` are detected, the formula is judged, and tables are
grouped by `k`. Therefore the published `k` is the level and the published classes are detected, even if the formula
differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from formalimg._util.io import refuse_special_file, write_folder
from formalimg._util.strict_json import is_text
from formalimg.benchmarks.formal.spec import NO_FORMULA, TAG_OF_PROBLEM, FormulaSpec
from formalimg.benchmarks.items_file import ITEMS_FILE, id_order, in_order, is_number
from formalimg.benchmarks.odd_records import (
    BROKEN_TEXT,
    CLASSES_DIFFER,
    CLASSES_MALFORMED,
    EXTRA_FIELDS,
    K_DIFFERS,
    K_MALFORMED,
    NO_CNF,
    NO_PROMPT,
    ODD_NAME,
    UNREADABLE_FORMULA,
    clean_text,
    ordered_tags,
)
from formalimg.benchmarks.record import MAX_RECORD_BYTES, ItemFindings, decode_leniently, free_name
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import try_parse
from formalimg.logic.prenex import complexity, to_prenex
from formalimg.logic.vocabulary import vocabulary_names
from formalimg.types import Item

_FIELDS = ("prompt", "dsl", "cnf", "k", "object_classes")

_MAX_LEVEL = 999  # A larger k is no level of anything


def read_instances(paths: Iterable[Path], suite: str, findings: ItemFindings) -> list[Item[FormulaSpec]]:
    """Read the items in the given files; files without a JSON object are skipped and added to the findings."""
    items: dict[str, Item[FormulaSpec]] = {}
    for path in sorted(paths, key=lambda path: id_order(path.stem)):
        instance = _read_object(path, findings)
        if instance is not None:
            fields, tags = instance
            name = path.stem
            if not is_number(name):
                name, tags = free_name(name, items), tags | {ODD_NAME}
            items[name] = read_item(fields, suite, name, tags)
    return list(items.values())


def instance_files(path: Path, suite: str) -> list[Path]:
    """Return the files of a suite's published instances under a path."""
    if path.is_file():
        if path.suffix != ".json":
            raise FormalimgError(f"{path} is not an items file: give a .json instance, {ITEMS_FILE}, or a folder")
        _refuse_other_suite(path.absolute().parent, suite)
        return [path]
    for folder in (path / "benchmarks" / suite, path / suite):
        if folder.is_dir():
            return _json_files(folder)
    _refuse_other_suite(path.absolute(), suite)
    files = _json_files(path)
    if not files:
        raise FormalimgError(f"{path} holds no items of {suite}: it has neither benchmarks/{suite} nor {ITEMS_FILE}")
    return files


def write_published(items: Iterable[Item[FormulaSpec]], folder: str | Path) -> None:
    """Write items in the authors' format, as `<folder>/benchmarks/<suite>/<id>.json`.

    Either all files of a suite are written or none. The format cannot store witnesses, tags or versions.
    """
    by_suite: dict[str, list[Item[FormulaSpec]]] = {}
    for item in in_order(items):
        by_suite.setdefault(item.suite, []).append(item)
    texts = {suite: _instance_texts(members) for suite, members in by_suite.items()}
    for suite, files in texts.items():
        write_folder(Path(folder) / "benchmarks" / suite, files)


def _refuse_other_suite(folder: Path, suite: str) -> None:
    if folder.name in vocabulary_names() and folder.name != suite:
        raise FormalimgError(f"{folder} holds items of {folder.name}, not of {suite}: give the other folder or suite")


def _json_files(folder: Path) -> list[Path]:
    try:  # names with a dot in front are the file manager's, not the authors'
        return [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
    except OSError as error:
        raise FormalimgError(f"cannot read {folder}: {error.strerror}") from error


def _read_object(path: Path, findings: ItemFindings) -> tuple[dict[str, Any], frozenset[str]] | None:
    """Return the JSON object in a file with the tags of its oddities; None if there is no object."""
    refuse_special_file(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_RECORD_BYTES + 1)
        parsed, tags = decode_leniently(data)
    except OSError as error:
        findings.skip(str(path), f"cannot be read: {error.strerror}")
    except ValueError as error:
        findings.skip(str(path), str(error))
    else:
        if isinstance(parsed, dict):
            return parsed, tags
        findings.skip(str(path), "not an instance: it must be a JSON object, {…}")
    return None


# --- one instance


def read_item(fields: Mapping[str, Any], suite: str, name: str, record_tags: frozenset[str]) -> Item[FormulaSpec]:
    """Return the item of a published instance, with the tags of its oddities."""
    tags = set(record_tags)
    if any(field not in _FIELDS for field in fields):
        tags.add(EXTRA_FIELDS)
    prompt, lifted = _clean_field(fields.get("prompt"), tags), _clean_field(fields.get("cnf"), tags)
    if not prompt.strip():
        prompt = ""
        tags.add(NO_PROMPT)
    if not lifted.strip():
        tags.add(NO_CNF)
    spec, k = _spec_and_complexity(fields, suite, tags)
    if lifted.strip():
        try:
            own = "" if spec.formula is NO_FORMULA else to_prenex(spec.formula).text
        except FormulaError:  # it has too many clauses
            own = ""
        spec = spec if lifted == own else replace(spec, lifted=lifted)
    return Item(suite, name, _read_level(fields.get("k"), k, tags), prompt, spec, ordered_tags(tags))


def _clean_field(value: object, tags: set[str]) -> str:
    if not isinstance(value, str):
        return ""
    text, is_broken = clean_text(value)
    if is_broken:
        tags.add(BROKEN_TEXT)
    return text


def _spec_and_complexity(fields: Mapping[str, Any], suite: str, tags: set[str]) -> tuple[FormulaSpec, int | None]:
    """Return the spec of an instance, and the K of its formula or None if it has no valid formula."""
    dsl, listed = fields.get("dsl"), fields.get("object_classes")
    try:
        text = _clean_field(dsl, tags) if isinstance(dsl, str) else "" if dsl is None else json.dumps(dsl)
    except RecursionError:
        text = ""
    classes = None
    if isinstance(listed, list) and all(is_text(word) and word.strip() for word in listed):
        classes = tuple(dict.fromkeys(listed))
    else:
        tags.add(CLASSES_MALFORMED)
    formula, _ = try_parse(text)
    try:
        k = None if formula is None else complexity(formula)
    except FormulaError:
        k = None
    if formula is None or k is None:
        tags.add(UNREADABLE_FORMULA)
        return FormulaSpec(NO_FORMULA, classes=classes, unreadable=text), None
    from formalimg.benchmarks.registry import suite as get_suite  # here, because kinds of suites need specs

    tags |= {TAG_OF_PROBLEM[problem.kind] for problem in check(formula, get_suite(suite).vocabulary)}
    spec = FormulaSpec.of(formula)
    if classes is None or set(classes) == set(spec.object_classes):
        return spec, k
    if not classes:
        tags.add(CLASSES_MALFORMED)  # to look for nothing cannot be meant
        return spec, k
    tags.add(CLASSES_DIFFER)
    return replace(spec, classes=classes), k


def _read_level(published: object, k: int | None, tags: set[str]) -> int:
    """Return the published `k`; if it is not valid, the K of the formula, or 0 without a formula."""
    if isinstance(published, int) and not isinstance(published, bool) and 0 <= published <= _MAX_LEVEL:
        level = published
    else:
        tags.add(K_MALFORMED)
        # a text or a number with a point may say it
        text = str(published).strip().removesuffix(".0") if isinstance(published, str | float) else ""
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_LEVEL))
        level = int(text) if is_number else k or 0
    if k is not None and level != k:
        tags.add(K_DIFFERS)
    return level


# --- writing


def _instance_texts(items: Sequence[Item[FormulaSpec]]) -> dict[str, str]:
    """Return the instance files of a suite by name; raise an error if an item does not fit the published format."""
    findings = ItemFindings()
    files: dict[str, str] = {}
    for item in items:
        location = f"{item.suite} item {item.id}"
        name = f"{item.id}.json"
        if not is_number(item.id):
            findings.add(location, "published ids are numbers: give the item another id")
        elif name in files:
            findings.add(location, "there are two items with this id: give one another id")
        else:
            try:
                files[name] = _instance_text(item)
            except FormulaError as error:
                findings.add(location, f"the formula, {error.problems[0]}")
            except FormalimgError as error:
                findings.add(location, str(error))
    findings.raise_any()
    return files


def _instance_text(item: Item[FormulaSpec]) -> str:
    formula = item.spec.formula
    if item.spec.unreadable is not None:
        raise FormalimgError(f"{item.spec.unreadable_because}: leave the item out")
    k = complexity(formula)
    if k != item.level and K_DIFFERS not in item.tags:
        raise FormalimgError(f"the level is {item.level}, but the formula has K = {k}: fix one of them")
    instance = {
        "prompt": item.prompt,
        "dsl": str(formula),
        "cnf": item.spec.lifted or to_prenex(formula).text,
        "k": item.level,
        "object_classes": list(item.spec.object_classes),
    }
    return json.dumps(instance, indent=4)
