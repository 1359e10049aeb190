"""A budget is kept however slow the disk: no more is spent than what was on its way when it was used up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges import LoadedImage, Verdict
from formalimg.models import Generated, ImageRequest, ImageResult, Refused
from formalimg.runs import execute, judge_run
from formalimg.runs.store import RunStore
from formalimg.suites import Item
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for
from tests.support.run_contents import order, rows


def _for_a_dollar(request: ImageRequest) -> ImageResult:
    answer = speckled_for(request)
    assert isinstance(answer, Generated)
    return Generated(answer.data, answer.served, 1.0)


def _looked_for_a_dollar(item: Item[object], image: LoadedImage) -> Verdict:
    return Verdict(True, cost=1.0)


def _slowly(work: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*given: Any) -> Any:
        time.sleep(0.05)
        return work(*given)

    return slow


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunStore, "record_images", _slowly(RunStore.record_images))
    monkeypatch.setattr(RunStore, "record_verdicts", _slowly(RunStore.record_verdicts))


@pytest.mark.parametrize("hands", [1, 3])
@pytest.mark.usefixtures("slow_disk")
def test_images_cost_when_they_come_and_not_when_they_are_kept(tmp_path: Path, hands: int) -> None:
    model = Speckles(answer=_for_a_dollar, concurrency=hands)
    done = execute(order(model, small_items(60), budget=5.0), tmp_path / "run", None)
    assert done.stopped
    assert 5 <= len(model.asked) <= 5 + hands - 1
    assert done.made == done.cost == len(model.asked)
    assert rows(tmp_path / "run", "SELECT total(cost) FROM pictures") == [(done.cost,)]


@pytest.mark.parametrize("hands", [1, 3])
@pytest.mark.usefixtures("slow_disk")
def test_verdicts_cost_when_they_come_and_not_when_they_are_recorded(tmp_path: Path, hands: int) -> None:
    execute(order(Speckles(), small_items(60)), tmp_path / "run", None)
    judge = NumberJudge(verdict=_looked_for_a_dollar, concurrency=hands)
    done = judge_run(tmp_path / "run", judge, budget=5.0)
    assert done.stopped
    assert 5 <= len(judge.judged) <= 5 + hands - 1
    assert done.judged == done.cost == len(judge.judged)
    assert rows(tmp_path / "run", "SELECT total(cost) FROM verdicts") == [(done.cost,)]


def test_what_gives_no_image_is_free_and_broken_images_are_not(tmp_path: Path) -> None:
    def answer(request: ImageRequest) -> ImageResult:
        broken = Generated(b"no image", {}, None if request.item == "1" else 1.0)
        return Refused("no") if request.item == "0" else broken

    done = execute(order(Speckles(answer=answer), small_items(4)), tmp_path / "run", None)
    assert (done.cost, done.unpriced) == (2, 1)
    assert rows(tmp_path / "run", "SELECT item, cost, unpriced FROM pictures ORDER BY item") == [
        ("0", 0, 0),
        ("1", 0, 1),
        ("2", 1, 0),
        ("3", 1, 0),
    ]


@pytest.mark.parametrize("budget", [-0.01, math.nan])
def test_a_budget_that_cannot_be_kept_is_refused(tmp_path: Path, budget: float) -> None:
    with pytest.raises(FormalimgError, match=f"a budget of {budget} cannot be kept"):
        order(budget=budget)
    execute(order(), tmp_path / "run")
    with pytest.raises(FormalimgError, match=f"a budget of {budget} cannot be kept"):
        judge_run(tmp_path / "run", NumberJudge(), budget=budget)
