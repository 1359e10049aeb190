"""Rewards by chat models: clauses of Natural, concepts, weighted questions, and questions of one's own."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest
from PIL import Image

from formalimg import Box, FormalimgError, Scene, SceneObject, parse
from formalimg.benchmarks.cfworld.judge import ScoreJudge
from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_functions import reward
from formalimg.rewards.scorer import Scorer
from formalimg.types import Item
from tests.support.concept_items import CAT, NOTHING, RED, answers_by, concept_item
from tests.support.score_items import RISES, SHARP, TREE, WATER, score_item, scores_by
from tests.support.scripted_chat import Asked, Known, ScriptedChat, judges_clauses, numbered

QUESTIONS = {CAT.question: "yes", RED.question: "no"}


def image() -> Image.Image:
    image = numbered(1).pil.copy()
    image.putpixel((0, 0), (255, 255, 255))
    return image


def scored(scorer: Scorer, task: Any) -> RewardScore:
    [found] = scorer.score_all([(image(), task)])
    return found


def with_answers(said: dict[str, str], **options: Any) -> Scorer:
    return Scorer(judges={"conceptmix": QuestionJudge(ScriptedChat({1: NOTHING}, answers_by(said)))}, **options)


def with_scores(said: dict[str, object], **options: Any) -> Scorer:
    return Scorer(judges={"cf-world": ScoreJudge(ScriptedChat({1: NOTHING}, scores_by(said)))}, **options)


def test_concepts_count_alike_unless_weighed() -> None:
    half = scored(with_answers(QUESTIONS), concept_item(CAT, RED))
    assert (half.score, half.passed, half.cost) == (0.5, False, 0.5)
    assert half.reason == "Is the cat red?: saw: Is the cat red?"
    weighed = scored(with_answers(QUESTIONS, weights={"color": 3}), concept_item(CAT, RED))
    assert (weighed.score, [part.weight for part in weighed.parts]) == (0.25, [1, 3])
    assert scored(with_answers(dict.fromkeys(QUESTIONS, "yes")), concept_item(CAT, RED)).score == 1


def test_questions_of_ones_own_are_answered_with_yes_or_no() -> None:
    asked = {"words": "a cat", "questions": [CAT.question, {"question": RED.question, "kind": "color", "weight": 3}]}
    found = scored(with_answers(QUESTIONS, weights={"question": 2}), asked)
    assert [(part.kind, part.weight) for part in found.parts] == [("question", 2), ("color", 3)]
    assert (found.score, found.passed) == (0.4, False)


def test_questions_of_one_dimension_share_its_weight_and_are_weighed_by_it() -> None:
    asked = {
        "questions": [
            {"question": SHARP.question, "criteria": SHARP.criteria, "kind": "logic"},
            {"question": TREE.question, "criteria": TREE.criteria, "kind": "logic"},
            {"question": WATER.question, "criteria": WATER.criteria},
        ]
    }
    said: dict[str, object] = {SHARP.question: 1, TREE.question: 1, WATER.question: 0}
    found = scored(with_scores(said), asked)
    assert (found.score, [part.weight for part in found.parts]) == (0.5, [0.5, 0.5, 1])
    assert scored(with_scores(said, weights={"logic": 3}), asked).score == 0.75


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        (["Is it?", {"question": "Is it?", "criteria": "1: yes."}], "criteria to all"),
        ([{"question": " "}], "question 1 has no words"),
        ([{"question": "Is it?", "kind": "logic"}], "must be one of object"),
        ([{"question": "Is it?", "wieght": 1}], "'wieght' is not known"),
        ([{"question": "Is it?", "weight": 0}], "weight of question"),
        ([3], "must be a text"),
        (["Is it?"] * 65, "1 to 64"),
    ],
    ids=str,
)
def test_questions_that_make_no_sense_are_refused(questions: Any, told: str) -> None:
    with pytest.raises(FormalimgError, match="pair 0") as caught:
        scored(Scorer(), {"questions": questions})
    assert told in str(caught.value)


def test_without_a_chat_model_such_images_are_refused() -> None:
    for task in (concept_item(CAT), {"questions": ["Is it?"]}, {"formula": NATURAL, "vocabulary": "natural"}):
        with pytest.raises(FormalimgError, match="needs a chat model"):
            scored(Scorer(), task)


NATURAL = "(and (IsStyle 'photo') (exists ?x (and (Is ?x 'dog') (HasColor ?x 'brown'))))"
DOG = Known(Scene.of([SceneObject("dog", Box(0, 0, 500, 500), "white")]), "photo")


def test_natural_images_are_judged_clause_by_clause() -> None:
    chat = ScriptedChat({1: DOG}, judges_clauses)
    found = scored(
        Scorer(judges={"natural": ClauseJudge(chat, decide="clauses")}),
        Item("natural", "1", 1, "a brown dog", FormulaSpec.of(parse(NATURAL))),
    )
    assert found.score == pytest.approx(2 / 3)
    assert found.passed is False
    assert [part.score for part in found.parts] == [1, 1, 0]


def test_the_style_of_an_image_that_shows_nothing_asked_for_earns_nothing() -> None:
    cat = Known(Scene.of([SceneObject("cat", Box(0, 0, 500, 500), "brown")]), "photo")

    def sees_brown(asked: Asked) -> dict[str, object]:
        clauses = ["(IsStyle 'photo')", "(Is ?x 'dog')", "(HasColor ?x 'brown')"]
        holds = [{"clause": clause, "because": "look", "holds": "dog" not in clause} for clause in clauses]
        return {"observations": ["a brown cat"], "clauses": holds, "fulfilled": False}

    scorer = Scorer(judges={"natural": ClauseJudge(ScriptedChat({1: cat}, sees_brown), decide="clauses")})
    found = scored(scorer, {"formula": NATURAL, "vocabulary": "natural"})
    assert (found.score, found.passed, [part.score for part in found.parts]) == (0, False, [0, 0, 0])
    assert found.parts[0].reason == "nothing that is asked for is there yet: this clause earns nothing"


@pytest.mark.parametrize(("count", "score"), [("exactly 2", 1 / 3), ("at-least 1", 1 / 3), ("at-most 2", 0)])
def test_a_judge_who_sees_the_number_that_is_asked_for_sees_something(count: str, score: float) -> None:
    clauses = {f"({count} ?y (Is ?y 'cat'))": True, "(Is ?x 'dog')": False, "(HasColor ?x 'brown')": False}

    def sees_cats(asked: Asked) -> dict[str, object]:
        holds = [{"clause": clause, "because": "look", "holds": held} for clause, held in clauses.items()]
        return {"observations": ["two cats"], "clauses": holds, "fulfilled": False}

    formula = f"(and ({count} ?y (Is ?y 'cat')) (exists ?x (and (Is ?x 'dog') (HasColor ?x 'brown'))))"
    scorer = Scorer(judges={"natural": ClauseJudge(ScriptedChat({1: DOG}, sees_cats), decide="clauses")})
    assert scored(scorer, {"formula": formula, "vocabulary": "natural"}).score == pytest.approx(score)


@pytest.mark.parametrize(
    "answer", [{"nonsense": 1}, RuntimeError("the connection was lost")], ids=["nonsense", "error"]
)
@pytest.mark.parametrize("suite", ["natural", "conceptmix", "cf-world"])
def test_a_judge_that_gives_no_answer_gives_no_reward_and_never_0(suite: str, answer: Any) -> None:
    def fails(asked: Asked) -> dict[str, object]:
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    chat = ScriptedChat({1: DOG}, fails)
    judges: dict[str, Any] = {
        "natural": ClauseJudge(chat, decide="clauses"),
        "conceptmix": QuestionJudge(chat),
        "cf-world": ScoreJudge(chat),
    }
    tasks: dict[str, Any] = {
        "natural": {"formula": NATURAL, "vocabulary": "natural"},
        "conceptmix": concept_item(CAT, RED),
        "cf-world": score_item(SHARP, RISES),
    }
    scorer = Scorer(judges=judges)
    found = scored(scorer, tasks[suite])
    assert (found.score, found.passed) == (None, None)
    assert found.unscored is not None
    [value] = reward([image()], [tasks[suite]], scorer=scorer, missing="nan")
    assert value is not None
    assert isnan(value)


def test_a_judge_that_contradicts_itself_gives_no_reward() -> None:
    chat = ScriptedChat({1: DOG}, lambda asked: {**judges_clauses(asked), "fulfilled": True})
    found = scored(
        Scorer(judges={"natural": ClauseJudge(chat, decide="verdict")}), {"formula": NATURAL, "vocabulary": "natural"}
    )
    assert (found.score, found.unscored) == (None, "not understood")
    assert "contradicts itself" in found.reason
