"""Grounding files, our own and published ones, as judges and as image models."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.items_file import write_items
from formalimg.runs.reader import open_run
from tests.support.brute_force import truth
from tests.support.command import formalimg
from tests.support.published import FOLDER
from tests.support.published_scoring import holds

ITEMS = load("knolling")[::400]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A part of the suite, as a file: the whole of it would take seconds to plan."""
    return str(write_items(load("knolling")[::200], tmp_path_factory.mktemp("items")))


def _groundings(folder: Path, *, without_first: bool = False) -> Path:
    folder.mkdir(parents=True)
    for item in ITEMS:
        witness = item.spec.witness
        assert witness is not None
        objects = witness.to_json()["objects"]
        assert isinstance(objects, list)
        shown = objects[1:] if without_first else objects
        (folder / f"{item.id}.json").write_text(json.dumps({"image_file": item.id, "objects": shown}, indent=4))
    return folder


def test_each_model_of_a_published_tree_becomes_a_run_that_reports(tmp_path: Path, suite: str) -> None:
    home = tmp_path / "responses" / "knolling"
    _groundings(home / "good" / "grounding" / "json")
    _groundings(home / "worse" / "grounding" / "json", without_first=True)
    said = formalimg("judge", "--groundings", "responses", "--items", suite, cwd=tmp_path)
    assert said.code == 0, said.err
    assert "run in runs/knolling-good\nrun in runs/knolling-worse\n" in said.out
    passed = {}
    for name in ("good", "worse"):
        run = open_run(tmp_path / "runs" / f"knolling-{name}")
        scored = [one for one in run.outcomes() if one.passed is not None]
        passed[name] = [one.passed for one in scored]
        assert len(scored) == len(ITEMS)
        assert {one.reason for one in run.outcomes() if one.passed is None} == {"no image"}
        assert (run.manifest.model.name, run.manifest.task) == (name, "image")
    assert passed["good"] == [True] * len(ITEMS)
    assert not all(passed["worse"])
    runs = ("runs/knolling-good", "runs/knolling-worse")
    reported = formalimg("report", *runs, "--reference", "--details", cwd=tmp_path)
    assert reported.code == 0
    assert "FormalImg, Table 1" in " ".join(reported.out.split())
    # Again: nothing is judged anew; with other files it is.
    attempts = formalimg("judge", "--groundings", "responses", "--items", suite, cwd=tmp_path)
    assert attempts.code == 0
    assert len(open_run(tmp_path / "runs" / "knolling-good").judges()) == 1
    (home / "good" / "grounding" / "json" / f"{ITEMS[0].id}.json").write_text('{"objects": []}')
    assert formalimg("judge", "--groundings", "responses", "--items", suite, cwd=tmp_path).code == 0
    changed = {one.item: one.passed for one in open_run(tmp_path / "runs" / "knolling-good").outcomes()}
    assert changed[ITEMS[0].id] is False
    assert changed[ITEMS[1].id] is True


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"objects": null}', "is null"),
        ("nothing", "not JSON"),
        ('{"objects": [{"label": "cup", "color": "red", "box_2d": [0, 0, 2000, 5]}]}', "leaves the canvas"),
        ("[" * 100_000, "not JSON"),
    ],
    ids=["null", "no-json", "canvas", "deep"],
)
def test_an_odd_file_is_unscored_with_the_reason_and_stops_nothing(
    text: str, why: str, tmp_path: Path, suite: str
) -> None:
    folder = _groundings(tmp_path / "files")
    (folder / f"{ITEMS[0].id}.json").write_text(text)
    (folder / "stray.json").write_text("{}")
    given = ("judge", "--groundings", str(folder), "--items", suite, "--name", "m")
    said = formalimg(*given, "--out", str(tmp_path / "run"))
    assert said.code == 0, said.err
    assert "1 of 6 files" in said.err
    assert "stray.json" in said.err
    run = open_run(tmp_path / "run")
    assert run.manifest.model.name == "m"
    odd = next(one for one in run.outcomes() if one.item == ITEMS[0].id)
    assert (odd.passed, odd.reason) == (None, "not understood")
    assert why in odd.detail
    assert sum(one.passed is True for one in run.outcomes()) == len(ITEMS) - 1
    # As plans of a chat model, they are its own failure.
    assert formalimg(*given, "--out", str(tmp_path / "plans"), "--task", "layout").code == 0
    assert next(one for one in open_run(tmp_path / "plans").outcomes() if one.item == ITEMS[0].id).passed is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to judge: name a run folder, or give --groundings DIR"),
        (("--groundings", "empty"), "empty holds no grounding files"),
        (("--groundings", "foreign"), "none of the 1 files in foreign (zz.json) is named after an item"),
        (("run", "--groundings", "foreign"), "RUN cannot be combined with --groundings"),
        (("run", "--items", "x"), "--items cannot be combined with a run"),
        (("--groundings", "two", "--name", "m"), "two holds 2 models: leave --out and --name out"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "zz.json").write_text("{}")
    for name in ("a", "b"):
        _groundings(tmp_path / "two" / name / "grounding" / "json")
    said = formalimg("judge", *words, cwd=tmp_path)
    assert said.code == 2
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the published sample is not at {FOLDER}")
def test_groundings_for_published_items_agree_with_a_plain_evaluator(tmp_path: Path) -> None:
    items = [item for item in load("knolling", FOLDER) if item.level <= 3]  # a plain evaluator tries all bindings
    folder = tmp_path / "json"
    folder.mkdir()
    expected = {}
    for number, item in enumerate(items):
        other = ITEMS[number % len(ITEMS)].spec.witness
        assert other is not None
        words = item.spec.object_classes
        entries = [
            {"label": words[n % len(words)], "color": obj.color, "box_2d": list(obj.box)}
            for n, obj in enumerate(other.objects[:6])
        ]
        (folder / f"{item.id}.json").write_text(json.dumps({"image_file": item.id, "objects": entries}))
        expected[item.id] = truth(item.spec.formula, type(other).from_json({"objects": entries}), strict=True)
    given = ("judge", "--groundings", str(folder), "--items", str(FOLDER), "--out", str(tmp_path / "run"))
    assert formalimg(*given).code == 0
    found = {one.item: one.passed for one in open_run(tmp_path / "run").outcomes()}
    assert {item: found[item] for item in expected} == expected


# --- the published ones

PUBLISHED_ITEMS = load("knolling")[::33][:60]
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
    for number, item in enumerate(PUBLISHED_ITEMS):
        damaged = DAMAGES[number % len(DAMAGES)](draw.sample(found := objects_of(item), len(found)))
        text = json.dumps({"image_file": item.id, "objects": damaged})
        (tmp_path / "files" / f"{item.id}.json").write_text(text)
        expected[item.id] = holds(str(item.spec.formula), damaged)
    items = str(write_items(PUBLISHED_ITEMS, tmp_path / "items"))
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
        (folder / f"{PUBLISHED_ITEMS[number].id}.json").write_text(text, encoding="utf-8")
    items = str(write_items(PUBLISHED_ITEMS[:8], tmp_path / "items"))
    given = ("judge", "--groundings", str(folder), "--items", items, "--name", "m", "--protocol", "published")
    assert formalimg(*given, "--out", str(tmp_path / "run")).code == 0
    passed = {one.item: one.passed for one in open_run(tmp_path / "run").outcomes()}
    assert [passed[item.id] for item in PUBLISHED_ITEMS[:8]] == [None, None, None, False, False, False, False, None]
