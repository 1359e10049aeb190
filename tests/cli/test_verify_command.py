"""`formalimg formula verify`: its output and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import formalimg

CUP_LEFT = "(exists ?x (and (Is ?x 'cup') (OnLeftSide ?x)))"


@pytest.fixture
def scene(tmp_path: Path) -> str:
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({"objects": [{"label": "cup", "color": "red", "box_2d": [600, 0, 700, 100]}]}))
    return str(path)


def test_holds(scene: str) -> None:
    assert formalimg("formula", "verify", "--formula", "(exists ?x (Is ?x 'cup'))", "--scene", scene) == (
        0,
        "holds (strict, 1 object)\n",
        "",
    )


def test_does_not_hold_and_says_why(scene: str) -> None:
    code, out, err = formalimg("formula", "verify", "--formula", CUP_LEFT, "--scene", scene, "--explain")
    assert (code, err) == (1, "")
    assert out == (
        "does not hold (strict, 1 object)\n"
        "\n"
        "✗ exists ?x: nothing can be ?x\n"
        "    wanted (Is ?x 'cup')\n"
        "           (OnLeftSide ?x)\n"
        "  ✗ ?x = red cup #0: (OnLeftSide ?x): centre x 650 ≥ 500\n"
    )


def test_semantics(scene: str) -> None:
    about_nothing = "(forall ?x (implies (Is ?x 'fork') (Has ?x 'red')))"
    assert formalimg("formula", "verify", "--formula", about_nothing, "--scene", scene).code == 1
    assert (
        formalimg("formula", "verify", "--formula", about_nothing, "--scene", scene, "--semantics", "classical").code
        == 0
    )
    code, _, err = formalimg("formula", "verify", "--formula", about_nothing, "--scene", scene, "--semantics", "loose")
    assert code == 2
    assert "strict" in err


def test_as_json(scene: str) -> None:
    code, out, _ = formalimg("formula", "verify", "--formula", CUP_LEFT, "--scene", scene, "--json")
    assert code == 1
    data = json.loads(out)
    assert data["passed"] is False
    assert data["proof"]["parts"][0]["reason"] == "centre x 650 ≥ 500"


def test_a_formula_may_begin_with_a_comment(scene: str) -> None:
    assert formalimg("formula", "verify", "--formula", f"; why\n{CUP_LEFT}", "--scene", scene).code == 1


def test_formula_from_a_file_and_from_standard_input(scene: str, tmp_path: Path) -> None:
    path = tmp_path / "cup.formula"
    path.write_text(CUP_LEFT)
    assert formalimg("formula", "verify", "--formula", str(path), "--scene", scene).code == 1
    assert formalimg("formula", "verify", "--formula", "-", "--scene", scene, stdin=CUP_LEFT.encode()).code == 1


def test_the_suite_is_found_out(scene: str) -> None:
    natural = "(and (IsStyle 'photo') (exists ?x (HasColor ?x 'red')))"
    assert formalimg("formula", "verify", "--formula", natural, "--scene", scene, "--style", "photo").code == 0
    assert formalimg("formula", "verify", "--formula", natural, "--scene", scene, "--style", "cartoon").code == 1
    code, _, err = formalimg("formula", "verify", "--formula", natural, "--scene", scene)
    assert code == 2
    assert "style of the image is not known" in err
    code, _, err = formalimg("formula", "verify", "--formula", natural, "--scene", scene, "--style", "foto")
    assert (code, err) == (
        2,
        "error: unknown style 'foto': natural has photo, oil painting, cartoon, cyberpunk, pixel art\n",
    )
    assert formalimg("formula", "verify", "--formula", natural, "--scene", scene, "--suite", "knolling").code == 2


def test_unknown_words_in_the_scene_are_said(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({"objects": [{"label": "cutting board", "color": "red", "box_2d": [0, 0, 1, 1]}]}))
    code, _, err = formalimg(
        "formula", "verify", "--formula", "(exists ?x (Is ?x 'cutting_board'))", "--scene", str(path)
    )
    assert code == 1
    assert err == (
        f"warning: {path}: objects[0]: knolling has no class 'cutting board'; did you mean 'cutting_board'?\n"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", 'a scene is an object with "objects"'),
        ('{"objects": null}', "null"),
        ('{"objects": [{"label": "cup", "box_2d": [3, 0, 1, 1]}]}', "corners swapped"),
        ('{"objects": [{"label": "cup"}]}', "has no box_2d"),
    ],
)
def test_scenes_that_cannot_be_read(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "scene.json"
    path.write_text(text)
    code, out, err = formalimg("formula", "verify", "--formula", CUP_LEFT, "--scene", str(path))
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {path}")
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_scene_that_is_not_there() -> None:
    code, _, err = formalimg("formula", "verify", "--formula", CUP_LEFT, "--scene", "none.json")
    assert (code, err) == (2, "error: cannot read none.json: No such file or directory\n")


def test_a_formula_that_is_neither_text_nor_file(scene: str) -> None:
    code, _, err = formalimg("formula", "verify", "--formula", "exists ?x", "--scene", scene)
    assert code == 2
    assert "cannot read exists ?x" in err
