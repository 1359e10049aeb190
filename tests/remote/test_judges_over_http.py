"""The judges of ConceptMix and CF-World through the real libraries: nothing wrong is accepted, and resuming works."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.reader import Judged, open_run
from formalimg.types import Item, Judge
from tests.remote.knowing_server import QUICK, successes
from tests.support import concept_items, score_items
from tests.support.concept_items import concept_item
from tests.support.loopback import Asked, Fault, Faults, Loopback, at_random
from tests.support.loopback.gemini import GEMINI
from tests.support.loopback.openai import OPENAI
from tests.support.models import speckled
from tests.support.remote_models import PLANTED, stand_alone
from tests.support.run_contents import judged, outcomes, rows
from tests.support.score_items import LEAVES, RISES, SHARP, score_item

CHATS = "/v1/chat/completions"
LOOKER = "openai/looker"
QWEN, GEMINI_PRO = "openai/Qwen3-VL-235B-A22B-Instruct", "gemini/gemini-3-pro-preview"

FAILING = ("429", "500", "reset", "refusal", "filter", "empty", "html", "truncated", "no text")
FAULTS = {**dict.fromkeys(FAILING, "judge failed"), "length": "not understood"}
"""What a request is worth that meets one of these."""

NO_ANSWERS = ("Yes, but it is blue", "Ja", "oui", "", "N/A", "Not sure", "yes or no", "I cannot assist with that.")
NO_ANSWER_TEXTS = (
    "Yes",
    "I'm sorry, but I can't assist with that.",
    '{"observation": "a cat", "answer": "yes"',
    '{"observation": "a cat", "answer": "yes"} or {"observation": "a cat", "answer": "no"}',
    '{"observation": "a cat", "answer": true}',
    '{"answers": ["yes", "yes"]}',
)
NUMBERS: tuple[list[int], ...] = ([], [1], [1, 2, 3], [2, 1], [1, 1], [0, 1])
NUMBERED_TEXTS = [
    json.dumps({"answers": [{"number": number, "observation": "a cat", "answer": "yes"} for number in numbers]})
    for numbers in NUMBERS
]
"""Answers to two questions in one request, wrongly numbered."""

NO_SCORES = ("half", "high", "50%", "1/2", "", 1.5, -1, 100, True, None)
GOOD_ENTRY = {"reasoning": "look", "score": 1}
THREE = [{"number": number, **GOOD_ENTRY} for number in (1, 2, 3)]
NO_SCORE_TEXTS = (
    json.dumps({"answers": THREE[:2]}),
    json.dumps({"answers": [*THREE, {"number": 4, **GOOD_ENTRY}]}),
    json.dumps({"answers": [THREE[0], THREE[0], THREE[2]]}),
    json.dumps({"answers": []}),
    json.dumps(THREE),
    json.dumps({str(number): GOOD_ENTRY for number in (1, 2, 3)}),
    json.dumps({"answers": THREE})[:-30],
    "The image deserves full marks.",
    "I'm sorry, but I can't assist with that.",
)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", PLANTED)


def items(count: int, questions: int) -> list[Item[ConceptSpec]]:
    """Items of ConceptMix that all ask differently."""
    return [
        concept_item(
            *(RequestedConcept("color", f"c{n}", "…", f"Is number {number} c{n}?") for n in range(questions)),
            number=number,
        )
        for number in range(count)
    ]


def scored_items(count: int) -> list[Item[CounterfactualSpec]]:
    """Items of CF-World that all ask differently, of the three levels in turn."""
    return [
        score_item(
            *(replace(question, question=f"{question.question} ({number})") for question in (SHARP, LEAVES, RISES)),
            level=1 + number % 3,
            number=number,
        )
        for number in range(count)
    ]


def truth(question: str) -> bool:
    """What is true of a question about the right image: the last question of every third item is not."""
    return not (int(question.split()[2]) % 3 == 0 and question.endswith("c1?"))


def true_score(model: str, question: str) -> float:
    """The score that a model has for a question: Gemini's are halves, those of others tenths."""
    digit = hashlib.sha256(f"{model} {question}".encode()).digest()[0]
    return digit % 3 / 2 if "gemini" in model else digit % 11 / 10


