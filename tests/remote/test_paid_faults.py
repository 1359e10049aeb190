"""Servers that are paid and always broken: each call counts, and nothing is begun once the budget is reached."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.models.registry import open_image_model
from formalimg.runs.execution import execute, judge_run
from formalimg.types import ImageModel
from tests.remote.knowing_server import KnowingServer, knolling, order
from tests.support.command import formalimg
from tests.support.loopback import Dialect, Fault, Faults, Loopback, scripted
from tests.support.loopback.gemini import GEMINI
from tests.support.loopback.hf import HF
from tests.support.loopback.openai import OPENAI
from tests.support.models import Speckles
from tests.support.remote_models import PLANTED, stand_alone
from tests.support.run_contents import rows
from tests.support.sizes import tries

AT_ONCE = 4
PRICE = 0.25
"""Of an image; chat answers of 20 tokens cost the same."""

PRICES = """
[prices]
"openai/painter" = { image = 0.25 }
"openai/token-painter" = { input = 1, output = 1 }
"gemini/painter" = { image = 0.25 }
"hf/acme/painter" = { image = 0.25 }
"openai/looker" = { input = 0, output = 12_500 }
"openai/unbounded" = { input = 1, output = 1 }
"""
ITEMS = knolling(60, levels=[1])


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    for variable in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("GEMINI_API_KEY", "HF_TOKEN"):
        monkeypatch.setenv(variable, PLANTED)
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))


def always(kind: str) -> Faults:
    return lambda number: Fault(kind)


def options(base_url: str) -> dict[str, str]:
    return {"base_url": base_url, "concurrency": str(AT_ONCE), "initial_backoff": "0.001", "timeout": "10"}


def paid_calls(server: Loopback) -> int:
    return sum(request.method == "POST" for request in server.requests)


def cost_in(folder: Path) -> float:
    ((cost,),) = rows(folder, "SELECT (SELECT total(cost) FROM pictures) + (SELECT total(cost) FROM verdicts)")
    return float(cost)


Open = Callable[[Loopback], ImageModel]


def openai_painter(server: Loopback) -> ImageModel:
    return open_image_model("openai/painter", options(f"{server.url}/v1"))


def gemini_painter(server: Loopback) -> ImageModel:
    return open_image_model("gemini/painter", options(server.url))


def hf_painter(server: Loopback) -> ImageModel:
    return open_image_model("hf/acme/painter", options(server.url))


DIALECTS: dict[Open, Dialect] = {openai_painter: OPENAI, gemini_painter: GEMINI, hf_painter: HF}

IMAGE_FAULTS = [
    *[(openai_painter, kind) for kind in ("no base64", "lost image", "text", "broken", "billed refusal", "no image")],
    *[(openai_painter, kind) for kind in ("schema", "html", "empty", "truncated")],
    *[(gemini_painter, kind) for kind in ("no base64", "words", "text", "blocked", "SAFETY", "OTHER", "no candidate")],
    *[(gemini_painter, kind) for kind in ("schema", "html")],
    *[(hf_painter, kind) for kind in ("text", "gif", "html", "empty")],
][:: tries(3, 1)]


@pytest.mark.parametrize(("open_model", "kind"), IMAGE_FAULTS, ids=[f"{o.__name__}-{k}" for o, k in IMAGE_FAULTS])
def test_an_image_model_that_is_paid_and_broken_stops_at_the_budget(
    open_model: Open, kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    # An image that is lost is looked for again after some seconds, so this one has to be quick.
    budget = (2 if kind == "lost image" else 10) * PRICE
    with KnowingServer(ITEMS, faults=always(kind), latency=0.02, dialects=[DIALECTS[open_model]]) as server:
        first = execute(order(ITEMS, open_model(server), budget=budget), tmp_path / "run")
        calls = paid_calls(server)
        again = execute(order(ITEMS, open_model(server), budget=budget), tmp_path / "run")
        assert paid_calls(server) == calls, "what failed attempts cost is known after a restart"
    record_property("overshoot", (first.cost - budget) / PRICE)
    assert (first.stopped, first.over_budget, first.made) == (True, True, 0)
    assert (again.stopped, again.over_budget) == (True, True)
    assert first.cost == again.cost == cost_in(tmp_path / "run") == calls * PRICE
    assert budget <= first.cost <= budget + AT_ONCE * PRICE


CHAT_FAULTS = ["no text", "length", "refusal", "filter", "schema", "html", "empty", "truncated", "prose", "no usage"]


JUDGED = [
    *[(kind, "on") for kind in CHAT_FAULTS[:: tries(2, 1)]],
    *[(kind, "off") for kind in CHAT_FAULTS[:: tries(9, 1)]],
]


@pytest.mark.parametrize(("kind", "cache"), JUDGED)
def test_a_judge_that_is_paid_and_broken_stops_at_the_budget(
    kind: str, cache: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    execute(order(ITEMS, Speckles()), tmp_path / "run")
    faults = always(kind) if kind != "prose" else (lambda number: None)
    with Loopback(faults=faults, reply=lambda asked: "I see.", latency=0.02) as server:
        given = {**options(f"{server.url}/v1"), "cache": cache, "max_tokens": "20"}
        judge = open_judge("knolling", "openai/looker", given)
        budget = 10 * PRICE
        first = judge_run(tmp_path / "run", judge, budget=budget)
        calls = paid_calls(server)
        again = judge_run(tmp_path / "run", judge, budget=budget)
        assert paid_calls(server) == calls, "what failed attempts cost is known after a restart"
    record_property("overshoot", (first.cost - budget) / PRICE)
    assert (first.stopped, first.over_budget, first.passed + first.not_passed) == (True, True, 0)
    assert (again.stopped, again.over_budget) == (True, True)
    assert first.cost == again.cost == cost_in(tmp_path / "run") == calls * PRICE
    assert budget <= first.cost <= budget + AT_ONCE * PRICE
    # Twenty tokens are the limit, so what the server does not report is counted as if it had.
    assert first.estimated == (calls if kind in ("schema", "html", "empty", "truncated", "no usage") else 0)


@pytest.mark.parametrize("broken", [False, True])
def test_a_verdict_under_way_is_finished_unless_an_answer_is_of_no_use(broken: bool, tmp_path: Path) -> None:
    """Answers that are paid for become a verdict; but none is asked for again, and what is missing is not guessed."""
    items = knolling(2, levels=[3])
    with (
        KnowingServer(items) as painting,
        KnowingServer(items, faults=scripted({1: "no text"} if broken else {})) as server,
    ):
        execute(order(items, openai_painter(painting)), tmp_path / "run")
        made = len(items) * PRICE
        given = {**options(f"{server.url}/v1"), "requests": "per-class", "concurrency": "1"}
        judge = open_judge("knolling", "openai/looker", given)
        first = judge_run(tmp_path / "run", judge, budget=made + PRICE)
        ((passed, reason, detail, cost),) = rows(tmp_path / "run", "SELECT passed, reason, detail, cost FROM verdicts")
        assert (first.stopped, cost) == (True, len(server.requests) * PRICE)
        if broken:
            assert (passed, reason, len(server.requests)) == (None, "not judged", 2)
            assert detail == "the budget was used up before the judge was done"
        else:
            assert (passed, reason) == (1, "")
        done = judge_run(tmp_path / "run", judge, budget=100)
        questions = [request.body for number, request in enumerate(server.requests) if not (broken and number == 1)]
        assert len(set(questions)) == len(questions), "answers are not paid for again"
    assert (done.stopped, done.passed) == (False, 1 if not broken else 2)
    assert done.cost == made + len(server.requests) * PRICE == cost_in(tmp_path / "run")


def test_a_judge_that_answers_what_cannot_be_is_asked_once_more_and_no_further(tmp_path: Path) -> None:
    """Its answers have the wanted form, so they are no fault of the server; each is asked for twice at most."""
    items = knolling(30, levels=[3])
    execute(order(items, Speckles()), tmp_path / "run")
    nonsense = json.dumps({"objects": [{"label": "nothing we know", "color": "red", "box_2d": [9, 9, 9, 9]}]})
    with Loopback(reply=lambda asked: nonsense, latency=0.02) as server:
        judge = open_judge("knolling", "openai/looker", {**options(f"{server.url}/v1"), "requests": "per-class"})
        done = judge_run(tmp_path / "run", judge, budget=10 * PRICE)
    assert (done.over_budget, done.passed) == (True, 0)
    assert done.cost == len(server.requests) * PRICE == cost_in(tmp_path / "run")
    assert done.cost <= (10 + AT_ONCE + AT_ONCE) * PRICE, "what is in flight, and a second try for each of them"


def test_what_is_counted_by_an_upper_estimate_is_said(tmp_path: Path) -> None:
    execute(order(ITEMS, Speckles()), tmp_path / "run")
    with Loopback(faults=always("no usage"), reply=lambda asked: "I see.") as server:
        judge = ("--judge", "openai/looker", "-J", f"base_url={server.url}/v1", "-J", "max_tokens=20")
        done = formalimg("judge", "run", *judge, "--budget", "2", "-J", "concurrency=1", "-J", "initial_backoff=0")
        assert done.code == 130, done.err
        asked = len(server.requests)
    assert cost_in(tmp_path / "run") == asked * PRICE == 2
    assert (
        f"{asked} calls did not report their usage: the cost is estimated from what was sent and received" in done.err
    )


def test_a_run_with_a_budget_ends_where_no_cost_can_be_estimated(tmp_path: Path) -> None:
    with KnowingServer(ITEMS, latency=0.02) as server:
        model = open_image_model("openai/token-painter", options(f"{server.url}/v1"))
        advice = "openai/token-painter did not say what a call used, .* the price of an image, as in --price model=0.04"
        with pytest.raises(FormalimgError, match=advice):
            execute(order(ITEMS, model, budget=1.0), tmp_path / "run")
        assert len(server.requests) <= AT_ONCE
        done = execute(order(ITEMS, model), tmp_path / "other")
    assert (done.made, done.unpriced, done.stopped) == (len(ITEMS), len(ITEMS), False)


def test_a_broken_server_whose_cost_nobody_knows_ends_a_run_with_a_budget_at_once(tmp_path: Path) -> None:
    with KnowingServer(ITEMS, faults=always("html"), latency=0.02) as server:
        model = open_image_model("openai/token-painter", options(f"{server.url}/v1"))
        with pytest.raises(FormalimgError, match="the budget cannot be kept"):
            execute(order(ITEMS, model, budget=1.0), tmp_path / "run")
        assert len(server.requests) <= AT_ONCE


def test_a_call_that_is_paid_before_the_key_is_refused_is_on_record(tmp_path: Path) -> None:
    faults = {0: Fault("no base64"), 1: Fault("401")}
    with KnowingServer(ITEMS, faults=faults.get) as server:
        model = open_image_model("openai/painter", {**options(f"{server.url}/v1"), "concurrency": "1"})
        with pytest.raises(FormalimgError, match="does not accept the key"):
            execute(order(ITEMS, model), tmp_path / "run")
    assert cost_in(tmp_path / "run") == PRICE
