"""Questions of GenEval 2 as formulas: what boxes decide, compared with the plain meaning of the words."""

from __future__ import annotations

import random

import pytest

from formalimg.benchmarks.geneval2 import judge as geneval2
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.questions.spec import GraphQuestion, QuestionSpec
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item
from tests.judges.test_word_judge import SAMPLE
from tests.support.sizes import tries

THREE = GraphQuestion("1", "How many cups are in the image?", expected="three", category="count")
ANY = GraphQuestion("2", "Are there any cookies in the image?", category="object")
RED = GraphQuestion("3", "Are the cups red?", category="attribute")
LEFT = GraphQuestion("4", "Are the cups to the left of the cookies?", category="position")
UNDER = GraphQuestion("5", "Is the cookie under the cups?", category="position")
STONE = GraphQuestion("6", "Are the cups stone?", category="attribute")
BEHIND = GraphQuestion("7", "Is the cup behind the cookie?", category="position")
CHASING = GraphQuestion("8", "Is the cup chasing the cookie?", category="verb")


@pytest.mark.parametrize(
    ("question", "by", "formula"),
    [
        (THREE, "boxes", "(exactly 3 ?x (Is ?x 'cup'))"),
        (ANY, "boxes", "(exists ?x (Is ?x 'cookie'))"),
        (RED, "colors", "(and (exists ?x (Is ?x 'cup')) (forall ?x (implies (Is ?x 'cup') (Has ?x 'red'))))"),
        (
            LEFT,
            "positions",
            "(and (exists ?x (Is ?x 'cup')) (exists ?y (Is ?y 'cookie')) "
            "(forall ?x (implies (Is ?x 'cup') (forall ?y (implies (Is ?y 'cookie') (LeftOf ?x ?y))))))",
        ),
        (STONE, "materials", None),
        (BEHIND, "depth", None),
        (CHASING, "verbs", None),
        (GraphQuestion("9", "How big are the cups?", expected="three"), "boxes", None),
    ],
)
def test_questions_become_formulas_where_boxes_decide(question: GraphQuestion, by: str, formula: str | None) -> None:
    found = geneval2.question_formula(question)
    assert geneval2.evidence_needed(question) == by
    assert (None if found is None else str(found)) == formula


def _item(*questions: GraphQuestion) -> Item[QuestionSpec]:
    return Item("geneval2", "1", 3, "cups", QuestionSpec(questions))


def test_logic_answers_as_the_words_say() -> None:
    """Compared with loops over the objects of random scenes."""
    chance, seen = random.Random("geneval2"), set()
    for _ in range(tries(80, 2000)):
        objects = []
        for _ in range(chance.randrange(6)):
            x, y = chance.randrange(0, 800), chance.randrange(0, 800)
            box = Box(x, y, x + chance.randrange(20, 200), y + chance.randrange(20, 200))
            objects.append(
                SceneObject(chance.choice(["cup", "cup", "cookie"]), box, chance.choice(["red", "red", "blue"]))
            )
        cups = [one for one in objects if one.label == "cup"]
        cookies = [one for one in objects if one.label == "cookie"]
        both = bool(cups and cookies)
        expected = (
            len(cups) == 3,
            bool(cookies),
            bool(cups) and all(one.color == "red" for one in cups),
            both and all(a.box.xmax < (b.box.xmin + b.box.xmax) / 2 for a in cups for b in cookies),
            both and all(a.box.ymin > (b.box.ymin + b.box.ymax) / 2 for a in cookies for b in cups),
        )
        found = geneval2.compare_answers(_item(THREE, ANY, RED, LEFT, UNDER), Scene.of(objects))
        assert tuple(one.by_logic for one in found) == expected
        seen |= set(enumerate(expected))
    assert len(seen) == 10, "each is true in some scenes and false in others"


def test_answers_of_a_judge_stand_beside_those_of_logic() -> None:
    scene = Scene.of([SceneObject("cup", Box(0, 0, 100, 100), "red")])
    found = geneval2.compare_answers(_item(THREE, RED, STONE), scene, {THREE.question: True, STONE.question: True})
    assert [(one.by_logic, one.by_judge, one.agree) for one in found] == [
        (False, True, False),
        (True, None, None),
        (None, True, None),
    ]


def test_an_item_is_decidable_if_all_its_questions_are() -> None:
    items = [_item(THREE), _item(THREE, RED, LEFT), _item(THREE, STONE), _item(CHASING), _item()]
    assert [geneval2.is_decidable(item) for item in items] == [True, True, False, False, False]


@pytest.mark.skipif(not SAMPLE.is_dir(), reason=f"the sample of GenEval 2 is not at {SAMPLE}")
def test_the_share_of_the_published_sample_that_boxes_decide() -> None:
    items = load("geneval2", SAMPLE)
    asked = [question for item in items for question in item.spec.questions]
    assert sum(geneval2.question_formula(one) is not None for one in asked) == 501
    assert sum(map(geneval2.is_decidable, items)) == 18
    assert {one.category for one in asked if geneval2.evidence_needed(one) == "verbs"} == {"verb"}
