"""Bad files of items: every problem on one line, with its place and what to do."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load, load_with_skipped
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError

DSL = "(exists ?x (and (Is ?x 'cup') (OnLeftSide ?x)))"
INSTANCE: dict[str, Any] = {"prompt": "A cup.", "dsl": DSL, "cnf": DSL, "k": 1, "object_classes": ["cup"]}
LINE: dict[str, Any] = {
    "format": 1,
    "suite": "knolling",
    "version": "1",
    "id": "1",
    "level": 1,
    "prompt": "A cup.",
    "dsl": DSL,
}


def published(folder: Path, files: dict[str, Any]) -> Path:
    (folder / "knolling").mkdir(parents=True)
    for name, data in files.items():
        text = data if isinstance(data, bytes) else json.dumps(data).encode()
        (folder / "knolling" / name).write_bytes(text)
    return folder


def lines(folder: Path, *entries: Any) -> Path:
    path = folder / "items.jsonl"
    path.write_bytes(b"".join((e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\n" for e in entries))
    return path


NO_INSTANCES: dict[str, tuple[Any, str]] = {
    "not JSON": (b"{", "not valid JSON"),
    "empty": (b"", "not valid JSON"),
    "deep": (b"[" * 100_000, "not valid JSON"),
    "huge": (b" " * 2_000_000, "longer than"),
    "a list": ([], "must be a JSON object"),
}

BAD_LINES: dict[str, tuple[Any, str]] = {
    "empty line": (b"", "an empty line"),
    "not JSON": (b"{,}", "not valid JSON"),
    "missing": ({key: value for key, value in LINE.items() if key != "dsl"}, "dsl missing"),
    "unknown field": (LINE | {"Level": 1}, "unknown field Level"),
    "other format": (LINE | {"format": 2}, "made by another version"),
    "other suite": (LINE | {"suite": "natural"}, "but 'knolling' was asked for"),
    "id is a number": (LINE | {"id": 1}, 'id must be text: write "1"'),
    "id is a path": (LINE | {"id": "../../etc"}, "must be letters"),
    "wrong level": (LINE | {"level": 3}, "the level is 3"),
    "unknown word": (LINE | {"dsl": DSL.replace("cup", "cupp")}, "did you mean 'cup'"),
    "witness of nothing": (LINE | {"witness": {"objects": []}}, "does not satisfy"),
    "witness unreadable": (LINE | {"witness": {"objects": [{"label": "cup"}]}}, "has no box_2d"),
    "witness is null": (LINE | {"witness": None}, "a scene is an object"),
    "tags are text": (LINE | {"tags": "easy"}, "tags must be a list"),
    "endless": (b'{"prompt": "' + b"x" * 3_000_000, "longer than"),
}


@pytest.mark.parametrize("name", NO_INSTANCES)
def test_a_file_that_is_no_instance_is_skipped_and_named(name: str, tmp_path: Path) -> None:
    data, says = NO_INSTANCES[name]
    loaded = load_with_skipped("knolling", published(tmp_path, {"1.json": INSTANCE, "2.json": data}))
    items, (skipped,) = loaded.items, loaded.skipped
    assert [item.id for item in items] == ["1"]
    assert skipped.where == str(tmp_path / "knolling" / "2.json")
    assert says in skipped.why
    assert "\n" not in skipped.why
    with pytest.raises(ItemsError, match=says):  # nothing else is there
        load("knolling", tmp_path / "knolling" / "2.json")


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named_with_its_number(name: str, tmp_path: Path) -> None:
    data, says = BAD_LINES[name]
    with pytest.raises(ItemsError) as caught:
        load("knolling", lines(tmp_path, LINE | {"id": "7"}, data))
    (finding,) = caught.value.findings
    assert finding.startswith(f"{tmp_path / 'items.jsonl'}, line 2: ")
    assert says in finding
    assert len(finding) < 500


@pytest.mark.parametrize(
    ("suite", "old"), [("conceptmix", '"question": "'), ("conceptmix", '"item": "'), ("cf-world", '"question": "')]
)
def test_half_a_character_is_found_wherever_it_stands(suite: str, old: str) -> None:
    line = encode_item(load(suite)[0])
    assert decode_item(line, suite) == load(suite)[0]
    with pytest.raises(ItemsError):
        decode_item(line.replace(old, rf"{old}\ud800", 1), suite)


def test_all_problems_are_told_up_to_a_limit(tmp_path: Path) -> None:
    bad = [LINE | {"id": str(number), "level": 5} for number in range(8)]
    with pytest.raises(ItemsError) as caught:
        load("knolling", lines(tmp_path, LINE | {"id": "9"}, *bad))
    assert [finding.split(": ")[0].split(" ")[-1] for finding in caught.value.findings] == list("23456789")
    with pytest.raises(ItemsError, match="stopped after 20 problems") as caught:
        load("knolling", lines(tmp_path, *bad, *bad, *bad, *bad))
    assert len(str(caught.value).splitlines()) == 21
    assert pickle.loads(pickle.dumps(caught.value)).findings == caught.value.findings


def test_ids_are_all_of_one_kind_and_none_is_there_twice(tmp_path: Path) -> None:
    with pytest.raises(ItemsError) as caught:
        load("knolling", lines(tmp_path, LINE, LINE | {"prompt": "other"}, LINE | {"id": "a"}, LINE | {"id": "01"}))
    twice, name, padded = caught.value.findings
    assert "line 2: the id 1 is that of line 1 too" in twice
    assert "line 3: the id a: ids must be all numbers or all names" in name
    assert "line 4: the id 01: ids must be" in padded


def test_published_files_with_odd_names_are_read_under_names_of_their_own(tmp_path: Path) -> None:
    files = {
        "1.json": INSTANCE,
        "07.json": INSTANCE,
        "x.json": INSTANCE,
        "_x.json": INSTANCE,
        "²5.json": INSTANCE,
        "._2.json": b"",
        "a.txt": b"",
    }
    items = load("knolling", published(tmp_path, files))
    assert {item.id: item.tags for item in items} == {
        "1": (),
        "07": ("odd-name",),
        "5": ("odd-name",),
        "x": ("odd-name",),
        "x-2": ("odd-name",),
    }
    write_items(items, tmp_path / "again")
    assert load("knolling", tmp_path / "again") == items


def test_paths_that_hold_no_items(tmp_path: Path) -> None:
    natural = tmp_path / "natural"
    natural.mkdir()
    (natural / "1.json").write_text(json.dumps(INSTANCE))
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "none.jsonl").write_text("")
    both = tmp_path / "both"
    (both / "benchmarks").mkdir(parents=True)
    lines(both, LINE)
    for path, says in (
        (tmp_path / "missing", "there is nothing at"),
        (tmp_path / "missing.jsonl", "there is no file"),
        (tmp_path / "notes.txt", "is not an items file"),
        (tmp_path / "empty", "holds no items of knolling"),
        (tmp_path / "none.jsonl", "holds no items of knolling"),
        (natural, "holds items of natural, not of knolling"),
        (natural / "1.json", "holds items of natural, not of knolling"),
        (both, "holds both"),
    ):
        with pytest.raises(FormalimgError, match=says) as caught:
            load("knolling", path)
        assert "\n" not in str(caught.value)


def test_unknown_suites() -> None:
    with pytest.raises(FormalimgError, match="did you mean knolling"):
        load("Knoling", "x")
    with pytest.raises(FormalimgError, match="choose from knolling, knolling-counts, natural"):
        load("zzz", "x")
