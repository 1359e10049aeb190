"""Items written are items read, in the published form and in ours."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from formalimg.benchmarks.formal.published import write_published
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import in_order, write_items
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError
from formalimg.logic.parser import parse
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item
from tests.support.published import FOLDER, Instance, published_instances

CUP = "(exists ?x (and (Is ?x 'cup') (OnLeftSide ?x)))"
SCENE = Scene.of([SceneObject("cup", Box(0, 0, 100, 100.5), "red")])
SUITES = ("knolling", "natural")


def cup(name: str = "1", prompt: str = "A cup on the left.", **more: object) -> Item[FormulaSpec]:
    item = Item("knolling", name, 1, prompt, FormulaSpec.of(parse(CUP), SCENE), ("easy",), "1.0")
    return replace(item, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def instances() -> dict[tuple[str, str], Instance]:
    return {(instance.suite, instance.id): instance for instance in published_instances()}


def test_published_folders_load_from_every_path_that_means_them(instances: dict[tuple[str, str], Instance]) -> None:
    for suite in SUITES:
        items = load(suite, FOLDER.parent)
        assert [(item.suite, item.id) for item in items] == sorted(
            (key for key in instances if key[0] == suite), key=lambda key: int(key[1])
        )
        assert load(suite, FOLDER) == load(suite, str(FOLDER / suite)) == items
        assert load(suite, FOLDER / suite / f"{items[3].id}.json") == [items[3]]
        for item in items:
            data = instances[suite, item.id].data
            assert (item.prompt, str(item.spec.formula), item.level) == (data["prompt"], data["dsl"], data["k"])
            assert item.spec.object_classes == tuple(sorted(data["object_classes"]))
            assert (item.spec.style is None) == ("IsStyle" not in data["dsl"])
            has_above = suite == "natural" and "(Above " in data["dsl"]
            assert (item.spec.witness, item.tags) == (None, ("unknown-predicate",) if has_above else ())


def test_published_items_survive_both_forms(instances: dict[tuple[str, str], Instance], tmp_path: Path) -> None:
    everything = [item for suite in SUITES for item in load(suite, FOLDER)]
    assert len(everything) == 62
    write_published(everything, tmp_path)
    for suite in SUITES:
        items = load(suite, FOLDER)
        assert load(suite, tmp_path) == items
        write_items(items, tmp_path / suite)
        assert load(suite, tmp_path / suite) == load(suite, tmp_path / suite / "items.jsonl") == items
        for item in items:
            original = (FOLDER / suite / f"{item.id}.json").read_text(encoding="utf-8")
            written = (tmp_path / "benchmarks" / suite / f"{item.id}.json").read_text(encoding="utf-8")
            # The order of published clauses and classes hangs on a hash seed; all else is the same, byte by byte.
            theirs, ours = json.loads(original), json.loads(written)
            assert list(ours) == list(theirs)
            assert sorted(ours["cnf"]) == sorted(theirs["cnf"])
            assert ours["object_classes"] == sorted(theirs["object_classes"])
            theirs |= {"cnf": ours["cnf"], "object_classes": ours["object_classes"]}
            assert json.dumps(theirs, indent=4) == written


def test_items_with_witness_tags_and_any_words_survive(tmp_path: Path) -> None:
    prompt = 'Zoë said: "a\u2028cup"\n\ttwice \\ 🍵'
    either = FormulaSpec(parse("(or (IsStyle 'photo') (IsStyle 'cartoon'))"), Scene.of([]), "cartoon")
    knolling = [cup("10", prompt), cup("9"), cup("2", tags=(), version="")]
    assert load("knolling", write_items(knolling, tmp_path)) == [knolling[2], knolling[1], knolling[0]]
    natural = [Item("natural", "b.2", 0, "x", either), Item("natural", "a-1", 0, "y", either)]
    write_items(natural, tmp_path / "new" / "folder")
    assert load("natural", tmp_path / "new" / "folder") == in_order(natural)


def test_the_same_items_give_the_same_bytes_in_any_order_and_under_any_hash_seed(tmp_path: Path) -> None:
    items = [cup(str(number), tags=("b", "a")) for number in range(30)]
    expected = write_items(items, tmp_path / "a").read_bytes()
    random.Random(1).shuffle(items)
    assert write_items(items, tmp_path / "b").read_bytes() == expected
    program = (
        "import sys; from formalimg.benchmarks.loader import load; "
        "from formalimg.benchmarks.items_file import write_items; "
        "from formalimg.benchmarks.formal.published import write_published; "
        "items = load('knolling', sys.argv[1]); write_items(items, sys.argv[2]); write_published(items, sys.argv[2])"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-c", program, str(tmp_path / "a"), str(tmp_path / seed)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        assert (tmp_path / seed / "items.jsonl").read_bytes() == expected
    one, two = (sorted((tmp_path / seed / "benchmarks" / "knolling").iterdir()) for seed in ("1", "2"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_writing_replaces_the_file_at_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_items([cup()], tmp_path)
    write_items([cup("2")], tmp_path)
    assert [item.id for item in load("knolling", tmp_path)] == ["2"]
    with pytest.raises(ItemsError):
        write_items([cup("3"), cup("3")], tmp_path)
    assert [item.id for item in load("knolling", tmp_path)] == ["2"]
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([cup("1"), cup("1", "other words")], "only once"),
        ([cup("1"), cup("one")], "all numbers or all names"),
        ([cup("1"), replace(cup("2"), suite="natural")], "but 'knolling' was asked for"),
        ([cup("../1")], "must be letters"),
        ([cup(level=2)], "has K = 1"),
        ([cup(prompt=" ")], "prompt must be text"),
        ([cup(prompt="half \ud800")], "not UTF-8"),
        ([cup(tags=["list"])], "would not read back"),
        ([cup(spec=FormulaSpec.of(parse(CUP), Scene.of([])))], "does not satisfy the formula"),
        ([cup(spec=FormulaSpec.of(parse(CUP.replace("cup", "cupp"))))], "did you mean 'cup'?"),
        ([cup(level={1})], "cannot be written as JSON"),
    ],
)
def test_items_that_would_not_read_back_are_not_written(
    items: list[Item[FormulaSpec]], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ItemsError, match=says.replace("?", r"\?")):
        write_items(items, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_place_in_the_published_form_is_not_written(tmp_path: Path) -> None:
    for items, says in (
        ([cup("one")], "ids are numbers"),
        ([cup("1"), cup("1")], "two items"),
        ([cup(level=3)], "has K = 1"),
        ([cup(spec=FormulaSpec(parse("(Is ?x 'cup')")))], "not bound"),
    ):
        with pytest.raises(ItemsError, match=says):
            write_published(items, tmp_path)
    assert list(tmp_path.iterdir()) == []
    write_published([cup()], tmp_path)
    with pytest.raises(FormalimgError, match="is not empty"):
        write_published([cup("2")], tmp_path)
    assert [item.id for item in load("knolling", tmp_path)] == ["1"]


def test_writing_where_one_may_not_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for write in (write_items, write_published):
        with pytest.raises(FormalimgError, match="cannot write") as caught:
            write([cup()], tmp_path / "file")
        assert "\n" not in str(caught.value)
