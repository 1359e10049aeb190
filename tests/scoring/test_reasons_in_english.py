"""Reasons in English: clauses are worded, and where there are no words they are shown as they are."""

from __future__ import annotations

import pytest

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.benchmarks.registry import suite
from formalimg.logic.parser import parse
from formalimg.scoring.scores import failure_reason
from formalimg.types import Part, Unscored, Verdict

FORMULA = "(exists ?cup (exists ?plate (exists ?x (and (Is ?cup 'cup') (Is ?plate 'plate') (Is ?x '{other}')))))"


def _reason(clause: str, vocabulary: str, other: str = "apple") -> str:
    spec = QuestionSpec(formula=FormulaSpec.of(parse(FORMULA.format(other=other))), vocabulary=vocabulary)
    return failure_reason(Verdict(False, (Part(clause, "relation", 0.0),)), spec, suite("free-prompts"))


@pytest.mark.parametrize(
    ("clause", "vocabulary", "english"),
    [
        ("(Has ?cup 'red')", "knolling", "not shown: a red cup"),
        ("(HasColor ?cup 'red')", "natural", "not shown: a red cup"),
        ("(LeftOf ?cup ?plate)", "natural", "not shown: a cup is to the left of a plate"),
        ("(OnLeftSide ?cup)", "knolling", "not shown: a cup is on the left side of the image"),
        ("(Is ?x 'apple')", "knolling", "not shown: an apple"),
        ("not a clause", "natural", "not shown: not a clause"),
    ],
)
def test_clauses_are_worded(clause: str, vocabulary: str, english: str) -> None:
    assert _reason(clause, vocabulary) == english


def test_unscored_images_say_why() -> None:
    assert failure_reason(Unscored("judge failed", "it did not answer"), QuestionSpec(), suite("free-prompts")) == (
        "unscored, judge failed: it did not answer"
    )
    assert failure_reason(Unscored("no image"), QuestionSpec(), suite("free-prompts")) == "unscored, no image"
