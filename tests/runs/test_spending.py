"""A budget is kept however slow the disk: no more is spent than what was on its way when it was used up."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.progress import Progress
from formalimg.runs.store import RunStore
from formalimg.types import Item, Verdict
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


def test_what_gives_no_image_costs_what_it_says_as_broken_images_do(tmp_path: Path) -> None:
    results: dict[str, ImageResult] = {
        "0": Refused("no"),
        "1": Generated(b"no image", {}, None),
        "2": Generated(b"no image", {}, 1.0),
        "3": Refused("no", cost=2.0),
        "4": Failed("no", cost=4.0),
        "5": Failed("no", cost=None),
        "6": Generated(b"no image", {"not": object()}, 8.0),  # type: ignore[dict-item]
        "7": Generated("no bytes", {}, 16.0),  # type: ignore[arg-type]
    }
    config = order(Speckles(answer=lambda request: results[request.item]), small_items(8))
    done = execute(config, tmp_path / "run", None)
    assert (done.cost, done.unpriced, done.made) == (31, 2, 0)
    assert rows(tmp_path / "run", "SELECT item, cost, unpriced FROM pictures ORDER BY item") == [
        ("0", 0, 0),
        ("1", 0, 1),
        ("2", 1, 0),
        ("3", 2, 0),
        ("4", 4, 0),
        ("5", 0, 1),
        ("6", 8, 0),
        ("7", 16, 0),
    ]
    assert execute(config, tmp_path / "run", None).cost == 62, "all were tried again"


@pytest.mark.parametrize("result", [Failed("no", cost=1.0), Refused("no", cost=1.0)])
def test_failed_and_refused_images_use_up_a_budget_also_after_a_restart(tmp_path: Path, result: ImageResult) -> None:
    model = Speckles(answer=lambda request: result, concurrency=1)
    config = order(model, small_items(20), budget=5.0)
    assert execute(config, tmp_path / "run").cost == len(model.asked) == 5
    again = execute(config, tmp_path / "run")
    assert (again.stopped, again.cost, len(model.asked)) == (True, 5, 5)
    more = execute(order(model, small_items(20), budget=6.0), tmp_path / "run")
    assert (more.stopped, more.cost, len(model.asked)) == (True, 6, 6)


def test_a_budget_ends_a_run_whose_costs_nobody_knows(tmp_path: Path) -> None:
    model = Speckles(answer=lambda request: Generated(b"no image", {}, None), concurrency=1)
    with pytest.raises(FormalimgError, match=f"nobody knows what {model.name} costs, so no budget can be kept"):
        execute(order(model, small_items(20), budget=5.0), tmp_path / "run")
    assert len(model.asked) == 1
    judge = NumberJudge(verdict=lambda item, image: Verdict(True, cost=None), concurrency=1)
    execute(order(Speckles(), small_items(20)), tmp_path / "judged")
    with pytest.raises(FormalimgError, match=f"nobody knows what {judge.name} costs, so no budget can be kept"):
        judge_run(tmp_path / "judged", judge, budget=5.0)
    assert len(judge.judged) == 1


@pytest.mark.parametrize("budget", [-0.01, math.nan])
def test_a_budget_that_cannot_be_kept_is_refused(tmp_path: Path, budget: float) -> None:
    with pytest.raises(FormalimgError, match=f"a budget of {budget} cannot be kept"):
        order(budget=budget)
    execute(order(), tmp_path / "run")
    with pytest.raises(FormalimgError, match=f"a budget of {budget} cannot be kept"):
        judge_run(tmp_path / "run", NumberJudge(), budget=budget)


def test_what_is_spent_never_writes_over_a_stop_from_another_thread() -> None:
    class StoppedMeanwhile(Progress):
        @property
        def over_budget(self) -> bool:
            self.stopped = True  # as a signal handler in the main thread does at any moment
            return False

    progress = StoppedMeanwhile(images=1, verdicts=1)
    progress.spend(0.0)
    assert progress.stopped