class Answering(Loopback):
    """Knows the image of each item, and answers by the truth; `said` and `texts` stand in place of right answers.

    `said` has what is said to a question, `texts` what is sent to a request that begins with a question.
    """

    def __init__(
        self,
        asked: Sequence[Item[Any]],
        *,
        said: Mapping[str, Any] | None = None,
        texts: Mapping[str, str] | None = None,
        faults: Faults = lambda number: None,
    ) -> None:
        images = {hashlib.sha256(speckled(item.id, 16)).digest(): item for item in asked}

        def reply(question: Asked) -> str:
            (image,) = question.images
            item = images[hashlib.sha256(image).digest()]
            first, answer = self.answer(item, question, said or {})
            return (texts or {}).get(first, json.dumps(answer))

        super().__init__(faults=faults, reply=reply, dialects=(OPENAI, GEMINI))

    def answer(self, item: Item[Any], asked: Asked, said: Mapping[str, Any]) -> tuple[str, Mapping[str, object]]:
        """The first question, and the answer to all."""
        questions = concept_items.questions_in(asked.texts[1])
        assert set(questions) <= {concept.question for concept in item.spec.concepts}
        assert '"enum": ["yes", "no"]' in json.dumps(asked.schema), "servers are held to the two words"
        right = {question: "yes" if truth(question) else "no" for question in questions}
        return questions[0], concept_items.answer_of(asked.texts[1], {**right, **said})


class Scoring(Answering):
    """Gives the scores that the model has for each image."""

    def answer(self, item: Item[Any], asked: Asked, said: Mapping[str, Any]) -> tuple[str, Mapping[str, object]]:
        questions = score_items.questions_in(asked.texts[1])
        assert list(questions) == [question.question for question in item.spec.questions]
        assert '"score": {"type": "number"}' in json.dumps(asked.schema), "servers are held to numbers"
        assert ("hard to please" in asked.texts[0]) is ("Qwen" in asked.model and item.level > 1)
        right = {question: true_score(asked.model, question) for question in questions}
        return next(iter(questions)), score_items.answer_of(asked.texts[1], {**right, **said})


def judge_on(server: Loopback, name: str = LOOKER, **options: str) -> Judge:
    base_url = f"{server.url}/v1" if name.startswith("openai/") else server.url
    usual = {"base_url": base_url, "reads": "0", "tries": "1", **QUICK}
    return open_judge("conceptmix" if name == LOOKER else "cf-world", name, {**usual, **options})


def order(asked: Sequence[Item[Any]], folder: Path) -> RunConfig:
    """A run over a folder of images, one for each item."""
    folder.mkdir(exist_ok=True)
    for item in asked:
        if not (folder / f"{item.id}.png").exists():
            (folder / f"{item.id}.png").write_bytes(speckled(item.id, 16))
    return RunConfig(asked, open_image_model(f"folder/{folder}"), size=16)


def require_truth(stored: Sequence[Judged], asked: Sequence[Item[ConceptSpec]]) -> None:
    """Every image has the verdict that the truth gives it, question by question."""
    verdicts: dict[str, Any] = {result.outcome.item: result.verdict for result in stored}
    for item in asked:
        right = [truth(concept.question) for concept in item.spec.concepts]
        assert [part.score for part in verdicts[item.id].parts] == [float(answer) for answer in right]
        assert verdicts[item.id].passed is all(right)


def require_true_scores(stored: Sequence[Judged], asked: Sequence[Item[CounterfactualSpec]], judge: str = QWEN) -> None:
    """Every image has the scores that the model gave, question by question, and the mean that follows."""
    assert [result.outcome.item for result in stored] == [item.id for item in asked]
    for result, item in zip(stored, asked, strict=True):
        verdict: Any = result.verdict
        right = [true_score(judge.partition("/")[2], question.question) for question in item.spec.questions]
        assert [part.score for part in verdict.parts] == right
        score = (3 * right[0] + 8 * right[1] + 15 * right[2]) / 26
        assert result.outcome.score == pytest.approx(score, abs=1e-9)
        assert result.outcome.passed is (round(score, 9) >= 0.5)


