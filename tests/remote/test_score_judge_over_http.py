"""The judge of CF-World through the real libraries: two judges beside each other, and nothing wrong is accepted."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.reader import Judged, open_run
from formalimg.types import Item, Judge
from tests.remote.knowing_server import QUICK
from tests.support.loopback import Asked, Fault, Faults, Loopback
from tests.support.loopback.gemini import GEMINI
from tests.support.loopback.openai import OPENAI
from tests.support.models import speckled
from tests.support.remote_models import PLANTED, stand_alone
from tests.support.run_contents import judged, outcomes, rows
from tests.support.score_items import LEAVES, RISES, SHARP, answer_of, questions_in, score_item

QWEN, GEMINI_PRO = "openai/Qwen3-VL-235B-A22B-Instruct", "gemini/gemini-3-pro-preview"

NO_SCORES = ("half", "high", "50%", "1/2", "", 1.5, -1, 100, True, None)

GOOD_ENTRY = {"reasoning": "look", "score": 1}
THREE = [{"number": number, **GOOD_ENTRY} for number in (1, 2, 3)]
WHOLE_TEXTS = (
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

FAULTS = {
    "429": "judge failed",
    "500": "judge failed",
    "reset": "judge failed",
    "refusal": "judge failed",
    "filter": "judge failed",
    "empty": "judge failed",
    "html": "judge failed",
    "truncated": "judge failed",
    "no text": "judge failed",
    "length": "not understood",
}
"""What an image is worth whose request meets one of these."""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", PLANTED)


def items(count: int) -> list[Item[CounterfactualSpec]]:
    """Items that all ask differently, of the three levels in turn."""
    asked = [
        [replace(one, question=f"{one.question} ({number})") for one in (SHARP, LEAVES, RISES)]
        for number in range(count)
    ]
    return [score_item(*own, level=1 + number % 3, number=number) for number, own in enumerate(asked)]


def truth(model: str, question: str) -> float:
    """The score that a model has for a question: Gemini's are halves, those of others tenths."""
    drawn = hashlib.sha256(f"{model} {question}".encode()).digest()[0]
    return drawn % 3 / 2 if "gemini" in model else drawn % 11 / 10


class Scoring(Loopback):
    """Knows the image of each item, and gives the scores that the model has for it."""

    def __init__(
        self,
        asked: Sequence[Item[CounterfactualSpec]],
        *,
        said: Mapping[str, object] | None = None,
        texts: Mapping[str, str] | None = None,
        faults: Faults = lambda number: None,
    ) -> None:
        """A server that does not run yet.

        Args:
            asked: the items.
            said: what is said to a question in place of its score.
            texts: what is sent in place of any answer to a request that begins with a question.
            faults: as for every loopback server.
        """
        images = {hashlib.sha256(speckled(item.id, 16)).digest(): item for item in asked}

        def reply(question: Asked) -> str:
            (image,) = question.images
            item = images[hashlib.sha256(image).digest()]
            found = questions_in(question.texts[1])
            assert list(found) == [one.question for one in item.spec.questions]
            assert '"score": {"type": "number"}' in json.dumps(question.schema), "servers are held to numbers"
            assert ("hard to please" in question.texts[0]) is ("Qwen" in question.model and item.level > 1)
            right = {one: truth(question.model, one) for one in found}
            answer = json.dumps(answer_of(question.texts[1], {**right, **(said or {})}))
            return (texts or {}).get(next(iter(found)), answer)

        super().__init__(faults=faults, reply=reply, dialects=(OPENAI, GEMINI))


def judge_on(server: Loopback, name: str = QWEN, **options: str) -> Judge:
    base_url = f"{server.url}/v1" if name.startswith("openai/") else server.url
    usual = {"base_url": base_url, "reads": "0", "tries": "1", **QUICK}
    return open_judge("cf-world", name, {**usual, **options})


def order(asked: Sequence[Item[CounterfactualSpec]], folder: Path) -> RunConfig:
    """A run over a folder of images, one for each item."""
    folder.mkdir(exist_ok=True)
    for item in asked:
        if not (folder / f"{item.id}.png").exists():
            (folder / f"{item.id}.png").write_bytes(speckled(item.id, 16))
    return RunConfig(asked, open_image_model(f"folder/{folder}"), size=16)


def test_two_judges_look_at_the_images_of_one_run_each_in_its_persona(tmp_path: Path) -> None:
    asked = items(9)
    with Scoring(asked) as server:
        first, second = judge_on(server), judge_on(server, GEMINI_PRO)
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", first).unscored == 0
        before = rows(tmp_path / "run", "SELECT * FROM verdicts ORDER BY item")
        assert judge_run(tmp_path / "run", second).unscored == 0
        assert len(server.requests) == 2 * len(asked), "one request for each image and judge"
        assert judge_run(tmp_path / "run", second).judged == 0
        assert len(server.requests) == 2 * len(asked)
    after = rows(tmp_path / "run", "SELECT * FROM verdicts ORDER BY item")
    assert set(before) < set(after), "a second judge changes nothing of what the first one said"
    with contextlib.closing(open_run(tmp_path / "run")) as run:
        parties = run.judges()
    assert [(party.name, party.settings["persona"]) for party in parties] == [
        (QWEN, "strict"),
        (GEMINI_PRO, "standard"),
    ]
    for party, texts in zip(parties, ("factual-balanced counterfactual-strict", "factual counterfactual"), strict=True):
        with contextlib.closing(open_run(tmp_path / "run", party)) as run:
            found = list(run.judged())
        _all_as_it_is(found, asked, party.name.partition("/")[2])
        names = {str(one.verdict.evidence["prompt"]).partition(",")[0] for one in found}
        assert names == {f"score-judge-{text}" for text in texts.split()}


