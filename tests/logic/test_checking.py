"""Checking formulas against vocabularies, and reading these."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.syntax import And, Atom, Exists, Value, Variable
from formalimg.logic.vocabulary import VocabularyError, closest_match, vocabulary, vocabulary_names


def found(text: str, suite: str = "knolling", **options: object) -> list[tuple[str, int, int]]:
    return [(p.kind, p.line, p.column) for p in check(text, suite, **options)]  # type: ignore[arg-type]


def message(text: str, suite: str = "knolling") -> str:
    (problem,) = check(text, suite)
    return problem.message


@pytest.mark.parametrize(
    ("text", "suite"),
    [
        ("(exists ?x (and (Is ?x 'cutting_board') (Has ?x 'gray') (InCenter ?x)))", "knolling"),
        ("(forall ?x (implies (Is ?x 'toy car') (HasState ?x 'broken')))", "natural"),
        ("(and (IsStyle 'pixel art') (exists ?x (and (Is ?x 'orange') (HasColor ?x 'orange'))))", "natural"),
        ("(exists ?x (iff (Is ?x 'cup') (not (OnLeftSide ?x))))", "knolling"),
    ],
)
def test_nothing_is_wrong_with_good_formulas(text: str, suite: str) -> None:
    assert check(text, suite) == []
    assert check(parse(text), suite) == []


def test_every_predicate_of_knolling_is_usable() -> None:
    for predicate in vocabulary("knolling").predicates.values():
        words = {"variable": "?x", "class": "'cup'", "color": "'red'"}
        arguments = " ".join(words[kind] for kind in predicate.arguments)
        assert check(f"(exists ?x ({predicate.name} {arguments}))", "knolling") == []


def test_scope() -> None:
    assert found("(exists ?x (LeftOf ?x ?y))") == [("scope", 1, 23)]
    assert found("(and (exists ?x (InCenter ?x)) (InCenter ?x))") == [("scope", 1, 42)]
    assert "did you mean ?cup?" in message("(exists ?cup (and (InCenter ?cup) (LeftOf ?cup ?cups)))")


def test_shadowing_is_allowed() -> None:
    assert check("(exists ?x (and (InCenter ?x) (exists ?x (OnLeftSide ?x))))", "knolling") == []
    assert check("(and (exists ?x (InCenter ?x)) (exists ?x (OnLeftSide ?x)))", "knolling") == []


def test_unused_variables() -> None:
    assert found("(exists ?x (exists ?y (InCenter ?y)))") == [("unused", 1, 9)]
    assert found("(exists ?x (exists ?x (InCenter ?x)))") == [("unused", 1, 9)]
    assert found("(forall ?x (exists ?y (and (InCenter ?x) (exists ?x (LeftOf ?x ?y)))))") == []


def test_arity() -> None:
    assert found("(exists ?x (LeftOf ?x))") == [("arity", 1, 12)]
    assert "(LeftOf <variable> <variable>), here it has 1 argument" in message("(exists ?x (LeftOf ?x))")
    assert found("(exists ?x (InCenter ?x 'cup'))") == [("arity", 1, 12)]


def test_argument_kinds() -> None:
    assert found("(exists ?x (Is 'cup' ?x))") == [("argument", 1, 16), ("argument", 1, 22)]
    wrong = "(exists ?x (HasMaterial ?x 'red'))"
    assert found(wrong, "natural") == [("argument", 1, 28)]
    assert message(wrong, "natural") == "HasMaterial takes a material, and 'red' is a color: did you mean HasColor?"
    assert message("(exists ?x (Is ?x 'red'))") == "Is takes a class, and 'red' is a color: did you mean Has?"


def test_unknown_words_come_with_the_nearest_known_one() -> None:
    assert found("(exists ?x (Is ?x 'laptpo'))") == [("word", 1, 19)]
    assert "did you mean 'laptop'?" in message("(exists ?x (Is ?x 'laptpo'))")
    assert "did you mean 'cutting_board'?" in message("(exists ?x (Is ?x 'Cutting Board'))")
    assert "choose from red, green" in message("(exists ?x (Has ?x 'zzz'))")
    assert found("(exists ?x (LeftOff ?x ?x))") == [("predicate", 1, 12)]
    assert "did you mean LeftOf?" in message("(exists ?x (LeftOff ?x ?x))")
    assert "it knows Is, Has" in message("(exists ?x (Qqq ?x))")


def test_long_words_do_not_make_long_messages() -> None:
    long = "a" * 50_000
    for text in (f"(exists ?x (Is ?x '{long}'))", f"(exists ?x ({long} ?x))", f"(Is ?{long} 'cup')"):
        for problem in check(text, "knolling"):
            assert len(problem.message) < 400
            assert len(problem.render()) < 800


def test_all_problems_at_once_in_the_order_of_the_text() -> None:
    text = "(exists ?a (exists ?b (and (Is ?a 'cupp')\n (Has ?c 'pink') (Above ?a) (Nope ?a))))"
    assert found(text) == [("unused", 1, 20), ("word", 1, 35), ("scope", 2, 7), ("arity", 2, 18), ("predicate", 2, 29)]


def test_syntax_problems_are_problems_too() -> None:
    assert found("(and (Is ?x 'cup')") == [("syntax", 1, 1)]
    assert found("") == [("syntax", 1, 1)]


def test_expected_complexity_and_components() -> None:
    two = "(and (exists ?x (Is ?x 'cup')) (exists ?y (exists ?z (LeftOf ?y ?z))))"
    assert found(two, k=2) == []
    assert found(two, k=3) == [("complexity", 1, 1)]
    assert found(two, single_component=True) == [("complexity", 1, 1)]
    assert "2 separate components (1 + 2)" in check(two, "knolling", single_component=True)[0].message
    assert found("(exists ?x (LeftOf ?x ?y))", k=1) == [("scope", 1, 23)]


def test_formulas_built_by_code_have_places_too() -> None:
    built = Exists(Variable("x"), And((Atom("Is", (Variable("x"), Value("cupp"))),)))
    (problem,) = check(built, "knolling")
    assert (problem.line, problem.column) == (1, 24)
    assert "(exists ?x (and (Is ?x 'cupp')))" in problem.render()


# --- vocabularies


def test_the_published_counts() -> None:
    knolling, natural = vocabulary("knolling"), vocabulary("natural")
    assert {kind: len(words) for kind, words in knolling.words.items()} == {"class": 50, "color": 9}
    assert len(knolling.predicates) == 15
    assert {kind: len(words) for kind, words in natural.words.items()} == {
        "class": 69, "color": 11, "material": 11, "shape": 6, "state": 28, "style": 5,
    }  # fmt: skip
    assert len(natural.predicates) == 12
    assert all(predicate.meaning for words in (knolling, natural) for predicate in words.predicates.values())


def test_names() -> None:
    assert vocabulary_names() == ("knolling", "natural")
    assert vocabulary("natural").kinds_of("orange") == ("class", "color")
    with pytest.raises(VocabularyError, match="did you mean knolling"):
        vocabulary("knoling")
    with pytest.raises(VocabularyError, match=r"choose from knolling, natural, or a \.toml file"):
        vocabulary("zzz")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "toys.toml"
    path.write_text(
        'name = "toys"\n[words]\ntoy = ["robot", "kite"]\n[predicates]\nIsToy = { arguments = ["variable", "toy"] }\n'
    )
    assert check("(exists ?x (IsToy ?x 'kite'))", path) == []
    assert [problem.kind for problem in check("(exists ?x (IsToy ?x 'kites'))", str(path))] == ["word"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 3", "needs name"),
        ('name = "a"\n[words]\nx = "cup"\n[predicates]', "words.x must be a list"),
        ('name = "a"\n[words]\nx = ["cup", "cup"]\n[predicates]', "lists 'cup' twice"),
        ('name = "a"\n[words]\nx = ["cup"]\n[predicates]\nIs = { arguments = ["variable", "y"] }', "predicates.Is"),
        ('name = "a"\n[words]\n[predicates]\nIs = 3', "predicates.Is"),
        ("name = ", "not valid TOML"),
    ],
)
def test_a_file_that_does_not_hold_together(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(VocabularyError, match=says):
        vocabulary(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="cannot read the vocabulary"):
        vocabulary(tmp_path / "none.toml")


def test_nearest_looks_past_case_and_spacing() -> None:
    assert closest_match("Game-Controller", vocabulary("knolling").words["class"]) == "game_controller"
    assert closest_match("qwxyz", ("cup", "fork")) is None
