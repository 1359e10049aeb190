"""A budget of `write`: every answer counts, also those that cannot be used, and a restart knows of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.engine import author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.errors import FormalimgError
from formalimg.models.base import Message, Reply
from formalimg.models.registry import open_chat_model
from formalimg.types import AnswerType, ChatModel
from tests.benchmarks_authoring.scripted import Scripted, honest_draft
from tests.support.command import formalimg
from tests.support.loopback import Fault, Loopback
from tests.support.remote_models import stand_alone

PLAN = AuthoringPlan("knolling", levels=(1, 2), per_level=10)
AT_ONCE = 4
PRICE = 0.25
PRICES = """
[prices]
"openai/writer" = { input = 0, output = 12_500 }
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))


@dataclass
class Paid(Scripted):
    """A scripted model whose answers cost a dollar each."""

    price: float | None = 1.0

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        return replace(await super().ask(messages, answer_type), cost=self.price)


def writer(server: Loopback) -> ChatModel:
    given = {"base_url": f"{server.url}/v1", "concurrency": str(AT_ONCE), "initial_backoff": "0.001"}
    return open_chat_model("openai/writer", {**given, "max_tokens": "20"})


@pytest.mark.parametrize("kind", ["no text", "length", "refusal", "html", "schema", "prose", "no usage"])
def test_a_writer_that_is_paid_and_broken_stops_at_the_budget(kind: str, tmp_path: Path) -> None:
    fault = None if kind == "prose" else Fault(kind)
    budget = 10 * PRICE
    with Loopback(faults=lambda number: fault, reply=lambda asked: "I see.", latency=0.02) as server:
        first = author_suite(PLAN, writer(server), tmp_path / "out", budget=budget)
        calls = len(server.requests)
        again = author_suite(PLAN, writer(server), tmp_path / "out", budget=budget)
        assert len(server.requests) == calls, "what failed attempts cost is known after a restart"
    assert first.over_budget
    assert again.over_budget
    assert first.cost == again.cost == calls * PRICE
    assert budget <= calls * PRICE <= budget + AT_ONCE * PRICE


def test_what_a_budget_stopped_goes_on_with_a_larger_one_to_the_same_items(tmp_path: Path) -> None:
    whole = author_suite(PLAN, Paid(honest_draft), tmp_path / "whole")
    model = Paid(honest_draft)
    results = [author_suite(PLAN, model, tmp_path / "out", budget=budget) for budget in (0, 7, 7, 20)]
    assert [result.over_budget for result in results] == [True] * 4
    assert [result.items for result in results][:3] == [()] * 3
    assert results[0].cost == 0
    assert results[1].cost == results[2].cost
    assert len(model.asked) <= 20 + model.concurrency - 1
    done = author_suite(PLAN, model, tmp_path / "out")
    assert (done.items, done.over_budget) == (whole.items, False)
    assert done.cost == whole.cost == len(model.asked), "no answer was asked for twice"
    assert not author_suite(PLAN, model, tmp_path / "out", budget=1).over_budget, "all is done, nothing is stopped"


def test_a_budget_ends_a_writing_whose_costs_nobody_knows(tmp_path: Path) -> None:
    model = Paid(honest_draft, price=None)
    with pytest.raises(FormalimgError, match="the price of scripted/model is unknown, so no budget can be kept"):
        author_suite(PLAN, model, tmp_path / "out", budget=5.0)
    assert len(model.asked) <= model.concurrency


@pytest.mark.parametrize("budget", [-0.01, math.nan])
def test_a_budget_that_cannot_be_kept_is_refused(tmp_path: Path, budget: float) -> None:
    with pytest.raises(FormalimgError, match=f"invalid budget {budget}"):
        author_suite(PLAN, Scripted(honest_draft), tmp_path / "out", budget=budget)


def test_what_was_paid_before_a_key_is_refused_is_on_record(tmp_path: Path) -> None:
    faults = {0: Fault("no text"), 1: Fault("401"), 2: Fault("401")}
    with Loopback(faults=faults.get) as server:
        model = open_chat_model(
            "openai/writer", {"base_url": f"{server.url}/v1", "concurrency": "1", "max_tokens": "20"}
        )
        with pytest.raises(FormalimgError, match="does not accept the key"):
            author_suite(PLAN, model, tmp_path / "out", budget=PRICE * 2)
        with pytest.raises(FormalimgError, match="does not accept the key"):
            author_suite(PLAN, model, tmp_path / "out", budget=PRICE * 2)
        stopped = author_suite(PLAN, model, tmp_path / "out", budget=PRICE)
    assert (stopped.over_budget, stopped.cost, len(server.requests)) == (True, PRICE, 3)


def test_the_command_says_that_the_budget_is_used_up(tmp_path: Path) -> None:
    with Loopback(faults=lambda number: Fault("no usage"), reply=lambda asked: "I see.") as server:
        model = ("-m", "openai/writer", "-M", f"base_url={server.url}/v1", "-M", "max_tokens=20", "-M", "concurrency=1")
        done = formalimg("items", "write", "knolling", *model, "--per-level", "1", "--out", "out", "--budget", "1")
        assert (done.code, len(server.requests)) == (130, 4), done.err
    assert "the budget is used up" in done.err
    assert "4 calls did not report their usage: the cost is estimated from what was sent" in done.err
    assert "cost: $1.0000" in done.out
    assert json.loads((tmp_path / "out" / "writing.json").read_text())["cost"] == 1
    done = formalimg(
        "items",
        "write",
        "knolling",
        "-m",
        "openai/unheard-of",
        "-M",
        "base_url=http://nowhere.invalid/v1",
        "--out",
        "o",
        "--budget",
        "1",
    )
    assert done.code == 2
    assert "the price of openai/unheard-of is unknown" in done.err
    assert "add --price openai/unheard-of=IN/OUT" in done.err
