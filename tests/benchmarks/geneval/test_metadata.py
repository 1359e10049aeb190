"""GenEval's published lines as items: tagged where they are odd, stored and written back as they are, translated."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.benchmarks.download.contents import digest
from formalimg.benchmarks.download.pull import pull
from formalimg.benchmarks.download.source import source
from formalimg.benchmarks.geneval.form import TAGS, parse_metadata
from formalimg.benchmarks.items_file import decode_item, encode_item, write_items
from formalimg.benchmarks.loader import load_with_skipped
from formalimg.benchmarks.object_spec import ObjectSpec, to_formula, translate
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from tests.support.command import formalimg

ROOT = Path(__file__).parents[3]
OURS = ROOT / "examples" / "geneval" / "evaluation_metadata.jsonl"
PUBLISHED = ROOT.parent / "shared" / "official" / "geneval" / "evaluation_metadata.jsonl"
CUP = {"class": "cup", "count": 1}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "evaluation_metadata.jsonl"
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


def test_lines_become_items_in_their_order_with_the_task_as_level_and_tag() -> None:
    items = load("geneval", OURS)
    assert [item.id for item in items] == [str(number) for number in range(len(items))]
    assert Counter(item.level for item in items) == dict.fromkeys(range(1, 7), 2)
    assert all(item.tags == (TAGS[item.level - 1],) for item in items)
    assert load("geneval", OURS.parent) == items, "the folder that holds the file"


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published file does not lie beside the checkout")
def test_all_published_lines_load_without_tags_and_translate(tmp_path: Path) -> None:
    items = load("geneval", PUBLISHED)
    assert Counter(item.level for item in items) == dict(enumerate([80, 99, 80, 94, 100, 100], start=1))
    assert all(len(item.tags) == 1 for item in items)
    for item in items:
        assert decode_item(encode_item(item), "geneval") == item
        assert translate(item.spec)
        assert to_formula(item.spec)
    suite("geneval").write_published(items, tmp_path / "again")
    again, lines = (tmp_path / "again" / PUBLISHED.name).read_text(), PUBLISHED.read_text()
    assert [json.loads(line) for line in again.splitlines()] == [json.loads(line) for line in lines.splitlines()]
    pinned = source("geneval")
    assert digest({pinned.data[0]: PUBLISHED.read_bytes()}) == pinned.digest


def test_what_was_pulled_is_loaded_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "repository" / "prompts").mkdir(parents=True)
    (tmp_path / "repository" / "prompts" / OURS.name).write_bytes(OURS.read_bytes())
    with pytest.raises(FormalimgError, match="not the data files of geneval"):
        pull("geneval", tmp_path / "data", tmp_path / "repository")
    pull(replace(source("geneval"), digest=""), tmp_path / "data", tmp_path / "repository")
    assert load("geneval", tmp_path / "data") == load("geneval", OURS)


def test_odd_lines_are_tagged_and_only_those_without_anything_skipped(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"tag": "colors", "include": [{**CUP, "color": "teal"}], "prompt": "a teal cup", "note": 1},
        {"tag": "shapes", "include": [CUP], "prompt": "a round cup"},
        {"tag": "position", "include": [{**CUP, "position": ["above", 4]}], "prompt": "a cup above"},
        {"tag": "single_object", "include": [CUP]},
        {"tag": "single_object", "include": [CUP], "prompt": "a round cup"},
        "no json\n",
        "[1]\n",
        {"tag": "colors"},
    )
    loaded = load_with_skipped("geneval", path)
    assert {item.id: (item.level, item.tags[-1]) for item in loaded.items} == {
        "0": (4, "outside-vocabulary"),
        "1": (7, "unknown-task"),
        "2": (5, "unreadable-objects"),
        "3": (1, "no-prompt"),
        "4": (1, "duplicate-prompt"),
    }
    assert "extra-fields" in loaded.items[0].tags
    assert [one.where[-6:] for one in loaded.skipped] == ["line 6", "line 7", "line 8"]
    write_items(loaded.items, tmp_path / "items")
    assert load("geneval", tmp_path / "items") == loaded.items


def test_without_a_path_the_message_says_how_to_get_the_items() -> None:
    with pytest.raises(FormalimgError, match="formalimg pull geneval"):
        load("geneval")


def test_a_folder_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"evaluation_metadata\.jsonl"):
        load("geneval", tmp_path)


@pytest.mark.parametrize(
    ("metadata", "texts"),
    [
        ({"include": [CUP]}, ["(exists ?x (Is ?x 'cup'))"]),
        ({"include": [{"class": "cup", "count": 2}]}, ["(at-least 2 ?x (Is ?x 'cup'))"]),
        (
            {"include": [{"class": "cup", "count": 2}], "exclude": [{"class": "cup", "count": 3}]},
            ["(exactly 2 ?x (Is ?x 'cup'))"],
        ),
        (
            {"include": [{**CUP, "color": "red"}], "exclude": [{"class": "hot dog", "count": 1}]},
            ["(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))", "(at-most 0 ?x (Is ?x 'hot dog'))"],
        ),
        (
            {"include": [CUP, {"class": "dog", "count": 1, "position": ["left of", 0]}]},
            ["(exists ?x (and (Is ?x 'dog') (exists ?x0 (and (Is ?x0 'cup') (LeftOf ?x ?x0)))))"],
        ),
    ],
)
def test_translated_clauses(metadata: dict[str, Any], texts: list[str]) -> None:
    spec = parse_metadata(metadata)
    assert [clause.text for clause in translate(spec)] == texts
    assert all(str(clause.formula) == clause.text for clause in translate(spec))


def test_a_formula_says_what_the_item_says() -> None:
    spec = parse_metadata({"include": [{"class": "cup", "count": 2}], "exclude": [{"class": "cup", "count": 3}]})
    assert isinstance(spec, ObjectSpec)
    for number in range(5):
        cups = [SceneObject("cup", Box(100 * place, 0, 100 * place + 50, 50), "red") for place in range(number)]
        assert verify(to_formula(spec), Scene.of(cups)).passed == (number == 2)


def test_an_item_is_shown_with_its_objects_and_formulas() -> None:
    done = formalimg("items", "show", "geneval/8", "--items", str(OURS))
    assert done.code == 0, done.err
    assert "geneval/8, position" in done.out
    assert "1 knife, right of bowl" in done.out
    assert "(RightOf ?x ?x0)" in done.out
    assert "fewer than 4 carrot" in formalimg("items", "show", "geneval/4", "--items", str(OURS)).out
