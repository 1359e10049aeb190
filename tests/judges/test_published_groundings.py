"""`judge --groundings … --protocol published`: damaged files are decided where the published evaluator decides."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formalimg import load
from formalimg.benchmarks.items_file import write_items
from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.published_scoring import holds

ITEMS = load("knolling")[::33][:60]
"""Items of all levels, one for each damaged file."""


def objects_of(item: Any) -> list[dict[str, Any]]:
    return [dict(entry) for entry in item.spec.witness.to_json()["objects"]]


def swap(objects: list[dict[str, Any]]) -> object:
    left, top, right, bottom = objects[0]["box_2d"]
    objects[0]["box_2d"] = [right, bottom, left, top]
    return objects


def changed(key: str, value: object) -> Callable[[list[dict[str, Any]]], object]:
    def change(objects: list[dict[str, Any]]) -> object:
        objects[-1][key] = value
        return objects

    return change


def without(key: str) -> Callable[[list[dict[str, Any]]], object]:
    return lambda objects: [{name: value for name, value in entry.items() if name != key} for entry in objects]


DAMAGES: list[Callable[[list[dict[str, Any]]], object]] = [
    swap,
    changed("box_2d", [1, 2, 3]),
    changed("box_2d", None),
    changed("box_2d", ["0", "0", "9", "9"]),
    changed("box_2d", [0, 0, 2000, 2000]),
    changed("box_2d", "0 0 9 9"),
    changed("label", None),
    changed("label", 3),
    changed("color", ["red"]),
    without("box_2d"),
    without("label"),
    without("color"),
    lambda objects: None,
    lambda objects: "cup",
    lambda objects: {"label": "cup"},
    lambda objects: [*objects, "cup"],
    lambda objects: [*objects, None],
    lambda objects: 7,
    lambda objects: [],
    lambda objects: [objects],
]


def test_damaged_files_are_decided_as_published(tmp_path: Path) -> None:
    draw = random.Random(34)
    expected = {}
    (tmp_path / "files").mkdir()
    for number, item in enumerate(ITEMS):
        damaged = DAMAGES[number % len(DAMAGES)](draw.sample(found := objects_of(item), len(found)))
        text = json.dumps({"image_file": item.id, "objects": damaged})
        (tmp_path / "files" / f"{item.id}.json").write_text(text)
        expected[item.id] = holds(str(item.spec.formula), damaged)
    items = str(write_items(ITEMS, tmp_path / "items"))
    given = ("judge", "--groundings", str(tmp_path / "files"), "--items", items, "--name", "m")
    assert formalimg(*given, "--protocol", "published", "--out", str(tmp_path / "published")).code == 0
    run = open_run(tmp_path / "published")
    assert {one.item: one.passed for one in run.outcomes()} == expected
    assert True in expected.values()
    assert run.manifest.judge is not None
    assert run.manifest.judge.settings["protocol"] == "published"
    assert formalimg(*given, "--out", str(tmp_path / "ours")).code == 0
    ours = [one.passed for one in open_run(tmp_path / "ours").outcomes()]
    assert ours.count(None) > 30, "by our own rules nobody knows what most of these images show"


def test_what_the_evaluator_never_counts_is_unscored(tmp_path: Path) -> None:
    """It leaves out what is missing or no JSON; an answer of another form is a fail."""
    folder = tmp_path / "files"
    folder.mkdir()
    texts = {0: "no JSON", 1: "\ufeff{}", 2: "[" * 100_000, 3: "[]", 4: "null", 5: '{"objects": NaN}', 6: "{}"}
    for number, text in texts.items():
        (folder / f"{ITEMS[number].id}.json").write_text(text, encoding="utf-8")
    items = str(write_items(ITEMS[:8], tmp_path / "items"))
    given = ("judge", "--groundings", str(folder), "--items", items, "--name", "m", "--protocol", "published")
    assert formalimg(*given, "--out", str(tmp_path / "run")).code == 0
    passed = {one.item: one.passed for one in open_run(tmp_path / "run").outcomes()}
    assert [passed[item.id] for item in ITEMS[:8]] == [None, None, None, False, False, False, False, None]
