"""Published files of FormalImg: `benchmarks/<suite>/<id>.json`, one instance per file.

Each file holds an object with the fields `prompt`, `dsl` (the formula), `cnf` (its lifted form), `k` (the level)
and `object_classes`, in this order and indented by four. `published_instance` makes items of these fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from formalimg._util.io import refuse_special_file, write_folder
from formalimg.benchmarks.formal.published_instance import read_item
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import ITEMS_FILE, id_order, in_order, is_number
from formalimg.benchmarks.odd_records import K_DIFFERS, ODD_NAME
from formalimg.benchmarks.record import MAX_RECORD_BYTES, ItemFindings, decode_leniently, free_name
from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError
from formalimg.logic.prenex import complexity, to_prenex
from formalimg.logic.vocabulary import vocabulary_names
from formalimg.types import Item


def read_instances(paths: Iterable[Path], suite: str, findings: ItemFindings) -> list[Item[FormulaSpec]]:
    """Read the items in these files; those that hold no JSON object are skipped, and named in the findings."""
    items: dict[str, Item[FormulaSpec]] = {}
    for path in sorted(paths, key=lambda path: id_order(path.stem)):
        found = _read_object(path, findings)
        if found is not None:
            fields, tags = found
            name = path.stem
            if not is_number(name):
                name, tags = free_name(name, items), tags | {ODD_NAME}
            items[name] = read_item(fields, suite, name, tags)
    return list(items.values())


def instance_files(place: Path, suite: str) -> list[Path]:
    """Return the files of a suite's published instances at a path."""
    if place.is_file():
        if place.suffix != ".json":
            raise FormalimgError(f"{place} is not an items file: give a .json instance, {ITEMS_FILE}, or a folder")
        _refuse_other_suite(place.absolute().parent, suite)
        return [place]
    for folder in (place / "benchmarks" / suite, place / suite):
        if folder.is_dir():
            return _json_files(folder)
    _refuse_other_suite(place.absolute(), suite)
    files = _json_files(place)
    if not files:
        raise FormalimgError(f"{place} holds no items of {suite}: it has neither benchmarks/{suite} nor {ITEMS_FILE}")
    return files


def write_published(items: Iterable[Item[FormulaSpec]], folder: str | Path) -> None:
    """Write items in the form of the authors' files: `<folder>/benchmarks/<suite>/<id>.json`.

    A suite's files appear all at once or not at all. Witnesses, tags and version have no place in this form.
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
    try:
        # Names with a dot in front are the file manager's, not the authors'.
        return [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
    except OSError as error:
        raise FormalimgError(f"cannot read {folder}: {error.strerror}") from error


def _read_object(path: Path, findings: ItemFindings) -> tuple[dict[str, Any], frozenset[str]] | None:
    """Return the JSON object of a file and the tags of what is odd about its text; None if there is none."""
    refuse_special_file(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_RECORD_BYTES + 1)
        found, tags = decode_leniently(data)
    except OSError as error:
        findings.skip(str(path), f"cannot be read: {error.strerror}")
    except ValueError as error:
        findings.skip(str(path), str(error))
    else:
        if isinstance(found, dict):
            return found, tags
        findings.skip(str(path), "not an instance: it must be a JSON object, {…}")
    return None


def _instance_texts(items: Sequence[Item[FormulaSpec]]) -> dict[str, str]:
    """Return the files of a suite, by name; raise if an item does not fit the published form."""
    findings = ItemFindings()
    files: dict[str, str] = {}
    for item in items:
        where = f"{item.suite} item {item.id}"
        name = f"{item.id}.json"
        if not is_number(item.id):
            findings.add(where, "published ids are numbers: give the item another id")
        elif name in files:
            findings.add(where, "there are two items with this id: give one another id")
        else:
            try:
                files[name] = _instance_text(item)
            except FormulaError as error:
                findings.add(where, f"the formula, {error.problems[0]}")
            except FormalimgError as error:
                findings.add(where, str(error))
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
