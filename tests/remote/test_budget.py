"""What a run costs is counted to the cent, a budget stops it cleanly, and a dry run calls nobody."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from formalimg.runs.execution import execute
from formalimg.runs.progress import Progress
from tests.remote.knowing_server import KnowingServer, knolling, looker, order, painter
from tests.support.command import formalimg
from tests.support.loopback import Loopback, at_random
from tests.support.remote_models import stand_alone
from tests.support.run_contents import outcomes, rows

PRICES = """
[prices]
"openai/painter" = { image = 0.25 }
"openai/looker" = { input = 10_000, output = 12_500 }
"""
A_IMAGE = 0.25
AN_ANSWER = 1.25
"""The server counts 100 tokens for each question and 20 for each answer."""

ITEMS = ("knolling", "--levels", "1", "--per-level", "10")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))


def _asked(server: Loopback) -> tuple[str, ...]:
    here = f"base_url={server.url}/v1"
    model = ("--model", "openai/painter", "-M", here, "-M", "concurrency=2")
    return (*ITEMS, *model, "--judge", "openai/looker", "-J", here, "-J", "concurrency=2", "-J", "cache=off")


def _cost(folder: Path) -> float:
    ((cost,),) = rows(folder, "SELECT (SELECT total(cost) FROM pictures) + (SELECT total(cost) FROM verdicts)")
    return float(cost)


def _paid(server: Loopback) -> float:
    return sum(A_IMAGE if "images" in request.path else AN_ANSWER for request in server.requests)


def _left(told: str) -> dict[str, tuple[int, str]]:
    """How many images and questions a dry run speaks of, and what they would cost."""
    found = re.findall(r"^  (\w+ to \w+) +([\d,]+)(.*)$", told, re.MULTILINE)
    return {what: (int(number.replace(",", "")), cost.strip()) for what, number, cost in found}


def test_a_budget_stops_the_command_which_goes_on_with_a_larger_one(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "knolling-openai-painter"
    with KnowingServer(knolling(200, levels=[1]), latency=0.1) as server:
        done = formalimg("run", *_asked(server), "--budget", "6")
        assert (done.code, "Traceback" in done.err) == (130, False)
        assert "the budget is used up" in done.err
        assert str(run.relative_to(tmp_path)) in done.err
        assert _cost(run) == _paid(server)
        assert 6 <= _cost(run) <= 6 + 4 * AN_ANSWER, "what was on its way is still taken in"
        assert {outcome.reason for outcome in outcomes(run)} <= {"", "not judged", "no image"}
        calls = len(server.requests)
        made = sum("images" in request.path for request in server.requests)
        done = formalimg("run", *_asked(server), "--dry-run")
        assert len(server.requests) == calls
        assert _left(done.out)["images to make"][0] == 10 - made
        assert _left(done.out)["questions to ask"][0] == 10 - (calls - made)
        done = formalimg("run", *_asked(server), "--budget", "1000")
        assert done.code == 0, done.err
        assert _cost(run) == _paid(server) == 10 * (A_IMAGE + AN_ANSWER)
    assert all(outcome.passed for outcome in outcomes(run))


def test_a_dry_run_calls_nobody_and_writes_nothing(tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with KnowingServer([]) as server:
        done = formalimg("run", *_asked(server), "--dry-run")
        assert done.code == 0, done.err
        assert server.requests == []
    assert sorted(tmp_path.rglob("*")) == before
    left = _left(done.out)
    assert left["images to make"] == (10, f"about ${10 * A_IMAGE:.2f}")
    assert left["images to judge"][0] == 10
    # For a question it reckons with 2,000 tokens and for an answer with 400.
    assert left["questions to ask"] == (10, "about $250.00")


def test_with_a_budget_that_is_used_up_nothing_more_is_spent(tmp_path: Path) -> None:
    items = knolling(12, levels=[1])
    with KnowingServer(items) as server:
        model, judge = painter(server), looker(server)
        first = execute(order(items, model, budget=3.0), tmp_path / "run", judge)
        calls = len(server.requests)
        second = execute(order(items, model, budget=3.0), tmp_path / "run", judge)
        assert (first.stopped, first.over_budget, second.stopped) == (True, True, True)
        assert len(server.requests) == calls
        assert second.cost == first.cost == _paid(server) >= 3
        third = execute(order(items, model), tmp_path / "run", judge)
        assert (third.stopped, third.cost) == (False, 12 * (A_IMAGE + AN_ANSWER))
        last = execute(order(items, model, budget=3.0), tmp_path / "run", judge)
    assert (last.stopped, last.done) == (False, 0), "all is done, so there is nothing to be stopped"


def test_what_failed_attempts_cost_is_counted_too(tmp_path: Path) -> None:
    items = knolling(30, levels=[1, 2])
    told: list[float] = []

    def note(progress: Progress) -> None:
        told.append(progress.cost)

    faults = at_random(0.3, ["length", "500"], seed=4)
    with KnowingServer(items) as images, KnowingServer(items, faults=faults) as words:
        model, judge = painter(images), looker(words, tries="1", concurrency="4")
        execute(order(items, model), tmp_path / "run", judge, on_progress=note)
        done = execute(order(items, model), tmp_path / "run", judge, on_progress=note)
        free = [number for number in range(len(words.requests)) if (fault := faults(number)) and fault.kind == "500"]
    paid = 30 * A_IMAGE + (len(words.requests) - len(free)) * AN_ANSWER
    assert len(words.requests) > 30
    assert free
    assert math.isclose(done.cost, paid)
    assert math.isclose(_cost(tmp_path / "run"), paid)
    assert told == sorted(told)


def test_what_the_memory_knows_is_free(tmp_path: Path) -> None:
    items = knolling(6, levels=[1])
    with KnowingServer(items) as server:
        judge = looker(server, cache="on")
        for number in range(2):
            done = execute(order(items, painter(server)), tmp_path / f"run{number}", judge)
            assert done.passed == 6
            assert done.cost == 6 * A_IMAGE + (0 if number else 6 * AN_ANSWER)
        assert sum("chat" in request.path for request in server.requests) == 6
