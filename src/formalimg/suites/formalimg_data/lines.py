"""Our own form of FormalImg's items: `items.jsonl`, one JSON object per line.

Fields, in this order: `format` (the number of this form, 1), `suite`, `version` (of the suite), `id`, `level` (K),
`prompt`, `dsl` (the formula), and, where there is something to say, `style` (only if the formula does not demand it
outright), `witness` (a scene in the published grounding format) and `tags`. The same items always give the same
bytes. The version of the program is left out on purpose: a new release must not change the digest of a suite.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.logic import parse
from formalimg.scenes import Scene
from formalimg.suites.formalimg_data.findings import Findings, ItemsError
from formalimg.suites.formalimg_data.record import LONGEST_RECORD, OUTSIDE_VOCABULARY, Record, decoded
from formalimg.suites.item import FormulaSpec, Item, demanded_style, in_order, is_number

ITEMS_FILE = "items.jsonl"
FORMAT = 1

_NEEDED = ("format", "suite", "version", "id", "level", "prompt", "dsl")
_KNOWN = (*_NEEDED, "style", "witness", "tags")


def read_lines(path: Path, suite: str, findings: Findings) -> list[Item[FormulaSpec]]:
    """The items in a file of lines; what is wrong with it is added to the findings."""
    items: dict[str, Item[FormulaSpec]] = {}
    first: dict[str, str] = {}
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_RECORD + 2):
                number += 1
                where = f"{path}, line {number}"
                item = _read_line(line, where, suite, findings)
                if item is None:
                    if len(line) > LONGEST_RECORD and not line.endswith(b"\n"):
                        break  # what follows is the rest of this line, not the next one
                    continue
                if item.id in items:
                    findings.add(where, f"the id {item.id} is that of {first[item.id]} too: give one another id")
                elif items and is_number(item.id) != is_number(next(iter(items))):
                    findings.add(where, f"the id {item.id}: ids must be all numbers or all names, not mixed")
                else:
                    items[item.id], first[item.id] = item, f"line {number}"
    except OSError as error:
        findings.add(str(path), f"cannot be read: {error.strerror}")
    return list(items.values())


def write_items(items: Iterable[Item[FormulaSpec]], folder: str | Path) -> Path:
    """Write items of one suite to `<folder>/items.jsonl`, sorted by id; the file is replaced all at once.

    Raises:
        ItemsError: if the items would not read back: two suites, one id twice, a level that is not K, and so on.
    """
    lines = _checked_lines(in_order(items))
    if not lines:
        raise ItemsError(["there are no items to write"])
    path = Path(folder) / ITEMS_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".items-", dir=path.parent) as made:
            new = Path(made) / ITEMS_FILE
            with new.open("wb") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
    except OSError as error:
        raise FormalimgError(f"cannot write {path}: {error.strerror}") from error
    return path


def checked_item_of(line: bytes, suite: str) -> Item[FormulaSpec]:
    """The item in a line that is known to be sound, by the digest of its file: nothing is checked again."""
    fields = json.loads(line)
    formula = parse(fields["dsl"])
    witness = Scene.from_json(fields["witness"]) if "witness" in fields else None
    spec = FormulaSpec(formula, witness, fields.get("style", demanded_style(formula)))
    tags = tuple(fields.get("tags", ()))
    return Item(suite, fields["id"], fields["level"], fields["prompt"], spec, tags, fields["version"])


def _read_line(line: bytes, where: str, suite: str, findings: Findings) -> Item[FormulaSpec] | None:
    if not line.strip():
        findings.add(where, "an empty line: remove it")
        return None
    record = decoded(line.removesuffix(b"\n"), where, findings)
    if record is None:
        return None
    if record.fields.get("format", FORMAT) != FORMAT:
        record.wrong(f"format must be {FORMAT}: the file was made by another version of formalimg, make it anew")
        return None
    return _item(record, suite) if record.has_all(_NEEDED, _KNOWN) else None


def _item(record: Record, suite: str) -> Item[FormulaSpec] | None:
    before = len(record.findings)
    if record.fields["suite"] != suite:
        record.wrong(f"the suite is {record.fields['suite']!r}, but {suite!r} was asked for")
        return None
    name, version, prompt = record.name("id"), record.text("version", empty=True), record.text("prompt")
    level = record.number("level")
    tags = record.words("tags") if "tags" in record.fields else ()
    found = record.formula("dsl", suite, level, odd_words=OUTSIDE_VOCABULARY in (tags or ()))
    if name is None or version is None or prompt is None or level is None or tags is None or found is None:
        return None
    formula = found.formula
    style = record.text("style") if "style" in record.fields else demanded_style(formula)
    witness = record.witness("witness", formula, style) if "witness" in record.fields else None
    if len(record.findings) > before:
        return None
    return Item(suite, name, level, prompt, FormulaSpec(formula, witness, style), tags, version)


def line_of(item: Item[FormulaSpec], *, with_witness: bool = True) -> str:
    """The item as one line of JSON, without the line's end."""
    spec = item.spec
    fields: dict[str, Any] = {
        "format": FORMAT,
        "suite": item.suite,
        "version": item.version,
        "id": item.id,
        "level": item.level,
        "prompt": item.prompt,
        "dsl": str(spec.formula),
    }
    if spec.style is not None and spec.style != demanded_style(spec.formula):
        fields["style"] = spec.style
    if spec.witness is not None and with_witness:
        fields["witness"] = spec.witness.to_json()
    if item.tags:
        fields["tags"] = list(item.tags)
    return json.dumps(fields, ensure_ascii=False, allow_nan=False)


def item_of(line: str, suite: str) -> Item[FormulaSpec]:
    """The item that `line_of` wrote.

    Raises:
        ItemsError: naming everything that is wrong with the line.
    """
    findings = Findings()
    item = _read_line(line.encode("utf-8", "surrogatepass"), f"an item of {suite}", suite, findings)
    findings.raise_any()
    assert item is not None, "what cannot be read has findings"
    return item


def _checked_lines(items: list[Item[FormulaSpec]]) -> list[bytes]:
    """The lines of the items; raises what our own reader would find wrong with them."""
    findings = Findings()
    suite = items[0].suite if items else ""
    lines = []
    ids: set[str] = set()
    for item in items:
        where = f"{item.suite} item {item.id}"
        if item.id in ids or (ids and is_number(item.id) != is_number(items[0].id)):
            findings.add(where, "an id must be there only once, and ids must be all numbers or all names")
        ids.add(item.id)
        try:
            lines.append(line_of(item).encode("utf-8", "surrogatepass") + b"\n")
        except (TypeError, ValueError) as error:
            raise ItemsError([f"{where}: cannot be written as JSON: {error}"]) from error
        read_back = _read_line(lines[-1], where, suite, findings)
        if read_back is not None and read_back != item:
            findings.add(where, "would not read back as it is: check the types of its fields")
    findings.raise_any()
    return lines
