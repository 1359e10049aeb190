"""The judge of ConceptMix through the real library: nothing wrong is accepted, and going on asks what is missing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item, Judge
from tests.remote.knowing_server import QUICK, successes
from tests.support.concept_items import answer_of, concept_item, questions_in
from tests.support.loopback import Asked, Fault, Faults, Loopback, at_random
from tests.support.models import speckled
from tests.support.run_contents import judged, outcomes

pytestmark = pytest.mark.usefixtures("stand_alone")

CHATS = "/v1/chat/completions"

NO_ANSWERS = ("Yes, but it is blue", "Ja", "oui", "", "N/A", "Not sure", "yes or no", "I cannot assist with that.")

WHOLE_TEXTS = (
    "Yes",
    "I'm sorry, but I can't assist with that.",
    '{"observation": "a cat", "answer": "yes"',
    '{"observation": "a cat", "answer": "yes"} or {"observation": "a cat", "answer": "no"}',
    '{"observation": "a cat", "answer": true}',
    '{"answers": ["yes", "yes"]}',
)
NUMBERS: tuple[list[int], ...] = ([], [1], [1, 2, 3], [2, 1], [1, 1], [0, 1])
"""Of answers to two questions in one request."""


def numbered_answers(numbers: Sequence[int]) -> str:
    return json.dumps({"answers": [{"number": one, "observation": "a cat", "answer": "yes"} for one in numbers]})


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
"""What a question is worth that meets one of these."""


def items(count: int, questions: int) -> list[Item[ConceptSpec]]:
    """Items that all ask differently."""
    return [
        concept_item(
            *(
                RequestedConcept("color", f"c{place}", "…", f"Is number {number} c{place}?")
                for place in range(questions)
            ),
            number=number,
        )
        for number in range(count)
    ]


def truth(question: str) -> bool:
    """What is true of a question about the right image: the last question of every third item is not."""
    number = int(question.split()[2])
    return not (number % 3 == 0 and question.endswith("c1?"))


class Answering(Loopback):
    """Knows the image of each item, and answers by the truth."""

    def __init__(
        self,
        asked: Sequence[Item[ConceptSpec]],
        *,
        said: Mapping[str, str] | None = None,
        texts: Mapping[str, str] | None = None,
        faults: Faults = lambda number: None,
    ) -> None:
        """A server that does not run yet.

        Args:
            asked: the items.
            said: what is said to a question in place of yes or no.
            texts: what is sent in place of any answer to a request that begins with a question.
            faults: as for every loopback server.
        """
        images = {hashlib.sha256(speckled(item.id, 16)).digest(): item for item in asked}

        def reply(question: Asked) -> str:
            (image,) = question.images
            item = images[hashlib.sha256(image).digest()]
            found = questions_in(question.texts[1])
            assert set(found) <= {concept.question for concept in item.spec.concepts}
            assert '"enum": ["yes", "no"]' in json.dumps(question.schema), "servers are held to the two words"
            right = {one: "yes" if truth(one) else "no" for one in found}
            answer = answer_of(question.texts[1], {**right, **(said or {})})
            return (texts or {}).get(found[0], json.dumps(answer))

        super().__init__(faults=faults, reply=reply)


def judge_on(server: Loopback, **options: str) -> Judge:
    usual = {"base_url": f"{server.url}/v1", "reads": "0", "tries": "1", **QUICK}
    return open_judge("conceptmix", "openai/looker", {**usual, **options})


def order(asked: Sequence[Item[ConceptSpec]], folder: Path) -> RunConfig:
    """A run over a folder of images, one for each item."""
    folder.mkdir(exist_ok=True)
    for item in asked:
        if not (folder / f"{item.id}.png").exists():
            (folder / f"{item.id}.png").write_bytes(speckled(item.id, 16))
    return RunConfig(asked, open_image_model(f"folder/{folder}"), size=16)


@pytest.mark.parametrize(
    ("requests", "wrong"),
    [("each-question", WHOLE_TEXTS), ("all-at-once", (*WHOLE_TEXTS, *map(numbered_answers, NUMBERS)))],
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
    found = {outcome.item: outcome for outcome in outcomes(tmp_path / "run")}
    reasons = [(found[item.id].passed, found[item.id].reason) for item in asked[:lied]]
    assert reasons == [(None, "not understood")] * (lied - 1) + [(None, "judge failed")]
    assert all("openai/looker " in found[item.id].detail for item in asked[:lied])
    for item in asked[lied:]:
        assert found[item.id].passed is all(truth(concept.question) for concept in item.spec.concepts)
    assert (done.unscored, done.passed + done.not_passed) == (lied, 3)


def test_each_fault_costs_its_own_image_and_going_on_asks_only_what_is_missing(tmp_path: Path) -> None:
    asked = items(len(FAULTS) + 2, 3)
    kinds = {3 * place + place % 3: Fault(kind) for place, kind in enumerate(FAULTS)}
    with Answering(asked, faults=kinds.get) as server:
        whole = order(asked, tmp_path / "pictures")
        judge = judge_on(server)
        first = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == 3 * len(asked)
        hit = [_item_of(server, number) for number in kinds]
        found = {outcome.item: outcome for outcome in outcomes(tmp_path / "run")}
        kept = {one.outcome.item: one.verdict.evidence for one in judged(tmp_path / "run")}
        second = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == 3 * len(asked) + len(FAULTS), "one question was missing of each"
        third = execute(whole, tmp_path / "run", judge)
        assert len(server.requests) == 3 * len(asked) + len(FAULTS)
        assert set(successes(server, kinds.get)[CHATS].values()) == {1}
    assert len(set(hit)) == len(FAULTS)
    for item, reason in zip(hit, FAULTS.values(), strict=True):
        assert (found[item].passed, found[item].reason) == (None, reason)
        assert found[item].detail.startswith("1 of 3 questions have no answer (Is number ")
        assert len(kept[item]["observations"]) == 2  # type: ignore[arg-type]
    assert (first.unscored, second.verdicts, second.unscored, third.verdicts) == (len(FAULTS), len(FAULTS), 0, 0)
    _all_as_it_is(tmp_path / "run", asked)


def test_answers_that_cannot_be_used_are_not_remembered(tmp_path: Path) -> None:
    asked = items(3, 2)
    said = {asked[0].spec.concepts[0].question: "maybe"}
    with Answering(asked, said=said) as server:
        judge = judge_on(server)
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored == 1
        said.clear()  # the model has come to its senses
        assert execute(order(asked, tmp_path / "pictures"), tmp_path / "run", judge).unscored == 0
        assert len(server.requests) == 6 + 1 + 1, "asked once more in vain, and once again later"
    _all_as_it_is(tmp_path / "run", asked)


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
    _all_as_it_is(tmp_path / "run", asked)


def _item_of(server: Loopback, number: int) -> str:
    words: Any = server.requests[number].json["messages"][0]["content"]
    (question,) = questions_in(words[-1]["text"])
    return question.split()[2]


def _all_as_it_is(folder: Path, asked: Sequence[Item[ConceptSpec]]) -> None:
    """Every image has the verdict that the truth gives it, question by question."""
    found = {one.outcome.item: one.verdict for one in judged(folder)}
    for item in asked:
        verdict: Any = found[item.id]
        right = [truth(concept.question) for concept in item.spec.concepts]
        assert [part.score for part in verdict.parts] == [float(one) for one in right]
        assert verdict.passed is all(right)
