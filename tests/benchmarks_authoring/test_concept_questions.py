"""Questions that models write for ConceptMix: which ask for the concept in their place, and for nothing else."""

from __future__ import annotations

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

# Sensible questions, each for the concept before it.
SENSIBLE = [
    ("cat", "Is there a cat in the image?"),
    ("cat", "Does the picture show a cat?"),
    ("cat", "Do you see a cat?"),
    ("cat", "Is a cat visible in the image?"),
    ("cat", "Are there one or more cats?"),
    ("cat", "Does the image contain at least one cat?"),
    ("cat", "Does the image contain any cat?"),
    ("dog", "Does the image contain dogs?"),
    ("dog", "Are there dogs in the picture?"),
    ("dog", "Does the image contain one or more dogs?"),
    ("dog", "Is there at least one dog?"),
    ("table", "Does the image contain a table?"),
    ("bee", "Is a bee present in the image?"),
    ("red", "Is the color of the cat red?"),
    ("red", "Is the cat red?"),
    ("red", "Is the cat red in color?"),
    ("red", "Does the cat have a red color?"),
    ("red", "Does the cat have red fur?"),
    ("red", "Is the huge cat red?"),
    ("huge", "Is the cat huge?"),
    ("huge", "Is the cat huge in size?"),
    ("huge", "Is the size of the cat huge?"),
    ("huge", "Is the cat huge, larger than usual?"),
    ("huge", "Does the cat look huge?"),
    ("blue", "Are the dogs blue?"),
    ("blue", "Is the color of the dogs blue?"),
    ("blue", "Are all the dogs blue?"),
    ("blue", "Are the three dogs blue?"),
    ("blue", "Are all three dogs blue?"),
    ("blue", "Are the fluffy dogs blue?"),
    ("fluffy", "Do the dogs have a fluffy texture?"),
    ("fluffy", "Are the dogs fluffy?"),
    ("fluffy", "Is the texture of the dogs fluffy?"),
    ("fluffy", "Do the dogs look fluffy?"),
    ("3", "Are there exactly three dogs?"),
    ("3", "Does the image contain exactly 3 dogs?"),
    ("3", "Is the number of dogs exactly three?"),
    ("3", "Are there three dogs in the image?"),
    ("3", "Is the number of dogs 3?"),
    ("3", "Are there only three dogs?"),
    ("square", "Is the table square?"),
    ("square", "Is the table square-shaped?"),
    ("square", "Does the table have the shape of a square?"),
    ("square", "Is the shape of the table a square?"),
    ("square", "Is the table in the shape of a square?"),
    ("glass", "Does the table have a glass texture?"),
    ("glass", "Is the table made of glass?"),
    ("glass", "Does the table look as if it is made of glass?"),
    ("glass", "Is the texture of the table glass?"),
    ("cartoon", "Is the style of the image cartoon?"),
    ("cartoon", "Is the image a cartoon?"),
    ("cartoon", "Is the image in a cartoon style?"),
    ("cartoon", "Does the image have a cartoon style?"),
    ("left", "Is the cat to the left of the table?"),
    ("left", "Is the cat positioned on the left side of the table?"),
    ("left", "Is the red cat to the left of the table?"),
    ("left", "Is the table to the right of the cat?"),
    ("behind", "Are the dogs behind the table?"),
    ("behind", "Are the dogs behind the table, farther away from the viewer?"),
    ("behind", "Are the dogs farther away than the table?"),
    ("behind", "Are the three dogs positioned behind the glass table?"),
    ("above", "Is the bee above the cat, without touching it?"),
    ("above", "Is the bee above the cat?"),
    ("above", "Is the bee higher up than the cat, and do the two not touch?"),
]

