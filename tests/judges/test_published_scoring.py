"""Under the published protocols, raw answers score as in a small re-implementation of the published scripts.

Where scripts ask again in vain or leave a case out, the image is unscored here: never a fail, and never dropped.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from typing import Any

import pytest

from formalimg.benchmarks.cfworld.published_judge import PublishedScoreJudge
from formalimg.benchmarks.cfworld.scores import rescore
from formalimg.benchmarks.conceptmix.judge import PublishedQuestionJudge
from formalimg.benchmarks.formal.evaluator import hoist_conjuncts, judge_objects, plain_scene
from formalimg.benchmarks.formal.published_judge import PublishedClauseJudge, PublishedSceneJudge
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.parser import parse
from formalimg.types import Item, Judge, Unscored, Verdict
from tests.support import published_scoring as official
from tests.support.concept_items import CAT, GLASS, INK, RED, TWO, concept_item
from tests.support.odd_objects import knolling_formula, objects, whole_entry
from tests.support.published import published_instances
from tests.support.score_items import LEAVES, RISES, SHARP, TREE, WATER, score_item
from tests.support.scripted_chat import numbered
from tests.support.sizes import only_in_full, tries
from tests.support.telling_chat import telling

CASES = tries(80, 1000)
NO_VERDICT = {official.ASKED_AGAIN, official.LEFT_OUT}
IMAGE = numbered(7)


def judged(judge: Judge, item: Item[Any]) -> Verdict | Unscored:
    return asyncio.run(judge.judge(item, IMAGE))


def outcome(found: Verdict | Unscored) -> bool | str:
    """Whether it passed; texts stand for the mapping of this file, in which both kinds are unscored."""
    if isinstance(found, Unscored):
        assert found.reason == "not understood"
        return "unscored"
    return found.passed


def mapped(expected: bool | str) -> bool | str:
    return "unscored" if expected in NO_VERDICT else expected


# --- Knolling


def written(chance: random.Random, found: list[Any]) -> str:
    """The answer to one request: nearly always JSON of the wanted form."""
    form: Any = {"objects": found}
    if chance.random() < 0.04:
        form = chance.choice([found, {"things": found}, {"objects": None}, {"objects": "none"}, {"objects": {}}, 3])
    text = json.dumps(form)
    kind = chance.random()
    if kind < 0.2:
        return f"```json\n{text}\n```"
    if kind < 0.25:
        return f"Here it is:\n```\n{text}\n```\nDone."
    if kind < 0.28:
        return chance.choice([f"Here it is: {text}", text[:-2], "I cannot see that.", text.replace('"', "'")])
    return text


def test_knolling_scores_as_the_published_evaluator() -> None:
    chance = random.Random(17)
    found: Counter[bool | str] = Counter()
    odd = 0
    for case in range(CASES):
        formula = knolling_formula(chance)
        spec = FormulaSpec(parse(formula))
        seen = [objects(chance, 3) for _ in spec.object_classes]
        texts = [written(chance, each) for each in seen]
        expected = mapped(official.knolling(formula, texts)) if texts else "unscored"
        item = Item("knolling", str(case), 1, "…", spec, (), "1")
        verdict = judged(PublishedSceneJudge(telling(texts)), item)
        assert outcome(verdict) == expected, (formula, texts)
        found[expected] += 1
        odd += plain_scene([obj for each in seen for obj in each]) is None
    assert min(found[True], found[False], found["unscored"]) > 0.06 * CASES, found
    assert odd > 0.2 * CASES


def test_objects_as_they_are_verify_as_in_the_published_evaluator() -> None:
    chance = random.Random(18)
    found: Counter[bool] = Counter()
    for _ in range(CASES):
        formula, seen = knolling_formula(chance), objects(chance, 5)
        expected = official.holds(formula, seen)
        verdict = judge_objects(parse(formula), seen)
        assert isinstance(verdict, Verdict)
        assert verdict.passed == expected, (formula, seen)
        found[expected] += 1
    assert min(found.values()) > 0.1 * CASES, found


def test_hoisting_is_that_of_the_published_code() -> None:
    chance = random.Random(19)
    texts = [knolling_formula(chance) for _ in range(CASES)]
    for text in texts:
        if "iff" not in text:
            assert official.nested(str(hoist_conjuncts(parse(text)))) == official.hoisted(official.nested(text)), text


def test_published_formulas_are_hoisted_as_published_and_keep_their_truth() -> None:
    chance = random.Random(20)
    for _, _, data in (one for one in published_instances() if one.suite == "knolling"):
        labels = data["object_classes"]
        seen = [{**whole_entry(chance), "label": chance.choice(labels)} for _ in range(6)]
        verdict = judge_objects(parse(data["dsl"]), seen)
        assert isinstance(verdict, Verdict)
        assert verdict.passed == official.holds(data["dsl"], seen)


CUP_LEFT = "(exists ?x (exists ?y (and (Is ?x 'cup') (Is ?y 'fork') (LeftOf ?x ?y))))"


@pytest.mark.parametrize(
    ("formula", "seen", "passed"),
    [
        (CUP_LEFT, [("cup", [0, 0, 100, 100]), ("fork", [200, 0, 300, 100])], True),
        (CUP_LEFT, [("Cup", [0, 0, 100, 100]), ("fork", [200, 0, 300, 100])], False),  # labels are not folded
        (CUP_LEFT, [("cup", [0, 0, 100, 100]), ("fork", [200, 0, 300])], False),  # three numbers
        (CUP_LEFT, [("cup", [-50, 0, 100, 100]), ("fork", [200, 0, 1300, 100])], True),  # beyond the canvas
        ("(exists ?x (exists ?y (SmallerThan ?x ?y)))", [("cup", [100, 0, 0, 100]), ("fork", [0, 0, 9, 9])], True),
        ("(forall ?x (implies (Is ?x 'pen') (OnLeftSide ?x)))", [("cup", [0, 0, 100, 100])], False),  # vacuous
        ("(exists ?x (and (exists ?y (Is ?y 'cup')) (exists ?z (Is ?z 'cup'))))", [("cup", [0, 0, 9, 9])], True),
        ("(exists ?x (exists ?y (AlignedVertically ?x ?y)))", [("cup", [0, 0, 10, 10])], True),  # one for both
    ],
)
def test_rules_of_the_published_evaluator_by_hand(
    formula: str, seen: list[tuple[str, list[int]]], passed: bool
) -> None:
    found = judge_objects(parse(formula), [{"label": label, "color": "red", "box_2d": box} for label, box in seen])
    assert isinstance(found, Verdict)
    assert found.passed is passed


def test_objects_that_cannot_be_are_a_syntax_error_and_a_fail() -> None:
    found = judge_objects(parse(CUP_LEFT), None)
    assert isinstance(found, Verdict)
    assert not found.passed
    assert "Syntax Error" in str(found.evidence["explanation"])


@pytest.mark.parametrize(
    "formula", ["(exactly 1 ?x (Is ?x 'cup'))", "(exists ?a (exists ?b (and (Is ?a 'cup') (distinct ?a ?b))))"]
)
@pytest.mark.parametrize("box", [[0, 0, 9, 9], [9, 9, 0, 0]])
def test_what_the_published_language_cannot_say_has_no_published_verdict(formula: str, box: list[int]) -> None:
    found = judge_objects(parse(formula), [{"label": "cup", "color": "red", "box_2d": box}])
    assert found == Unscored(
        "not understood", "the published evaluator knows neither counts nor distinct: use another judge"
    )


@only_in_full
def test_a_hopeless_search_ends_without_a_verdict() -> None:
    names = "abcdefgh"
    together = " ".join(f"(AlignedVertically ?{one} ?{other})" for one in names for other in names)
    formula = f"(and {together} (Is ?a 'pen'))"
    for name in names:
        formula = f"(exists ?{name} {formula})"
    odd = [{"label": "cup", "box_2d": [50, 0, 0, 9]} for _ in range(30)]
    found = judge_objects(parse(formula), odd)
    assert isinstance(found, Unscored)
    assert "too many steps" in found.detail


# --- Natural

CAT_ITEM = Item("natural", "1", 1, "A black cat.", FormulaSpec(parse("(exists ?c (Is ?c 'cat'))")), (), "1")


def natural_answer(chance: random.Random) -> str:
    verdict = chance.choice([True, False, "true", "false", " False ", "", None, 1, 0, [], ["x"], "no"])
    clauses: Any = chance.choice([["(Is ?c 'cat')"], [], "all", None, ["( Is  ?c 'cat' )", 3]])
    fields: dict[str, Any] = {"satisfies_constraint": verdict, "satisfied_clauses": clauses}
    if chance.random() < 0.1:
        del fields["satisfies_constraint"]
    if chance.random() < 0.05:
        fields = {}
    text = chance.choice([json.dumps, repr])(fields)
    kind = chance.random()
    if kind < 0.2:
        return f"```json\n{text}\n```"
    if kind < 0.3:
        return f"I see {{a cat}}.\n```\n{text}\n``` and ```{{}}```"
    if kind < 0.4:
        return f"The answer: {text} That is all."
    if kind < 0.45:
        return f"{text} or {text}"
    if kind < 0.5:
        return chance.choice([text[:-1], text[1:], "no", "{", "}{", "{1, 2}", "[1]", f"[{text}]", "{'a': set()}"])
    return text


@pytest.mark.parametrize("protocol", ["official-code", "paper"])
def test_natural_scores_as_the_published_judge(protocol: Any) -> None:
    chance = random.Random(21)
    found: Counter[bool | str] = Counter()
    for _ in range(CASES):
        text = natural_answer(chance)
        expected = mapped(official.natural(text, paper=protocol == "paper"))
        verdict = judged(PublishedClauseJudge(telling([text]), protocol), CAT_ITEM)
        assert outcome(verdict) == expected, text
        found[expected] += 1
    assert min(found.values()) > 0.06 * CASES, found


def test_the_word_false_passes_in_the_published_code_and_not_in_the_paper() -> None:
    text = '{"satisfies_constraint": "false", "satisfied_clauses": ["( Is ?c \'cat\')", "(Is ?d \'dog\')"]}'
    by_code = judged(PublishedClauseJudge(telling([text]), "official-code"), CAT_ITEM)
    by_paper = judged(PublishedClauseJudge(telling([text]), "paper"), CAT_ITEM)
    assert isinstance(by_code, Verdict)
    assert isinstance(by_paper, Verdict)
    assert (by_code.passed, by_paper.passed) == (True, False)
    assert [(part.name, part.score) for part in by_code.parts] == [("(Is ?c 'cat')", 1.0)]
    assert by_code.evidence["unknown_clauses"] == ["(Is ?d 'dog')"]


# --- ConceptMix

WORDS = (
    "Yes",
    "No",
    "yes",
    "no",
    "YES",
    "Yes.",
    " Yes",
    "No, but Yes",
    "Yesterday",
    "N/A",
    "I cannot assist.",
    "\n",
    "🙂",
)


def test_conceptmix_scores_as_the_published_grader() -> None:
    chance = random.Random(22)
    item = concept_item(CAT, RED, GLASS, TWO, INK)
    full = 0
    for _ in range(CASES):
        texts = chance.choices(WORDS, [12, 2, *[1] * (len(WORDS) - 2)], k=5)
        verdict = judged(PublishedQuestionJudge(telling(texts)), item)
        assert isinstance(verdict, Verdict)
        expected = official.concept_scores(texts)
        assert [part.score for part in verdict.parts] == expected
        assert verdict.passed is all(expected)
        full += verdict.passed
    assert full > 0.02 * CASES


def test_in_the_paper_yes_is_the_first_word_in_any_case() -> None:
    item = concept_item(CAT)
    found = {}
    for text in WORDS:
        verdict = judged(PublishedQuestionJudge(telling([text]), "paper"), item)
        assert isinstance(verdict, Verdict)
        found[text] = verdict.passed
    assert [text for text, yes in found.items() if yes] == ["Yes", "yes", "YES", "Yes.", " Yes"]


# --- CF-World

QUESTIONS = (SHARP, LEAVES, WATER, RISES, TREE)


def cf_entry(chance: random.Random) -> Any:
    given = chance.choice([0, 0.5, 1, 1.0, "0.5", "1", 0.8])
    if chance.random() < 0.06:
        given = chance.choice(["high", None, True, [1], {"score": 0.5}, {"score": "x"}, "nan", 5, -1, "", 10**400])
    found: Any = {"reasoning": "so", "score": given}
    if chance.random() < 0.03:
        del found["score"]
    if chance.random() < 0.05:
        return chance.choice([0.5, "so it is", json.dumps({"score": 1}), None, {}, [], ["x"], "[1]"])
    return found


def cf_answer(chance: random.Random, count: int) -> str:
    names = ["{}"] if chance.random() < 0.9 else ["Question ID {}"]
    form: Any = {names[0].format(place): cf_entry(chance) for place in range(1, count + 1)}
    if chance.random() < 0.05:
        form.pop(next(iter(form)))
    if chance.random() < 0.03:
        form = chance.choice([list(form.values()), {}, []])
    text = json.dumps(form)
    kind = chance.random()
    if kind < 0.3:
        return f"```json\n{text}\n```"
    if kind < 0.4:
        return f"Scores [of the picture]: {text}"
    if kind < 0.45:
        return chance.choice([text[:-1], "none", f"{text} {text}", f"Well, {text} indeed.", "[", "{ }"])
    return text


@pytest.mark.parametrize(("name", "family"), [("test/gemini-3", "gemini"), ("test/Qwen3-VL", "qwen")])
def test_cf_world_scores_as_the_published_scorers(name: str, family: str) -> None:
    chance = random.Random(23)
    found: Counter[str] = Counter()
    for _ in range(CASES):
        questions = QUESTIONS[: chance.randint(3, 5)]
        text = cf_answer(chance, len(questions))
        expected = official.cf_scores(text, len(questions), family)
        verdict = judged(PublishedScoreJudge(telling([text], name)), score_item(*questions))
        if isinstance(expected, str) or not all(0 <= score <= 1 for score in expected):
            # The scripts count what is no score from 0 to 1 as it is.
            assert outcome(verdict) == "unscored", text
            found["unscored"] += 1
            continue
        assert isinstance(verdict, Verdict), text
        assert [part.score for part in verdict.parts] == expected
        score = official.weighted(expected, [one.weight for one in questions])
        parts = [(part.kind, part.weight, part.score) for part in verdict.parts]
        assert rescore(verdict.score, parts, "official-code") == pytest.approx(score, abs=1e-12)
        assert verdict.passed is (round(score, 9) >= 0.5)
        found[str(verdict.passed)] += 1
    assert min(found.values()) > 0.1 * CASES, found


def test_weights_are_shared_in_the_paper_and_not_in_the_published_code() -> None:
    text = json.dumps({str(place): {"score": score} for place, score in enumerate((1, 1, 1, 0), 1)})
    item = score_item(SHARP, LEAVES, WATER, RISES)
    by_code = judged(PublishedScoreJudge(telling([text]), "official-code"), item)
    by_paper = judged(PublishedScoreJudge(telling([text]), "paper"), item)
    assert isinstance(by_code, Verdict)
    assert isinstance(by_paper, Verdict)
    assert (by_code.passed, by_paper.passed) == (True, False)  # 19/34 and 11/26
