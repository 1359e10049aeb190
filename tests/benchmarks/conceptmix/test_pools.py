"""Concepts of the user's own: invalid files are reported before anything is drawn, with what to do about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.errors import FormalimgError

# A file, its text, and what is said of it.
WRONG = [
    ("object.toml", "", r'it has no values: write values = \["...", "..."\]'),
    ("object.toml", "values = []", "it has no values"),
    ("object.toml", 'values = "yak"', "values must be a list of strings"),
    ("object.toml", "values = [1]", "values must be a list of strings"),
    ("object.toml", 'values = ["a", "a"]', "'a' occurs twice"),
    ("object.toml", 'values = ["a "]', "'a ' is not a valid value"),
    ("object.toml", 'values = ["a{b}"]', "is not a valid value"),
    ("object.toml", 'values = ["a"]\neasy = ["b"]', "'b' is not among its values"),
    ("object.toml", 'values = ["a"]\neasy = ["a"]\nhard = ["a"]', "'a' is both easy and hard"),
    ("object.toml", 'values = ["a"]\neasy = "a"', "easy must be a list of strings"),
    ("object.toml", "values", "cannot be read as concepts"),
    ("object.toml", 'value = ["a"]', "unknown key 'value': did you mean values?"),
    ("object.toml", 'values = ["a"]\nxyz = 1', "'xyz': choose from values, statement"),
    ("object.toml", '[object]\nvalues = ["a"]', r"remove the line \[object\]"),
    ("color.toml", 'values = ["a"]\nstatement = 3', "statement must be a non-empty string, not 3"),
    ("color.toml", 'values = ["a"]\nsentences = 3', "sentences must be a table of texts"),
    ("color.toml", 'values = ["a"]\nsentences = {a = 3}', "a must be a non-empty string, not 3"),
    ("color.toml", 'values = ["a"]\nstatement = "the {object} is nice"', r"put \{value\} into it"),
    ("color.toml", 'values = ["a"]\nstatement = "it is {value}"', r"put \{object\} or \{objects\} into it"),
    ("color.toml", 'values = ["a"]\nstatement = "the {thing} is {value}"', r"has \{thing\}: it may have \{value\}"),
    ("color.toml", 'values = ["a"]\nstatement = "the {object} is {value}}"', "a brace that is not a place"),
    ("color.toml", 'values = ["a"]\nof_people = "the {object} is nice"', r"put \{value\} into it"),
    (
        "style.toml",
        'values = ["a"]\nsentences = {a = "the {object} is a"}',
        r"\{object\}: it may have \{value\}, \{value",
    ),
    ("number.toml", 'values = ["two"]', "'two' is not a number of objects: write digits, 1 or more"),
    ("number.toml", 'values = ["0"]', "'0' is not a number of objects"),
    ("number.toml", 'values = ["02"]', "'02' is not a number of objects"),
    (
        "spatial.toml",
        'values = ["near"]\nstatement = "{ObjectA} is {value}"',
        r"put \{ObjectA\} and \{ObjectB\} into it",
    ),
    (
        "spatial.toml",
        'values = ["near"]\nstatement = "near the {ObjectB} the {ObjectA} is {value}"',
        "'near' cannot be used in prompts: write it as 'the {ObjectA} is near the {ObjectB}'",
    ),
    (
        "spatial.toml",
        'values = ["near"]\nsentences = {near = "the {ObjectA} is beside the {ObjectB}"}',
        "write it as 'the {ObjectA} is near the {ObjectB}'",
    ),
    ("color.json", "", 'it is empty: write {"category"'),
    ("color.json", "[]", 'it must be an object with the concepts in skill: write {"category"'),
    ("color.json", "{", "cannot be read as concepts"),
    ("color.json", '{"category": "color"}', "it must be an object with the concepts in skill"),
    (
        "color.json",
        '{"category": "shape", "skill": {"a": ""}}',
        "its category is 'shape', not 'color': rename the file",
    ),
    ("color.json", '{"category": "color", "skill": {"a": 3}}', "a must be a non-empty string, not 3"),
    ("color.json", '{"skills": {}, "skill": {"a": ""}}', "'skills': did you mean skill?"),
    ("color.json", '{"description": "{skill}", "skill": {"a": ""}}', r"put {object} or {objects} into it"),
    ("color.json", "[" * 100_000, "cannot be read as concepts"),
]


@pytest.mark.parametrize(("name", "text", "message"), WRONG)
def test_a_file_that_makes_no_sense_says_what_to_do(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormalimgError) as caught:
        load_pools(tmp_path)
    error = str(caught.value)
    assert error.startswith(f"{tmp_path / name} cannot be read as concepts: ")
    assert "\n" not in error or "line" in error
    assert message.replace("\\", "") in error


def test_folders_that_make_no_sense_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="there is no folder"):
        load_pools(tmp_path / "none")
    with pytest.raises(FormalimgError, match=r"add files such as color\.toml"):
        load_pools(tmp_path)
    for name in ("color.toml", "color.json"):
        (tmp_path / name).write_text("")
    with pytest.raises(FormalimgError, match="keep the one you mean"):
        load_pools(tmp_path)


def test_both_forms_give_the_same_pool_and_others_stay_ours(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    (one / "spatial.toml").write_text(
        'values = ["near", "left"]\nsentences = {left = "the {ObjectA} is west of the {ObjectB}"}'
    )
    skill = {"left": "{ObjectA} is west of {ObjectB}.", "near": ""}
    published = {"category": "spatial", "description": "{ObjectA} is {skill} {ObjectB}.", "skill": skill}
    (other / "spatial.json").write_text(json.dumps(published))
    ours, mine = load_pools(), load_pools(one)
    assert mine == load_pools(other)
    assert mine["spatial"].values == ("left", "near")
    assert mine["spatial"].sentence("left") == "the {ObjectA} is west of the {ObjectB}"
    assert {**mine, "spatial": ours["spatial"]} == ours


def test_a_difficulty_that_no_concept_has_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "color.toml").write_text('values = ["red"]\neasy = ["red"]')
    (tmp_path / "spatial.toml").write_text('values = ["left"]')
    assert load_pools(tmp_path, difficulty="easy")["spatial"] == load_pools(tmp_path)["spatial"]
    assert load_pools(tmp_path, difficulty="hard")["size"].values == ("huge",)
    for category in ("number", "shape", "size", "style", "texture"):
        (tmp_path / f"{category}.toml").write_text('values = ["2"]')
    with pytest.raises(FormalimgError, match=r"none of these concepts is known to be hard: list some as hard = "):
        load_pools(tmp_path, difficulty="hard")
    assert load_pools(difficulty="hard")["color"].values == ("black", "brown")


def test_every_category_but_objects_has_easy_and_hard_values() -> None:
    for category, pool in load_pools().items():
        assert bool(pool.easy) == bool(pool.hard) == (category != "object")
    easy, hard = load_pools(difficulty="easy"), load_pools(difficulty="hard")
    assert easy["object"] == hard["object"]
    for category in set(easy) - {"object"}:
        assert not set(easy[category].values) & set(hard[category].values)
