"""Items that stay in their file: what is decoded and checked when, and that nobody can tell them from others."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks import filed_items
from formalimg.benchmarks.filed_items import require_valid
from formalimg.benchmarks.formal import spec as formula_spec
from formalimg.benchmarks.items_file import FiledItem, encode_item, formula_text, write_items
from formalimg.benchmarks.loader import load, open_items
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.runs.config import RunOptions
from formalimg.types import Item


def _noting(function: Callable[[str], Any], texts: list[str]) -> Callable[[str], Any]:
    def noted(text: str) -> Any:
        texts.append(text)
        return function(text)

    return noted


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The formulas that are parsed in this test."""
    texts: list[str] = []
    for name in ("parse", "try_parse"):
        monkeypatch.setattr(formula_spec, name, _noting(getattr(formula_spec, name), texts))
    return texts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An items file with ten items of each level of Knolling."""
    return write_items([item for item in load("knolling") if int(item.id) % 20 == 0], tmp_path)


def test_a_run_of_few_items_decodes_only_these(path: Path, parsed: list[str]) -> None:
    parsed.clear()
    options = RunOptions(suite="knolling", items=path, per_level=1)
    selected = options.selected.values()
    assert len(options.suite_items) == 100
    assert [formula_text(item) for item in selected] == parsed
    assert len(parsed) == len({item.level for item in options.suite_items}) == 10


@pytest.mark.parametrize("suite", ["knolling", "conceptmix", "cf-world"])
def test_they_are_like_loaded_items(suite: str, tmp_path: Path) -> None:
    loaded = load(suite)[:30]
    opened = open_items(suite, write_items(loaded, tmp_path)).items
    for unchecked in (True, False):
        assert opened == loaded
        assert loaded == opened
        for with_proof in (True, False):
            assert [encode_item(item, with_proof=with_proof) for item in opened] == [
                encode_item(item, with_proof=with_proof) for item in loaded
            ]
        assert list(map(formula_text, opened)) == list(map(formula_text, loaded))
        if unchecked:
            require_valid(opened)
    assert type(pickle.loads(pickle.dumps(opened[3]))) is Item
    assert pickle.loads(pickle.dumps(opened[3])) == loaded[3]
    assert encode_item(replace(opened[3], tags=("own",))) == encode_item(replace(loaded[3], tags=("own",)))
    assert opened[3] != replace(loaded[3], prompt="another")
    assert opened[3] != loaded[4]


def test_a_line_that_is_not_as_we_write_it_is_encoded_as_the_item(path: Path) -> None:
    line = json.loads(path.read_text().splitlines()[0])
    line["dsl"] = f" {line['dsl'].replace(') (', ')  (')} "
    path.write_text(json.dumps(line, indent=None, separators=(",", ":")) + "\n")
    (opened,) = open_items("knolling", path).items
    require_valid([opened])
    assert [encode_item(opened), formula_text(opened)] == [
        encode_item(load("knolling")[0]),
        load("knolling")[0].spec.text,
    ]


def test_a_bad_specification_is_said_before_the_run_if_it_is_selected(path: Path) -> None:
    lines = path.read_text().splitlines()
    lines[5] = lines[5].replace('"dsl": "(', '"dsl": "((')
    path.write_text("\n".join(lines) + "\n")
    assert len(RunOptions(suite="knolling", items=path, per_level=5).suite_items) == 100
    with pytest.raises(ItemsError, match=r"items.jsonl, line 6: dsl"):
        RunOptions(suite="knolling", items=path, per_level=6).suite_items  # noqa: B018
    with pytest.raises(ItemsError, match="line 6"):
        open_items("knolling", path).items[5].spec  # noqa: B018


def test_a_head_that_is_not_valid_is_said_whatever_is_selected(path: Path) -> None:
    lines = path.read_text().splitlines()
    lines[6] = lines[5]
    lines[99] = lines[99].replace('"level": 10', '"level": "ten"')
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ItemsError, match=r"line 7: the id 100 is that of line 6 too(.|\n)*line 100: level"):
        RunOptions(suite="knolling", items=path, per_level=1).suite_items  # noqa: B018


def test_a_file_that_is_changed_while_it_is_used_is_refused(path: Path) -> None:
    items = open_items("knolling", path).items
    require_valid(items)
    with path.open("r+b") as file:
        file.seek(300)
        file.write(b"#")
    with pytest.raises(FormalimgError, match="was changed while it was in use"):
        _ = items[0].spec
    assert items[50].spec == load("knolling")[50 * 20].spec


def test_a_large_file_is_checked_once_and_again_when_it_has_changed(
    path: Path, parsed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(filed_items, "_LARGE", 1)
    first = RunOptions(suite="knolling", items=path).suite_items
    parsed.clear()
    again = RunOptions(suite="knolling", items=path).suite_items
    assert [item.id for item in again] == [item.id for item in first]
    assert not parsed
    assert list(map(encode_item, again)) == list(map(encode_item, first))
    assert not parsed
    assert all(isinstance(item, FiledItem) for item in again)
    assert list(again) == list(first)
    parsed.clear()
    path.write_text(path.read_text().replace("The image", "An image", 1))
    assert len(RunOptions(suite="knolling", items=path).suite_items) == len(parsed) == 100


def test_what_is_remembered_of_a_file_may_be_damaged(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(filed_items, "_LARGE", 1)
    first = list(RunOptions(suite="knolling", items=path).suite_items)
    (marker,) = (tmp_path / "cache" / "checked-items").iterdir()
    for text in ("", "[]", "{}", '{"state": 2, "heads": [[1]]}', '{"state": 9, "heads": []}'):
        marker.write_text(text)
        assert list(RunOptions(suite="knolling", items=path).suite_items) == first