def test_what_is_no_score_costs_its_own_image_and_is_counted_with_its_reason(tmp_path: Path) -> None:
    asked = items(len(NO_SCORES) + len(WHOLE_TEXTS) + 4)
    wrong_scores, wrong_texts = asked[: len(NO_SCORES)], asked[len(NO_SCORES) : -4]
    said = {item.spec.questions[1].question: score for item, score in zip(wrong_scores, NO_SCORES, strict=True)}
    texts = {item.spec.questions[0].question: text for item, text in zip(wrong_texts, WHOLE_TEXTS, strict=True)}
    lied = len(said) + len(texts)
    with Scoring(asked, said=said, texts=texts) as server:
        done = execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge_on(server))
    assert (done.unscored, done.passed + done.not_passed) == (lied, 4)
    found = outcomes(tmp_path / "run")
    assert Counter(one.reason for one in found) == {"not understood": lied, "": 4}
    kept = {one.outcome.item: one.verdict for one in judged(tmp_path / "run")}
    for one in found[:lied]:
        assert (one.passed, one.score) == (None, None), "never 0, never in part"
        assert QWEN in one.detail
        assert kept[one.item].evidence["answers"][0]["raw"]  # type: ignore[index]
    assert rows(tmp_path / "run", "SELECT count(*) FROM verdicts WHERE score IS NULL") == [(lied,)]
    _all_as_it_is(judged(tmp_path / "run")[lied:], asked[lied:], QWEN.partition("/")[2])


def test_each_fault_costs_its_own_image_and_going_on_asks_only_what_is_missing(tmp_path: Path) -> None:
    asked = items(len(FAULTS) + 3)
    kinds = {place: Fault(kind) for place, kind in enumerate(FAULTS)}
    with Scoring(asked, faults=kinds.get) as server:
        judge = judge_on(server)
        whole = order(asked, tmp_path / "pictures")
        first = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == len(asked)
        found = Counter(outcome.reason for outcome in outcomes(tmp_path / "run"))
        second = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == len(asked) + len(FAULTS)
        third = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == len(asked) + len(FAULTS)
    assert found == Counter([*FAULTS.values(), "", "", ""])
    assert (first.unscored, second.verdicts, second.unscored, third.verdicts) == (len(FAULTS), len(FAULTS), 0, 0)
    _all_as_it_is(judged(tmp_path / "run"), asked, QWEN.partition("/")[2])


def test_answers_that_cannot_be_used_are_not_remembered(tmp_path: Path) -> None:
    asked = items(3)
    said = {asked[1].spec.questions[0].question: "all of it"}
    with Scoring(asked, said=said) as server:
        judge = judge_on(server)
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored == 1
        said.clear()  # the model has come to its senses
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored == 0
        assert len(server.requests) == 3 + 1 + 1, "asked once more in vain, and once again later"
    _all_as_it_is(judged(tmp_path / "run"), asked, QWEN.partition("/")[2])


def test_the_published_form_is_read_too(tmp_path: Path) -> None:
    asked = items(2)
    texts = {
        item.spec.questions[0].question: json.dumps(
            {str(number): {"reasoning": "look", "score": number / 10} for number in numbers}
        )
        for item, numbers in zip(asked, ((1, 2, 3), (1, 2)), strict=True)
    }
    with Scoring(asked, texts=texts) as server:
        execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge_on(server, answers="published"))
        schema = server.requests[0].json["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == schema["required"] == ["1", "2", "3"]
    right, wrong = judged(tmp_path / "run")
    assert [part.score for part in right.verdict.parts] == [0.1, 0.2, 0.3]  # type: ignore[union-attr]
    assert (wrong.outcome.score, wrong.outcome.reason) == (None, "not understood")
    assert "it must answer the questions 1 to 3" in wrong.outcome.detail


def _all_as_it_is(found: Sequence[Judged], asked: Sequence[Item[CounterfactualSpec]], model: str) -> None:
    """Every image has the scores that the model gave, question by question, and the mean that follows."""
    assert [one.outcome.item for one in found] == [item.id for item in asked]
    for one, item in zip(found, asked, strict=True):
        verdict: Any = one.verdict
        right = [truth(model, question.question) for question in item.spec.questions]
        assert [part.score for part in verdict.parts] == right
        score = (3 * right[0] + 8 * right[1] + 15 * right[2]) / 26
        assert one.outcome.score == pytest.approx(score, abs=1e-9)
        assert one.outcome.passed is (round(score, 9) >= 0.5)
