"""What judges' observations tell about the judges: other labels, clauses that contradict the whole, and P(yes)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from formalimg import Box, Scene, SceneObject, parse
from formalimg.benchmarks.formal.published_judge import PublishedClauseJudge, PublishedSceneJudge
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.errors import FormalimgError
from formalimg.judges.base import part_from_json, part_to_json, soft_score
from formalimg.judges.clause_judge import ClauseJudge
from formalimg.judges.factory import open_judge
from formalimg.judges.grounders.vlm import VlmGrounder
from formalimg.judges.observations import clause_disagreement, count_boxes, explanation_title
from formalimg.judges.scene_judge import SceneJudge
from formalimg.types import Item, Judge, Part, Unscored, Verdict
from tests.support.concept_items import CAT, RED, concept_item
from tests.support.loopback import Loopback
from tests.support.remote_models import stand_alone
from tests.support.scripted_chat import numbered
from tests.support.telling_chat import telling

CUP_AND_PEN = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'pen') (LeftOf ?a ?b))))"
BOX, FAR = [100, 100, 200, 200], [600, 100, 700, 200]


def box(label: str, place: list[int]) -> dict[str, object]:
    return {"label": label, "color": "red", "box_2d": place}


def judged(judge: Judge, formula: str = CUP_AND_PEN, suite: str = "knolling") -> Verdict | Unscored:
    item: Item[Any] = Item(suite, "7", 2, "A cup left of a pen.", FormulaSpec.of(parse(formula)))
    return asyncio.run(judge.judge(item, numbered(1)))


def says(*answers: list[dict[str, object]], judge: Any = None) -> Verdict | Unscored:
    """The verdict of a grounder that gives these boxes for cups, then for pens."""
    chat = telling(json.dumps({"objects": boxes}) for boxes in answers)
    return judged(judge(chat) if judge else SceneJudge(VlmGrounder(chat)))


# --- labels


@pytest.mark.parametrize("answers", [([box("mug", BOX)], [box("ballpoint", FAR)]), ([box("mug", BOX)] * 3, [])])
def test_an_image_whose_boxes_all_have_other_labels_is_unscored_and_both_are_named(answers: Any) -> None:
    found = says(*answers)
    assert isinstance(found, Unscored)
    assert found.reason == "not understood"
    assert found.detail.startswith("no box has a label that was asked for: mug")
    assert found.detail.endswith(" in place of cup, pen")
    assert "\n" not in found.detail
    counted = count_boxes(found)
    assert counted is not None
    assert (counted.given, len(counted.dropped)) == (sum(map(len, answers)),) * 2
    assert counted.dropped[0] == ("mug", ("cup",))


def test_an_image_in_which_nothing_was_found_is_still_an_empty_scene() -> None:
    found = says([], [])
    assert isinstance(found, Verdict)
    assert not found.passed
    assert count_boxes(found) == (0, (), False)


def test_where_some_labels_fit_the_image_counts_and_the_others_are_counted() -> None:
    found = says([box("Cup", BOX), box("cup", BOX), box("mug", FAR)], [box("pen", FAR)])
    assert isinstance(found, Verdict)
    assert found.passed
    counted = count_boxes(found)
    assert counted is not None
    assert (counted.given, counted.dropped) == (4, (("mug", ("cup",)),))


def test_as_published_other_labels_are_left_in_and_fail_and_are_counted_all_the_same() -> None:
    found = says([box("mug", BOX)], [box("pen", FAR)], judge=PublishedSceneJudge)
    assert isinstance(found, Verdict)
    assert not found.passed
    assert count_boxes(found) == (2, (("mug", ("cup", "pen")),), True)
    right = says([box("cup", BOX)], [box("pen", FAR)], judge=PublishedSceneJudge)
    assert count_boxes(right) == (2, (), True)


def test_boxes_that_a_detector_drops_for_overlapping_are_not_counted() -> None:
    scene = Scene.of([SceneObject("cup", Box(*BOX), "red")])
    dropped = [{"label": "cup", "score": 0.4, "box_2d": BOX}]
    evidence = {"scene": scene.to_json(), "grounder": {"found": [], "dropped": dropped}}
    assert count_boxes(Verdict(False, (), evidence)) is None


@pytest.mark.parametrize("odd", [3, [], {"answers": 3}, {"answers": [{"asked_for": ["cup"]}], "dropped": [3, {}]}])
def test_odd_evidence_of_others_is_no_reason_to_fail(odd: Any) -> None:
    for found in (Verdict(False, (), {"grounder": odd}), Verdict(True, (), {"scene": odd}), Unscored("no image")):
        count_boxes(found)
        assert clause_disagreement(found) == ""


# --- whole and clauses

BLACK_CAT = "(exists ?c (and (Is ?c 'cat') (HasColor ?c 'black')))"


def natural(fulfilled: bool, *holds: bool) -> Verdict:
    clauses = [
        {"clause": clause, "because": "seen", "holds": held}
        for clause, held in zip(["(Is ?c 'cat')", "(HasColor ?c 'black')"], holds, strict=True)
    ]
    answer = {"observations": ["a cat"], "clauses": clauses, "fulfilled": fulfilled}
    found = judged(ClauseJudge(telling([json.dumps(answer)])), BLACK_CAT, "natural")
    assert isinstance(found, Verdict), found
    return found


@pytest.mark.parametrize(
    ("fulfilled", "holds", "told"),
    [
        (True, (True, True), ""),
        (False, (True, False), ""),
        (True, (True, False), "the judge says that the whole is fulfilled, but a clause does not hold"),
        (True, (False, False), "the judge says that the whole is fulfilled, but 2 clauses do not hold"),
        (False, (True, True), "the judge says that the whole is not fulfilled, but that every clause holds"),
    ],
)
def test_where_whole_and_clauses_disagree_it_is_told(fulfilled: bool, holds: tuple[bool, ...], told: str) -> None:
    found = natural(fulfilled, *holds)
    assert clause_disagreement(found) == told
    assert ("contradiction" in found.evidence) is bool(told)
    listed = [part.name for part in found.parts if part.score]
    published = {"satisfies_constraint": fulfilled, "satisfied_clauses": listed}
    as_published = judged(PublishedClauseJudge(telling([json.dumps(published)])), BLACK_CAT, "natural")
    assert clause_disagreement(as_published) == told


def test_what_a_chat_model_says_is_its_observation_and_only_logic_says_why() -> None:
    assert explanation_title(natural(True, True, True)) == "Judge's observation"
    right, wrong = says([box("cup", BOX)], [box("pen", FAR)]), says([box("cup", FAR)], [box("pen", BOX)])
    assert explanation_title(right) == "Why it holds, given the judge's observation"
    assert explanation_title(wrong) == "Why not, given the judge's observation"
    assert explanation_title(Verdict(False, (), {"rule": "one colour", "explanation": "flat"})) == "Why not"


# --- P(yes)


def test_a_part_with_p_yes_comes_back_and_one_without_is_stored_as_before() -> None:
    plain, soft = Part("Is it red?", "color", 1.0), Part("Is it red?", "color", 1.0, p_yes=0.75)
    assert "p_yes" not in part_to_json(plain)
    assert [part_from_json(part_to_json(one)) for one in (plain, soft)] == [plain, soft]
    for odd in (1.5, -0.1, "0.5", float("nan")):
        with pytest.raises(FormalimgError, match="not a part"):
            part_from_json({**part_to_json(plain), "p_yes": odd})


def test_the_soft_score_is_the_mean_of_all_parts_or_nothing() -> None:
    parts = (Part("a", "x", 1.0, p_yes=0.9), Part("b", "x", 0.0, weight=3.0, p_yes=0.1))
    assert soft_score(Verdict(False, parts)) == pytest.approx(0.3)
    assert soft_score(Verdict(False, (*parts, Part("c", "x", 1.0)))) is None
    assert soft_score(Verdict(False)) is None


@pytest.mark.parametrize(
    ("options", "protocol", "soft"),
    [
        ({}, "default", [None, None]),
        ({"logprobs": "true"}, "default", [0.7 / 0.9, 0.2 / 0.9]),
        ({"logprobs": "true", "requests": "all-at-once"}, "default", [None, None]),
        ({"logprobs": "true"}, "published", [0.7 / 0.9, 0.2 / 0.9]),
    ],
)
def test_questions_that_are_asked_one_by_one_have_p_yes(
    options: dict[str, str], protocol: Any, soft: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_alone(monkeypatch, tmp_path)

    def reply(asked: Any) -> str:
        words = "\n".join(asked.texts)
        if protocol == "published":
            return "Yes" if CAT.question in words else "No"
        if "requests" in options:
            both = [{"number": 1, "observation": "a cat", "answer": "yes"}]
            return json.dumps({"answers": [*both, {"number": 2, "observation": "blue", "answer": "no"}]})
        return json.dumps({"observation": "no idea", "answer": "yes" if CAT.question in words else "no"})

    with Loopback(reply=reply) as server:
        judge = open_judge(
            "conceptmix", "openai/looker", {"base_url": f"{server.url}/v1", **options}, "image", protocol
        )
        found = asyncio.run(judge.judge(concept_item(CAT, RED), numbered(1)))
    assert isinstance(found, Verdict), found
    assert [part.score for part in found.parts] == [1, 0]
    assert [part.p_yes for part in found.parts] == [
        one if one is None else pytest.approx(one, abs=1e-6) for one in soft
    ]
