"""Questions that models write for ConceptMix: which ask for the concept in their place, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.conceptmix.authoring.checks import check_questions
from formalimg.benchmarks.conceptmix.authoring.templates import make_mixture
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, Category, Concept, SpatialRelation
from formalimg.benchmarks.loader import load
from tests.benchmarks_authoring.mixer import POOLS

CONCEPTS: list[tuple[Category, str]] = [
    *(("object", item) for item in ("cat", "dog", "table", "bee")),
    ("color", "red"),
    ("size", "huge"),
    ("color", "blue"),
    ("texture", "fluffy"),
    ("number", "3"),
    ("shape", "square"),
    ("texture", "glass"),
    ("style", "cartoon"),
    *(("spatial", name) for name in ("left", "behind", "above")),
]
SCENE = Binding(
    (
        BoundObject("cat", {"color": "red", "size": "huge"}),
        BoundObject("dog", {"color": "blue", "texture": "fluffy", "number": "3"}),
        BoundObject("table", {"shape": "square", "texture": "glass"}),
        BoundObject("bee"),
    ),
    "cartoon",
    tuple(
        SpatialRelation(name, POOLS["spatial"].sentence(name), *ends)
        for name, ends in (("left", (1, 3)), ("behind", (2, 3)), ("above", (4, 1)))
    ),
)
MIX = make_mixture([Concept(*concept) for concept in CONCEPTS], SCENE, POOLS)


def examples(mark: str) -> list[list[str]]:
    lines = Path(__file__).with_name("concept_questions.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:].split(": ", 1) for line in lines if line[0] == mark]


def _asked(value: str, question: str) -> tuple[str, ...] | Rejection:
    """What becomes of a question in the place of a concept, among others that are as they should be."""
    questions = list(template_questions(MIX.concepts, MIX.binding))
    questions[[concept for _, concept in CONCEPTS].index(value)] = question
    return check_questions(questions, MIX, POOLS)


@pytest.mark.parametrize(("value", "question"), examples("+"))
def test_sensible_questions_are_accepted(value: str, question: str) -> None:
    found = _asked(value, question)
    assert not isinstance(found, Rejection)
    assert question in found


@pytest.mark.parametrize(("value", "question"), examples("-"))
def test_questions_that_ask_for_something_else_are_rejected(value: str, question: str) -> None:
    found = _asked(value, question)
    assert isinstance(found, Rejection)
    assert found.reason == "question out of order"
    assert question in found.detail


def test_our_own_questions_and_statements_pass() -> None:
    for item in load("conceptmix")[::40]:
        assert item.spec.binding is not None
        mix = make_mixture([asked.concept for asked in item.spec.concepts], item.spec.binding, POOLS)
        ours = tuple(asked.question for asked in item.spec.concepts)
        assert check_questions(ours, mix, POOLS) == ours
        told = tuple(f"Is it true that {statement}?" for statement in mix.statements)
        assert check_questions(told, mix, POOLS) == told
