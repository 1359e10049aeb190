"""A thousand items while a fifth of all calls go wrong: in the end all are scored, and nothing was paid for twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.remote.knowing_server import KnowingServer, knolling, looker, order, painter, successes
from tests.support.loopback import Fault, at_random
from tests.support.remote_models import stand_alone
from tests.support.run_contents import outcomes

from formalimg.runs.execution import execute

COUNT = 1000
KINDS: tuple[str | Fault, ...] = (
    Fault("429", retry_after="0.01"),
    "429",
    "500",
    "503",
    "reset",
    "empty",
    "html",
    "truncated",
    "schema",
    "refusal",
)
NEVER_ANSWERED = (30, 90, 210, 211, 400)
"""These calls, by their number. Each takes its time, so they are few, and early, while there is other work."""

IMAGES, WORDS = "/v1/images/generations", "/v1/chat/completions"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


def test_after_going_on_all_is_scored_and_no_call_that_succeeded_was_made_again(tmp_path: Path) -> None:
    items = knolling(COUNT, levels=range(1, 6))
    wrong: dict[int, Fault] = {}
    faulty = [at_random(0.2, KINDS, seed=1)]

    def faults(number: int) -> Fault | None:
        fault = Fault("hang") if number in NEVER_ANSWERED else faulty[0](number) if faulty else None
        if fault is not None:
            wrong[number] = fault
        return fault

    with KnowingServer(items, faults=faults) as server:
        # Long enough that no call is given up but those that are never answered.
        many = {"concurrency": "32", "tries": "2", "timeout": "6"}
        model, judge = painter(server, **many), looker(server, **many)
        first = execute(order(items, model), tmp_path / "run", judge)
        reasons = Counter(outcome.reason for outcome in outcomes(tmp_path / "run"))
        assert first.made + first.refused + first.failed == first.images == COUNT
        assert first.passed + first.unscored == first.made
        assert first.passed == reasons[""]
        assert (first.refused, first.failed) == (reasons["refused"], reasons["generation failed"])
        assert first.unscored == reasons["judge failed"]
        assert min(first.refused, first.failed, first.unscored) > 0
        faulty.clear()
        second = execute(order(items, model), tmp_path / "run", judge)
        calls = len(server.requests)
        third = execute(order(items, model), tmp_path / "run", judge)
        assert len(server.requests) == calls
    assert second.images == first.refused + first.failed
    assert second.verdicts == second.images + first.unscored
    assert (third.images, third.verdicts) == (0, 0)
    assert all(outcome.passed for outcome in outcomes(tmp_path / "run"))
    assert 0.15 < len(wrong) / calls < 0.25
    answered = successes(server, wrong.get)
    assert set(answered) == {IMAGES, WORDS}
    for path in (IMAGES, WORDS):
        assert len(answered[path]) == COUNT
        assert set(answered[path].values()) == {1}
