"""The vocabularies that ship, and files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.logic.checks import check
from formalimg.logic.vocabulary import VocabularyError, closest_match, vocabulary, vocabulary_names


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
    with pytest.raises(VocabularyError, match=r"known are knolling, natural, or a \.toml file"):
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