@pytest.mark.parametrize(
    ("requests", "wrong"),
    [("each-question", NO_ANSWER_TEXTS), ("all-at-once", (*NO_ANSWER_TEXTS, *NUMBERED_TEXTS))],
)
def test_what_is_no_answer_costs_its_own_image_and_nothing_wrong_is_accepted(
    requests: str, wrong: Sequence[str], tmp_path: Path
) -> None:
    asked = items(len(NO_ANSWERS) + len(wrong) + 4, 2)
    firsts = [item.spec.concepts[0].question for item in asked]
    said = dict(zip(firsts, NO_ANSWERS, strict=False))
    texts = dict(zip(firsts[len(said) :], (*wrong, ""), strict=False))
    lied = len(said) + len(texts)
    with Answering(asked, said=said, texts=texts) as server:
        done = execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge_on(server, requests=requests))
    by_item = {outcome.item: outcome for outcome in outcomes(tmp_path / "run")}
    reasons = [(by_item[item.id].passed, by_item[item.id].reason) for item in asked[:lied]]
    assert reasons == [(None, "not understood")] * (lied - 1) + [(None, "judge failed")]
    assert all("openai/looker " in by_item[item.id].detail for item in asked[:lied])
    require_truth(judged(tmp_path / "run"), asked[lied:])
    assert (done.unscored, done.passed + done.not_passed) == (lied, 3)


def test_what_is_no_score_costs_its_own_image_and_is_counted_with_its_reason(tmp_path: Path) -> None:
    asked = scored_items(len(NO_SCORES) + len(NO_SCORE_TEXTS) + 4)
    wrong_scores, wrong_texts = asked[: len(NO_SCORES)], asked[len(NO_SCORES) : -4]
    said = {item.spec.questions[1].question: score for item, score in zip(wrong_scores, NO_SCORES, strict=True)}
    texts = {item.spec.questions[0].question: text for item, text in zip(wrong_texts, NO_SCORE_TEXTS, strict=True)}
    lied = len(said) + len(texts)
    with Scoring(asked, said=said, texts=texts) as server:
        done = execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge_on(server, QWEN))
    assert (done.unscored, done.passed + done.not_passed) == (lied, 4)
    stored = judged(tmp_path / "run")
    assert Counter(result.outcome.reason for result in stored) == {"not understood": lied, "": 4}
    for result in stored[:lied]:
        assert (result.outcome.passed, result.outcome.score) == (None, None), "never 0, never in part"
        assert QWEN in result.outcome.detail
        assert result.verdict.evidence["answers"][0]["raw"]  # type: ignore[index]
    assert rows(tmp_path / "run", "SELECT count(*) FROM verdicts WHERE score IS NULL") == [(lied,)]
    require_true_scores(stored[lied:], asked[lied:])


def test_each_fault_costs_its_own_image_and_going_on_asks_only_what_is_missing(tmp_path: Path) -> None:
    asked = items(len(FAULTS) + 2, 3)
    kinds = {3 * number + number % 3: Fault(kind) for number, kind in enumerate(FAULTS)}
    with Answering(asked, faults=kinds.get) as server:
        whole, judge = order(asked, tmp_path / "pictures"), judge_on(server)
        first = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == 3 * len(asked)
        hit = [_item_of(server, number) for number in kinds]
        by_item = {result.outcome.item: result for result in judged(tmp_path / "run")}
        second = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == 3 * len(asked) + len(FAULTS), "one question was missing of each"
        third = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == 3 * len(asked) + len(FAULTS)
        assert set(successes(server, kinds.get)[CHATS].values()) == {1}
    assert len(set(hit)) == len(FAULTS)
    for item, reason in zip(hit, FAULTS.values(), strict=True):
        outcome = by_item[item].outcome
        assert (outcome.passed, outcome.reason) == (None, reason)
        assert outcome.detail.startswith("1 of 3 questions have no answer (Is number ")
        assert len(by_item[item].verdict.evidence["observations"]) == 2  # type: ignore[arg-type]
    assert (first.unscored, second.verdicts, second.unscored, third.verdicts) == (len(FAULTS), len(FAULTS), 0, 0)
    require_truth(judged(tmp_path / "run"), asked)


def test_each_fault_costs_all_scores_of_its_own_image(tmp_path: Path) -> None:
    asked = scored_items(len(FAULTS) + 3)
    kinds = {number: Fault(kind) for number, kind in enumerate(FAULTS)}
    with Scoring(asked, faults=kinds.get) as server:
        whole, judge = order(asked, tmp_path / "pictures"), judge_on(server, QWEN)
        first = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == len(asked)
        reasons = Counter(outcome.reason for outcome in outcomes(tmp_path / "run"))
        second, third = (execute(whole, tmp_path / "run", judge) for _ in range(2))
        assert len(server.requests) == len(asked) + len(FAULTS)
    assert reasons == Counter([*FAULTS.values(), "", "", ""])
    assert (first.unscored, second.verdicts, second.unscored, third.verdicts) == (len(FAULTS), len(FAULTS), 0, 0)
    require_true_scores(judged(tmp_path / "run"), asked)


