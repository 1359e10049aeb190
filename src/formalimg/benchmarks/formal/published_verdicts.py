"""Published verdict files of FormalImg: `responses/<suite>/<model>/results/<id>.json`, written and read.

Those of Knolling have `result`, `fail_reason`, `difficulty`, `prompt` and `cnf` (the formula); those of Natural what
the judge answered: `satisfies_constraint` and `satisfied_clauses`. An image without a verdict has no file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import read_plain_bytes
from formalimg._util.strict_json import loads_strict
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import id_order
from formalimg.errors import FormalimgError
from formalimg.types import Item

_MAX_BYTES = 10_000_000


class PublishedVerdict(NamedTuple):
    """The verdict in a file."""

    name: str  # the name of the file without its suffix: the id of the item, and `_1` and so on for further images
    passed: bool | None  # the verdict; None if the file does not have one that can be read
    clauses: tuple[str, ...] | None = None  # the clauses that hold, if the file lists them
    reason: str = ""  # why it failed, as the file says it; empty if it does not
    problem: str = ""  # what is wrong with the file; empty if it can be read


def format_scene_verdict(item: Item[object], passed: bool, reason: str) -> str:
    """Return the verdict file of an image that was judged by a scene, as for Knolling."""
    assert isinstance(item.spec, FormulaSpec), "only formulas are judged by a scene"
    return _text(
        {
            "result": passed,
            "fail_reason": None if passed else reason,
            "difficulty": item.level,
            "prompt": item.prompt,
            "cnf": str(item.spec.formula),
        }
    )


def format_clause_verdict(passed: bool, clauses: Sequence[str]) -> str:
    """Return the verdict file of an image that was judged clause by clause, as for Natural."""
    return _text({"satisfies_constraint": passed, "satisfied_clauses": list(clauses)})


def read_verdict_files(folder: str | Path) -> list[PublishedVerdict]:
    """Read all verdict files of a folder `results`, sorted by id; unreadable ones are reported and skipped."""
    place = Path(folder)
    paths = sorted(place.glob("*.json"), key=lambda path: id_order(path.stem)) if place.is_dir() else []
    if not paths:
        raise FormalimgError(f"{folder} holds no verdict files: give a folder with files such as 0.json")
    return [_read(path) for path in paths]


def _read(path: Path) -> PublishedVerdict:
    try:
        data = loads_strict(read_plain_bytes(path, _MAX_BYTES))
    except OSError as error:
        return PublishedVerdict(path.stem, None, problem=f"cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        return PublishedVerdict(path.stem, None, problem=f"is not JSON: {error}")
    fields: dict[str, Any] = data if isinstance(data, dict) else {}
    passed = fields.get("result", fields.get("satisfies_constraint"))
    clauses, reason = fields.get("satisfied_clauses"), fields.get("fail_reason")
    listed = tuple(map(str, clauses)) if isinstance(clauses, list) else None
    text = reason if isinstance(reason, str) else ""
    if not isinstance(passed, bool):  # the published scorer takes any text for a pass, also "false"
        return PublishedVerdict(path.stem, None, listed, text, "has neither true nor false as its verdict")
    return PublishedVerdict(path.stem, passed, listed, text)


def _text(fields: dict[str, object]) -> str:
    return json.dumps(fields, indent=4, ensure_ascii=False) + "\n"
