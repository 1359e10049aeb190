"""Prices by hand: a budget can be kept for a model that nobody knows, and a server of one's own costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.cli.options import PriceOptions
from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from formalimg.models.pricing import Price, price_of
from formalimg.runs.execution import execute
from tests.remote.knowing_server import knolling, order
from tests.support.command import formalimg
from tests.support.loopback import Loopback
from tests.support.models import Speckles
from tests.support.run_contents import rows

pytestmark = pytest.mark.usefixtures("stand_alone")

ITEMS = knolling(2, levels=[1])
BUDGET = ("--budget", "5")


def _costs(folder: Path) -> tuple[float, int]:
    ((cost, unpriced),) = rows(folder, "SELECT total(cost), sum(unpriced) FROM verdicts")
    return float(cost), int(unpriced)


def test_a_budget_is_kept_with_the_price_that_was_given(tmp_path: Path) -> None:
    execute(order(ITEMS, Speckles()), tmp_path / "run")
    execute(order(ITEMS, Speckles()), tmp_path / "paid")
    with Loopback(reply=lambda asked: "I see.") as server:
        judge = ("--judge", "openai/looker", "-J", f"base_url={server.url}/v1", "-J", "concurrency=1")
        done = formalimg("judge", "run", *judge, *BUDGET)
        assert (done.code, "nothing was scored" in done.err) == (1, True), "no price is asked for a server of one's own"
        assert _costs(tmp_path / "run") == (0, 0)
        price = ("--price", "judge=1000000/1000000")
        wrong = formalimg("judge", "paid", *judge, *BUDGET, *price)
        assert (wrong.code, "cannot read the price" in wrong.err) == (2, True), "nobody takes a dollar for a token"
        done = formalimg("judge", "paid", *judge, "-J", "cache=off", *BUDGET, "--price", "judge=900000/900000")
        assert (done.code, "the budget is used up" in done.err) == (130, True), done.err
    cost, unpriced = _costs(tmp_path / "paid")
    assert cost >= 5
    assert unpriced == 0


def test_a_dry_run_says_what_is_counted_as_free(tmp_path: Path) -> None:
    here = "base_url=http://127.0.0.1:9/v1"
    model = ("-m", "openai/my-flux", "-M", here)
    words = ("run", "knolling", "--per-level", "1", *model, "-j", "openai/looker", "-J", here, "--dry-run")
    done = formalimg(*words)
    assert done.code == 0, done.err
    assert done.out.count("about $0.00 (local server: counted as free)") == 2
    done = formalimg(*words, "--price", "model=0.04", "--price", "openai/looker=1/2")
    assert "images to make        10  about $0.40\n" in done.out
    assert "counted as free" not in done.out
    elsewhere = [word.replace("127.0.0.1:9", "nowhere.invalid") for word in words]
    assert formalimg(*elsewhere).out.count("at an unknown price; give it with --price") == 2


def test_the_line_that_the_error_says_can_be_typed(tmp_path: Path) -> None:
    painter = ("-m", "openai/my-flux", "-M", "base_url=http://nowhere.invalid/v1", "-j", "builtin/icons")
    words = ("run", "knolling", "--per-level", "1", *painter)
    refused = formalimg(*words, *BUDGET, "--dry-run")
    assert refused.code == 2
    advice = refused.err.partition("as in --price ")[2].partition(";")[0]
    assert advice == "openai/my-flux=0.04"
    assert formalimg(*words, *BUDGET, "--dry-run", "--price", advice).code == 0


def test_planners_are_priced_by_tokens() -> None:
    words = ("run", "knolling", "--task", "layout", "-m", "openai/thinker", "-M", "base_url=http://nowhere.invalid/v1")
    refused = formalimg(*words, *BUDGET, "--dry-run")
    assert "--price openai/thinker=0.15/0.60" in refused.err
    assert "about $" in formalimg(*words, *BUDGET, "--dry-run", "--price", "model=1/2").out


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("judge", "write it as judge=0.15/0.60"),
        ("judge=", "write it as judge=0.15/0.60"),
        ("checker=1/2", "there is no 'checker' in this command: write one of model, judge, a/b, c/d"),
        ("rewriter=1/2", "there is no 'rewriter'"),
    ],
)
def test_a_price_for_nobody_is_refused(given: str, reason: str) -> None:
    with pytest.raises(FormalimgError) as raised:
        PriceOptions([given], {"model": ["a/b"], "judge": ["c/d"], "rewriter": []})
    assert reason in str(raised.value)


def test_a_name_goes_before_a_role() -> None:
    prices = PriceOptions(["judge=1/2", "c/d=3/4"], {"model": ["a/b"], "judge": ["c/d", "e/f"]})
    assert prices.option("judge", "c/d") == {"price": "3/4"}
    assert prices.option("judge", "e/f") == {"price": "1/2"}
    assert prices.option("model", "a/b") == {}


@pytest.mark.parametrize("protocol", ["default", "published"])
@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix", "cf-world"])
def test_every_judge_knows_its_price(suite: str, protocol: str) -> None:
    options = {"base_url": "http://nowhere.invalid/v1", "price": "1/2"}
    assert price_of(open_judge(suite, "openai/looker", options, protocol=protocol)) == Price(1.0, 2.0)
