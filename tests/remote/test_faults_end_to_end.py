"""A run through the real library under faults of every kind: each item is scored, or unscored with the right reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from formalimg.runs.execution import execute
from formalimg.runs.progress import Progress
from tests.remote.knowing_server import (
    KnowingServer,
    knolling,
    looker,
    one_after_the_other,
    order,
    painter,
    successes,
)
from tests.support.loopback import Fault, Wish, at_random
from tests.support.models import speckled
from tests.support.run_contents import outcomes, rows

pytestmark = pytest.mark.usefixtures("stand_alone")

OF_IMAGES = {
    "429": ("generation failed", "busy: 429: it went wrong"),
    "500": ("generation failed", "unavailable: 500: it went wrong"),
    "503": ("generation failed", "unavailable: 503: it went wrong"),
    "hang": ("generation failed", "unavailable: "),
    "reset": ("generation failed", "unavailable: the connection to "),
    "refusal": ("refused", "400: Your request was rejected by the safety system."),
    "old refusal": ("refused", "400: This is against our content policy."),
    "empty": ("generation failed", "wrong: the answer is empty"),
    "html": ("generation failed", "wrong: the answer is an HTML page, not JSON"),
    "truncated": ("generation failed", "wrong: the answer is not JSON, or is cut off"),
    "schema": ("generation failed", "wrong: there is no image in the answer"),
    "no image": ("generation failed", "wrong: there is no image in the answer"),
    "text": ("generation failed", "wrong: the response is not a PNG, JPEG or WebP file"),
    "400": ("generation failed", "rejected: 400: it went wrong"),
    "tiny": ("", ""),
    "animated": ("", ""),
}
"""What becomes of an item whose image is asked for once: why it is unscored, and how the reason begins."""

OF_CHATS = {
    "429": ("judge failed", "did not answer: busy: 429: it went wrong"),
    "500": ("judge failed", "did not answer: unavailable: 500: it went wrong"),
    "hang": ("judge failed", "did not answer: unavailable: "),
    "reset": ("judge failed", "did not answer: unavailable: the connection to "),
    "refusal": ("judge failed", "declined to look: I cannot help with that."),
    "filter": ("judge failed", "declined to look: the model declined"),
    "empty": ("judge failed", "did not answer: wrong: the answer is empty"),
    "html": ("judge failed", "did not answer: wrong: the answer is an HTML page, not JSON"),
    "truncated": ("judge failed", "did not answer: wrong: the answer is not JSON, or is cut off"),
    "schema": ("judge failed", "did not answer: wrong: there is no message in the answer"),
    "no text": ("judge failed", "did not answer: wrong: there is no text in the answer"),
    "length": ("not understood", "gave answers that cannot be read: the answer was cut off by the limit on its length"),
}
"""The same for an item about whose image one question is asked."""

LIES = {
    "Certainly!": "gave answers that cannot be read: there is no JSON in the answer",
    '{"objects": "none"}': "gave answers that cannot be read: the answer has not the wanted form: objects: ",
    '{"objects": [{"label": "cup"}]}': "gave answers that cannot be read: the answer has not the wanted form: ",
    '{"objects": [': "gave answers that cannot be read: the JSON in the answer is broken or cut off",
    '{"objects": [{"label": "cup", "color": "red", "box_2d": [900, 0, 100, 50]}]}': "answered twice what cannot be: ",
    '{"objects": [{"label": "cup", "color": "red", "box_2d": [1, 2]}]}': "answered twice what cannot be: ",
}
"""Answers that came as they should and say nothing, and why such an item is not understood."""


def _adds_up(done: Progress, folder: Path) -> None:
    """All figures of a run tell the same, and nothing is missing."""
    found = outcomes(folder)
    reasons = Counter(outcome.reason for outcome in found if outcome.passed is None)
    assert done.made + done.refused + done.failed == done.images == len(found)
    assert done.passed + done.not_passed + done.unscored == done.judged == done.made
    assert done.passed == sum(outcome.passed is True for outcome in found)
    assert done.not_passed == sum(outcome.passed is False for outcome in found)
    assert done.refused == reasons.pop("refused", 0)
    assert done.failed == reasons.pop("generation failed", 0) + reasons.pop("unreadable image", 0)
    assert done.unscored == reasons.total()
    assert all(bool(outcome.detail) == (outcome.passed is None) for outcome in found)


def test_each_fault_of_the_image_model_costs_its_own_item(tmp_path: Path) -> None:
    items = knolling(len(OF_IMAGES) + 2, levels=[1, 2])
    faults = one_after_the_other(list(OF_IMAGES))
    with KnowingServer(items, faults=faults) as images, KnowingServer(items) as words:
        model, judge = painter(images, tries="1", timeout="1"), looker(words)
        done = execute(order(items, model), tmp_path / "run", judge)
        found = {outcome.item: outcome for outcome in outcomes(tmp_path / "run")}
        _adds_up(done, tmp_path / "run")
        assert len(images.requests) == len(items)
        again = execute(order(items, model), tmp_path / "run", judge)
    for item, (reason, beginning) in zip(items, OF_IMAGES.values(), strict=False):
        assert found[item.id].reason == reason
        assert found[item.id].detail.startswith(beginning)
        if not reason:  # a flat colour, in two pixels or two frames: it shows nothing
            assert found[item.id].passed is False
    assert all(found[item.id].passed for item in items[len(OF_IMAGES) :])
    assert (again.images, again.made) == (len(OF_IMAGES) - 2, len(OF_IMAGES) - 2)
    assert [outcome.passed for outcome in outcomes(tmp_path / "run")].count(True) == len(items) - 2
    sizes = rows(tmp_path / "run", "SELECT width, height FROM pictures WHERE width != 16 ORDER BY width")
    assert sizes == [(2, 2), (64, 64)]


def test_each_fault_of_the_judge_costs_its_own_item(tmp_path: Path) -> None:
    items = knolling(len(OF_CHATS) + 2, levels=[1, 2])
    faults = one_after_the_other(list(OF_CHATS))
    with KnowingServer(items) as images, KnowingServer(items, faults=faults) as words:
        model, judge = painter(images), looker(words, tries="1", timeout="1")
        done = execute(order(items, model), tmp_path / "run", judge)
        found = {outcome.item: outcome for outcome in outcomes(tmp_path / "run")}
        _adds_up(done, tmp_path / "run")
        asked = [words.asked_about(request) for request in words.requests]
        again = execute(order(items, model), tmp_path / "run", judge)
        assert len(images.requests) == len(items)
        assert set(successes(words, faults)["/v1/chat/completions"].values()) == {1}
    assert sorted(asked) == sorted(item.id for item in items)
    for item, (reason, beginning) in zip(asked, OF_CHATS.values(), strict=False):
        assert (found[item].reason, found[item].passed) == (reason, None)
        assert f"openai/looker {beginning}" in found[item].detail
    assert all(found[item].passed for item in asked[len(OF_CHATS) :])
    assert (again.images, again.passed) == (0, len(OF_CHATS))
    assert all(outcome.passed for outcome in outcomes(tmp_path / "run"))


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_says_nothing_is_not_understood(lie: str, tmp_path: Path) -> None:
    items = knolling(1, levels=[1])
    with KnowingServer(items, reply=lambda text: lie) as server:
        done = execute(order(items, painter(server)), tmp_path / "run", looker(server, reads="1"))
        _adds_up(done, tmp_path / "run")
        assert len(server.requests) == 1 + 2
    (outcome,) = outcomes(tmp_path / "run")
    assert outcome.reason == "not understood"
    assert LIES[lie] in outcome.detail


def test_a_broken_image_is_unreadable_and_was_paid_for(tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/painter" = { image = 0.5 }\n')
    items = knolling(2, levels=[1])

    def paint(wish: Wish) -> bytes:
        return speckled("half", 16)[:200]

    with KnowingServer(items, paint=paint) as server:
        done = execute(order(items, painter(server)), tmp_path / "run", looker(server))
        _adds_up(done, tmp_path / "run")
    assert {outcome.reason for outcome in outcomes(tmp_path / "run")} == {"unreadable image"}
    assert done.cost == 1.0
    assert rows(tmp_path / "run", "SELECT sum(cost) FROM pictures") == [(1.0,)]


def test_faults_that_pass_are_not_noticed(tmp_path: Path) -> None:
    items = knolling(24, levels=[1, 2, 3])
    kinds: list[str | Fault] = [
        Fault("429", retry_after="0.01"),
        "429",
        "500",
        "503",
        "reset",
        "empty",
        "html",
        "truncated",
        "schema",
    ]
    faults = at_random(0.5, kinds, seed=3)
    with KnowingServer(items, faults=faults) as server:
        judge = looker(server, tries="20", concurrency="4", requests="per-class")
        done = execute(order(items, painter(server, tries="20", concurrency="4")), tmp_path / "run", judge)
        _adds_up(done, tmp_path / "run")
        assert (done.made, done.passed) == (24, 24)
        answered = successes(server, faults)
    assert set(answered["/v1/images/generations"].values()) == {1}
    assert set(answered["/v1/chat/completions"].values()) == {1}
    assert answered["/v1/chat/completions"].total() == sum(len(item.spec.object_classes) for item in items)


def test_a_server_that_wants_to_be_left_alone_for_long_is(tmp_path: Path) -> None:
    items = knolling(20, levels=[1])
    faults = one_after_the_other([Fault("429", retry_after="3600")])
    with KnowingServer(items, faults=faults) as server:
        done = execute(order(items, painter(server)), tmp_path / "run")
        assert len(server.requests) == 1
        assert done.failed == 20
        again = execute(order(items, painter(server)), tmp_path / "run", looker(server))
    assert again.passed == 20
