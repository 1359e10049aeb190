"""Reasons in English: clauses are worded, and where there are no words they are shown as they are."""

from __future__ import annotations

import pytest

from formalimg.judges import Part, Unscored, Verdict
from formalimg.logic import parse
from formalimg.scoring.reasons import failure_reason
from formalimg.suites import FormulaSpec, QuestionSpec

NOUNS = ("(Is ?cup 'cup')", "(Is ?plate 'plate')")


def _reason(clause: str, vocabulary: str) -> str:
    spec = QuestionSpec(formula=FormulaSpec.of(parse("(exists ?cup (Is ?cup 'cup'))")), vocabulary=vocabulary)
    parts = (*(Part(noun, "object", 1.0) for noun in NOUNS), Part(clause, "relation", 0.0))
    return failure_reason(Verdict(False, parts), spec)


@pytest.mark.parametrize(
    ("clause", "vocabulary", "english"),
    [
        ("(Has ?cup 'red')", "knolling", "not: the cup is red"),
        ("(HasColor ?cup 'red')", "natural", "not: the cup is red"),
        ("(LeftOf ?cup ?plate)", "natural", "not: the cup is to the left of the plate"),
        ("(OnLeftSide ?cup)", "knolling", "not: the cup is on the left side of the image"),
        ("(Is ?x 'apple')", "knolling", "not: there is an apple"),
        ("(Is ?x 'glasses')", "knolling", "not: there are glasses"),
        ("(not (LeftOf ?cup ?plate))", "natural", "not: it is not so that the cup is to the left of the plate"),
        (
            "(or (LeftOf ?cup ?plate) (RightOf ?cup ?plate))",
            "natural",
            "not: the cup is to the left of the plate or the cup is to the right of the plate",
        ),
        ("(LeftOf ?cup ?who)", "natural", "not: (LeftOf ?cup ?who)"),
        ("(Sings ?cup ?plate)", "natural", "not: (Sings ?cup ?plate)"),
        ("not a clause", "natural", "not: not a clause"),
    ],
)
def test_clauses_are_worded(clause: str, vocabulary: str, english: str) -> None:
    assert _reason(clause, vocabulary) == english


def test_unscored_images_say_why() -> None:
    assert failure_reason(Unscored("judge failed", "it did not answer"), QuestionSpec()) == (
        "unscored, judge failed: it did not answer"
    )
    assert failure_reason(Unscored("no image"), QuestionSpec()) == "unscored, no image"