# Questions whose yes means something else: denied, doubted, compared, vague, or about something else.
TURNED = [
    ("cat", "Is the image free of cats?"),
    ("cat", "Are there no cats?"),
    ("cat", "Is the cat missing?"),
    ("cat", "Does the image lack a cat?"),
    ("cat", "Is there a red cat?"),
    ("cat", "Are there fewer than two cats?"),
    ("cat", "Does the image contain a cat and a dog?"),
    ("cat", "Does the image contain a cat or a dog?"),
    ("cat", "Is there more than one cat?"),
    ("cat", "Would a cat fit in?"),
    ("cat", "Can you see a cat?"),
    ("cat", "Does the image contain anything but a cat?"),
    ("cat", "Does the image show a cat statue?"),
    ("cat", "Is there nothing like a cat?"),
    ("cat", "Is the cat left of the table?"),
    ("cat", "Is it false that there is a cat?"),
    ("dog", "Are there three dogs?"),
    ("dog", "Are there blue dogs?"),
    ("dog", "Are there several dogs?"),
    ("red", "Are the cats not red?"),
    ("red", "Isn't the cat red?"),
    ("red", "Is the cat any color but red?"),
    ("red", "Would the cat look better red?"),
    ("red", "Is the cat redder than red?"),
    ("red", "Is the cat red or blue?"),
    ("red", "Is the dog red?"),
    ("red", "Is the cat red and huge?"),
    ("red", "Is the cat less red than the dog?"),
    ("red", "Is the cat hardly red?"),
    ("red", "Does the cat have a red collar?"),
    ("red", "Is the cat next to something red?"),
    ("red", "Could the cat be red?"),
    ("red", "Should the cat be red?"),
    ("red", "Is the cat partly red?"),
    ("red", "What color is the red cat?"),
    ("red", "Is the cat other than red?"),
    ("red", "Is the table next to the cat red?"),
    ("huge", "Is the cat too huge?"),
    ("huge", "Is the cat far from huge?"),
    ("huge", "Is the cat huge or tiny?"),
    ("blue", "Is at least one dog blue?"),
    ("blue", "Is a dog blue?"),
    ("blue", "Is there a blue dog?"),
    ("blue", "Is one of the dogs blue?"),
    ("blue", "Are some of the dogs blue?"),
    ("blue", "Are most dogs blue?"),
    ("blue", "Are any dogs blue?"),
    ("blue", "Are the dogs more blue than red?"),
    ("blue", "Is one dog blue?"),
    ("blue", "Are two of the dogs blue?"),
    ("fluffy", "Are the dogs not fluffy at all?"),
    ("fluffy", "Are the dogs fluffy or smooth?"),
    ("3", "Are there fewer than three dogs?"),
    ("3", "Are there three or more dogs?"),
    ("3", "Are there three dogs or none?"),
    ("3", "Are there at least three dogs?"),
    ("3", "Are there up to three dogs?"),
    ("3", "Are there about three dogs?"),
    ("3", "Is the number of dogs other than three?"),
    ("3", "Are there three blue dogs?"),
    ("3", "Is the number of dogs above three?"),
    ("3", "Are there three animals?"),
    ("3", "Are there three cats?"),
    ("3", "Is the number of dogs not three?"),
    ("3", "Are there thirty-three dogs?"),
    ("3", "Are three of the dogs visible?"),
    ("3", "Does the number of dogs exceed three?"),
    ("square", "Is the table square or round?"),
    ("square", "Is there a square on the table?"),
    ("square", "Is the table beside a square?"),
    ("glass", "Is there a glass on the table?"),
    ("glass", "Is the table without glass?"),
    ("glass", "Does the table hold a glass of water?"),
    ("cartoon", "Is the image anything but a cartoon?"),
    ("cartoon", "Is the image unlike a cartoon?"),
    ("cartoon", "Is the image a cartoon or a photo?"),
    ("cartoon", "Is the image no cartoon?"),
    ("left", "Is the cat anywhere but to the left of the table?"),
    ("left", "Is the cat not to the left of the table?"),
    ("left", "Is the table to the left of the cat?"),
    ("left", "Is the cat to the right of the table?"),
    ("left", "Is the cat to the left of the table or on top of it?"),
    ("left", "Is the cat left of the dogs?"),
    ("left", "Is the cat to the left of the table and red?"),
    ("left", "Is the cat to the left of the table and are the dogs behind it?"),
    ("behind", "Is the table behind the dogs?"),
    ("behind", "Are the dogs in front of the table?"),
    ("behind", "Are the dogs neither behind nor in front of the table?"),
    ("above", "Is the bee above the cat, touching it?"),
    ("above", "Is the cat above the bee, without touching it?"),
    ("above", "Is the bee above the table, without touching it?"),
]


def _asked(value: str, question: str) -> tuple[str, ...] | Rejection:
    """What becomes of a question in the place of a concept, among others that are as they should be."""
    questions = list(template_questions(MIX.concepts, MIX.binding))
    questions[[concept for _, concept in CONCEPTS].index(value)] = question
    return check_questions(questions, MIX, POOLS)


@pytest.mark.parametrize(("value", "question"), SENSIBLE)
def test_sensible_questions_are_accepted(value: str, question: str) -> None:
    found = _asked(value, question)
    assert not isinstance(found, Rejection)
    assert question in found


@pytest.mark.parametrize(("value", "question"), TURNED)
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
