"""`formalimg formula`: check, verify, and list vocabularies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import formalimg
from tests.support.published import FOLDER, published_instances

GOOD = "(exists ?x (and (Is ?x 'cup') (Has ?x 'red') (exists ?y (and (Is ?y 'fork') (LeftOf ?x ?y)))))"


def test_a_good_formula_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "cup.formula"
    path.write_text(GOOD)
    code, out, err = formalimg("formula", "check", str(path))
    assert (code, err) == (0, "")
    assert out == f"{path}: fine (knolling): K = 2, 4 clauses (1 attribute, 2 object, 1 relation)\n"


def test_formulas_are_given_as_they_are_or_in_files(tmp_path: Path) -> None:
    (tmp_path / "cup.formula").write_text(GOOD)
    code, out, err = formalimg("formula", "check", GOOD, str(tmp_path / "cup.formula"))
    assert (code, err) == (0, "")
    assert out.startswith("formula: fine (knolling): K = 2")
    assert out.endswith("2 formulas: 2 fine, 0 with problems\n")
    assert "formula: line 1, column 1: this '(' is never closed" in formalimg("formula", "check", "(exists ?x").err


def test_standard_input_is_the_default() -> None:
    for arguments in (("formula", "check"), ("formula", "check", "-")):
        code, out, _ = formalimg(*arguments, stdin=GOOD.encode())
        assert code == 0
        assert out.startswith("standard input: fine")


def test_problems_are_listed_with_carets_and_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "bad.formula"
    path.write_text("(exists ?x\n  (and (Is ?x 'cupp') (Has ?y 'red')))")
    code, out, err = formalimg("formula", "check", str(path))
    assert (code, out) == (1, "")
    assert err == (
        f"{path}: line 2, column 15: knolling has no class 'cupp': did you mean 'cup'?\n"
        "    (and (Is ?x 'cupp') (Has ?y 'red')))\n"
        "                ^^^^^^\n"
        f"{path}: line 2, column 28: ?y is not bound by a quantifier around it\n"
        "    (and (Is ?x 'cupp') (Has ?y 'red')))\n"
        "                             ^^\n"
    )


def test_another_suite() -> None:
    natural = b"(and (IsStyle 'photo') (exists ?x (Is ?x 'cat')))"
    assert formalimg("formula", "check", "--suite", "natural", stdin=natural).code == 0
    assert formalimg("formula", "check", "--suite", "knolling", stdin=natural).code == 1
    code, _, err = formalimg("formula", "check", "--suite", "natrual", stdin=natural)
    assert (code, err) == (2, "error: unknown suite 'natrual': did you mean natural?\n")


def test_expected_complexity_and_components() -> None:
    assert formalimg("formula", "check", "--k", "2", stdin=GOOD.encode()).code == 0
    code, _, err = formalimg("formula", "check", "--k", "3", stdin=GOOD.encode())
    assert code == 1
    assert "the complexity is K = 2, expected was 3" in err
    apart = b"(and (exists ?x (Is ?x 'cup')) (exists ?y (Is ?y 'fork')))"
    assert formalimg("formula", "check", "--single-component", stdin=apart).code == 1


def test_plausibility_is_an_option() -> None:
    absurd = b"(exists ?x (and (Is ?x 'lion') (HasShape ?x 'rectangular')))"
    assert formalimg("formula", "check", "--suite", "natural", stdin=absurd).code == 0
    code, _, err = formalimg("formula", "check", "--suite", "natural", "--plausible", stdin=absurd)
    assert code == 1
    assert "line 1, column 32" in err
    assert formalimg("formula", "check", "--plausible", stdin=GOOD.encode()).code == 2


def test_as_json() -> None:
    code, out, _ = formalimg("formula", "check", "--json", stdin=b"(exists ?x (Is ?x 'cupp'))")
    assert code == 1
    assert json.loads(out) == [
        {
            "file": "standard input",
            "ok": False,
            "problems": [
                {
                    "kind": "word",
                    "message": "knolling has no class 'cupp': did you mean 'cup'?",
                    "line": 1,
                    "column": 19,
                }
            ],
        }
    ]
    code, out, _ = formalimg("formula", "check", "--json", stdin=GOOD.encode())
    (found,) = json.loads(out)
    assert (code, found["ok"], found["k"], found["problems"]) == (0, True, 2, [])
    assert found["clauses"][-1] == {"kind": "relation", "text": "(LeftOf ?x ?y)"}


def test_published_instances_with_their_k(tmp_path: Path) -> None:
    published_instances()
    code, out, _ = formalimg("formula", "check", str(FOLDER / "knolling"))
    *lines, summary = out.splitlines()
    assert (code, summary) == (0, "30 formulas: 30 fine, 0 with problems")
    numbers = [int(line.split(".json:")[0].rsplit("/", 1)[1]) for line in lines]
    assert numbers == sorted(numbers)
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"dsl": GOOD, "k": 7}))
    assert formalimg("formula", "check", str(wrong)).code == 1


def test_a_folder_with_nothing_in_it(tmp_path: Path) -> None:
    code, _, err = formalimg("formula", "check", str(tmp_path))
    assert (code, err) == (2, f"error: the folder {tmp_path} contains no .json or .formula files\n")


def test_several_files_are_summed_up(tmp_path: Path) -> None:
    (tmp_path / "1.formula").write_text(GOOD)
    (tmp_path / "2.formula").write_text("(Is ?x 'cup')")
    code, out, err = formalimg("formula", "check", str(tmp_path))
    assert code == 1
    assert out.splitlines()[-1] == "2 formulas: 1 fine, 1 with problems"
    assert "2.formula: line 1, column 5" in err


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    code, _, err = formalimg("formula", "check", str(tmp_path / "none"))
    advice = "there is no such file, and a formula begins with a parenthesis"
    assert (code, err) == (2, f"error: cannot read {tmp_path / 'none'}: {advice}\n")
    (tmp_path / "a.json").write_text("{")
    assert "is not valid JSON" in formalimg("formula", "check", str(tmp_path / "a.json")).err
    (tmp_path / "b.json").write_text("[]")
    assert 'it needs "dsl"' in formalimg("formula", "check", str(tmp_path / "b.json")).err


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
    asked = ("formula", "verify", "--formula", about_nothing, "--scene", scene, "--semantics")
    assert formalimg(*asked, "classical").code == 0
    code, _, err = formalimg(*asked, "loose")
    assert code == 2
    assert "strict" in err


def test_verify_as_json(scene: str) -> None:
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ConceptMix", "unknown suite 'ConceptMix': did you mean conceptmix?"),
        ("Knoling", "unknown suite 'Knoling': did you mean knolling?"),
        ("zzz", "unknown suite 'zzz': choose from knolling, natural, conceptmix, or a .toml file"),
        ("cf-world", "cf-world are free text and have no vocabulary: choose from knolling, natural, conceptmix"),
        ("none.toml", "none.toml"),
    ],
)
def test_names_without_a_vocabulary_are_refused(name: str, message: str) -> None:
    done = formalimg("formula", "vocabulary", name)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