@pytest.mark.parametrize("name", [LOOKER, QWEN])
def test_answers_that_cannot_be_used_are_not_remembered(name: str, tmp_path: Path) -> None:
    asked: list[Item[Any]] = [*(items(3, 2) if name == LOOKER else scored_items(3))]
    first: Any = asked[1].spec
    question = first.concepts[0].question if name == LOOKER else first.questions[0].question
    said = {question: "maybe"}
    with (Answering if name == LOOKER else Scoring)(asked, said=said) as server:
        judge = judge_on(server, name)
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored == 1
        calls = len(server.requests)
        said.clear()  # the model has come to its senses
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored == 0
        assert (calls, len(server.requests)) == ((7, 8) if name == LOOKER else (4, 5)), "once more in vain, and later"
    check: Callable[..., None] = require_truth if name == LOOKER else require_true_scores
    check(judged(tmp_path / "run"), asked)


def test_a_run_under_many_faults_and_with_many_questions_at_once_comes_to_the_truth(tmp_path: Path) -> None:
    asked = items(20, 4)
    kinds = ["500", "429", "reset", "html", "refusal", "length", "schema"]
    wrong: dict[int, Fault] = {}

    def faults(number: int) -> Fault | None:
        fault = at_random(0.3, kinds, seed=5)(number)
        if fault is not None:
            wrong[number] = fault
        return fault

    with Answering(asked, faults=faults) as server:
        judge = judge_on(server, concurrency="6")
        for _ in range(20):
            if not execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored:
                break
        assert server.most_at_once <= 6
        answered = successes(server, wrong.get)[CHATS]
    assert len(wrong) > 10
    assert answered == Counter(dict.fromkeys(answered, 1)), "no question that was answered was asked again"
    assert answered.total() == 20 * 4
    require_truth(judged(tmp_path / "run"), asked)


def test_two_judges_look_at_the_images_of_one_run_each_in_its_persona(tmp_path: Path) -> None:
    asked = scored_items(9)
    with Scoring(asked) as server:
        first, second = judge_on(server, QWEN), judge_on(server, GEMINI_PRO)
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", first).unscored == 0
        before = rows(tmp_path / "run", "SELECT * FROM verdicts ORDER BY item")
        assert judge_run(tmp_path / "run", second).unscored == 0
        assert len(server.requests) == 2 * len(asked), "one request for each image and judge"
        assert judge_run(tmp_path / "run", second).judged == 0
        assert len(server.requests) == 2 * len(asked)
    after = rows(tmp_path / "run", "SELECT * FROM verdicts ORDER BY item")
    assert set(before) < set(after), "a second judge changes nothing of what the first one said"
    with contextlib.closing(open_run(tmp_path / "run")) as run:
        judges = run.judges()
    personas = [(judge.name, judge.settings["persona"]) for judge in judges]
    assert personas == [(QWEN, "strict"), (GEMINI_PRO, "standard")]
    for judge, texts in zip(judges, ("factual-balanced counterfactual-strict", "factual counterfactual"), strict=True):
        with contextlib.closing(open_run(tmp_path / "run", judge)) as run:
            stored = list(run.judged())
        require_true_scores(stored, asked, judge.name)
        names = {str(result.verdict.evidence["prompt"]).partition(",")[0] for result in stored}
        assert names == {f"score-judge-{text}" for text in texts.split()}


def test_the_published_form_is_read_too(tmp_path: Path) -> None:
    asked = scored_items(2)
    texts = {
        item.spec.questions[0].question: json.dumps(
            {str(number): {"reasoning": "look", "score": number / 10} for number in numbers}
        )
        for item, numbers in zip(asked, ((1, 2, 3), (1, 2)), strict=True)
    }
    with Scoring(asked, texts=texts) as server:
        execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge_on(server, QWEN, answers="published"))
        schema = server.requests[0].json["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == schema["required"] == ["1", "2", "3"]
    right, wrong = judged(tmp_path / "run")
    assert [part.score for part in right.verdict.parts] == [0.1, 0.2, 0.3]  # type: ignore[union-attr]
    assert (wrong.outcome.score, wrong.outcome.reason) == (None, "not understood")
    assert "it must answer the questions 1 to 3" in wrong.outcome.detail


def _item_of(server: Loopback, number: int) -> str:
    words: Any = server.requests[number].json["messages"][0]["content"]
    (question,) = concept_items.questions_in(words[-1]["text"])
    return question.split()[2]
