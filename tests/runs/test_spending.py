"""Costs, budgets and safeguards of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import formalimg
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.parties import CircuitBreaker, Safeguards
from formalimg.runs.progress import Progress
from formalimg.runs.store import RunStore
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for, speckled_for_a_dollar, verdict_of
from tests.support.run_contents import order, outcomes, rows


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
    model = Speckles(answer=speckled_for_a_dollar, concurrency=hands)
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
    given: list[tuple[ImageResult, float, int]] = [  # with its cost, and whether nobody knows that
        (Refused("no"), 0, 0),
        (Generated(b"no image", {}, None), 0, 1),
        (Generated(b"no image", {}, 1.0), 1, 0),
        (Refused("no", cost=2.0), 2, 0),
        (Failed("no", cost=4.0), 4, 0),
        (Failed("no", cost=None), 0, 1),
        (Generated(b"no image", {"not": object()}, 8.0), 8, 0),  # type: ignore[dict-item]
        (Generated("no bytes", {}, 16.0), 16, 0),  # type: ignore[arg-type]
    ]
    config = order(Speckles(answer=lambda request: given[int(request.item)][0]), small_items(8))
    done = execute(config, tmp_path / "run", None)
    assert (done.cost, done.unpriced, done.made) == (31, 2, 0)
    assert rows(tmp_path / "run", "SELECT item, cost, unpriced FROM pictures ORDER BY item") == [
        (str(number), cost, unpriced) for number, (_, cost, unpriced) in enumerate(given)
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
    with pytest.raises(FormalimgError, match=f"the price of {model.name} is unknown, so no budget can be kept"):
        execute(order(model, small_items(20), budget=5.0), tmp_path / "run")
    assert len(model.asked) == 1
    judge = NumberJudge(verdict=lambda item, image: Verdict(True, cost=None), concurrency=1)
    execute(order(Speckles(), small_items(20)), tmp_path / "judged")
    with pytest.raises(FormalimgError, match=f"the price of {judge.name} is unknown, so no budget can be kept"):
        judge_run(tmp_path / "judged", judge, budget=5.0)
    assert len(judge.judged) == 1


@pytest.mark.parametrize("budget", [-0.01, math.nan])
def test_a_budget_that_cannot_be_kept_is_refused(tmp_path: Path, budget: float) -> None:
    with pytest.raises(FormalimgError, match=f"invalid budget {budget}"):
        order(budget=budget)
    execute(order(), tmp_path / "run")
    with pytest.raises(FormalimgError, match=f"invalid budget {budget}"):
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


AFTER_FIVE = Safeguards(max_failures=5)


def _fails(request: ImageRequest) -> ImageResult:
    return Failed("unavailable: no power")


def _unscored(unscored: Unscored) -> Callable[[Item[object], LoadedImage], Verdict | Unscored]:
    return lambda item, image: unscored


def test_only_failures_in_a_row_count() -> None:
    breaker = CircuitBreaker("some/model", 2)
    for failed in (True, False, True, None):  # a refusal neither counts nor excuses
        breaker.count(failed, "no power")
        assert not breaker.is_open
    breaker.count(True, "no light")
    assert breaker.is_open
    assert breaker.message == "some/model failed 2 times in a row; last error: no light"
    never = CircuitBreaker("some/model", 0)
    for _ in range(1000):
        never.count(True)
    assert not never.is_open


@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_image_model_that_keeps_failing_stops_the_run(tmp_path: Path, concurrency: int) -> None:
    answered = count()
    model = Speckles(concurrency=concurrency, answer=lambda it: (speckled_for if next(answered) < 8 else _fails)(it))
    config = RunConfig(small_items(60), model, size=64)
    done = execute(config, tmp_path / "run", NumberJudge(), safeguards=AFTER_FIVE)
    assert (done.made, done.stopped) == (8, True)
    assert done.gave_up.endswith(" times in a row; last error: unavailable: no power")
    assert 8 + 5 <= len(model.asked) <= 8 + 5 + 2 * concurrency + 8  # those under way are finished, no others begun
    model.answer = speckled_for
    again = execute(config, tmp_path / "run", NumberJudge(), safeguards=AFTER_FIVE)
    assert (again.made, again.gave_up) == (52, "")
    assert done.judged + again.judged == 60
    assert all(outcome.passed is not None for outcome in outcomes(tmp_path / "run"))


@pytest.mark.parametrize(
    ("unscored", "stops"),
    [
        (Unscored("judge failed", "test/number did not answer: unavailable: no power"), True),
        (Unscored("not understood", "there is no JSON in the answer", {"answers": ["Sure!"]}), True),
        (Unscored("judge failed", "test/number declined to look: a filter"), False),
        (Unscored("not understood", "item 1 has no formula"), False),
    ],
    ids=["no answer", "unreadable", "refused", "item"],
)
def test_what_counts_as_a_failure_of_a_judge(tmp_path: Path, unscored: Unscored, stops: bool) -> None:
    judge = NumberJudge(concurrency=1, verdict=_unscored(unscored))
    done = execute(RunConfig(small_items(30), Speckles(), size=64), tmp_path / "run", judge, safeguards=AFTER_FIVE)
    assert bool(done.gave_up) is stops
    assert (len(judge.judged) < 30) is stops
    if stops:
        judge.verdict = verdict_of
        again = judge_run(tmp_path / "run", judge, safeguards=AFTER_FIVE)
        assert again.gave_up == ""
        assert all(outcome.passed is not None for outcome in outcomes(tmp_path / "run") if outcome.reason != "no image")


def test_what_a_built_in_judge_cannot_read_is_not_its_failure(tmp_path: Path) -> None:
    unscored = Unscored("not understood", "no drawing", {"colours": 3})
    judge = NumberJudge(name="builtin/test", verdict=_unscored(unscored))
    done = execute(RunConfig(small_items(10), Speckles(), size=64), tmp_path / "run", judge, safeguards=AFTER_FIVE)
    assert (done.gave_up, done.unscored) == ("", 10)


def test_refusals_and_missing_images_stop_nothing(tmp_path: Path) -> None:
    model = Speckles(answer=lambda request: Refused("a filter"))
    done = execute(RunConfig(small_items(10), model, size=64), tmp_path / "run", safeguards=Safeguards(True, 3))
    assert (done.refused, done.gave_up) == (10, "")


def test_a_function_that_raises_ends_the_evaluation_at_its_second_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORMALIMG_PREFLIGHT", raising=False)
    called: list[str] = []

    def broken(prompt: str) -> bytes:
        called.append(prompt)
        raise ValueError("no such file: weights.bin")

    with pytest.raises(FormalimgError, match=r"made none \(ValueError: no such file: weights.bin\): fix the cause"):
        formalimg.evaluate(broken, items=small_items(9), size=64, folder=tmp_path / "run", judge="builtin/icons")
    assert len(called) == 2
    options: dict[str, Any] = {"preflight": False, "max_failures": 6, "judge": "builtin/icons"}
    result = formalimg.evaluate(broken, items=small_items(30), size=64, folder=tmp_path / "other", **options)
    assert "failed 6 times in a row" in result.progress.gave_up
    assert len(called) <= 2 + 6 + 2


def test_images_that_are_no_images_end_the_run_too(tmp_path: Path) -> None:
    model = Speckles(answer=lambda request: Generated(b"<html>busy</html>"))
    with pytest.raises(FormalimgError, match=r"made none .*<html>"):
        execute(RunConfig(small_items(9), model, size=64), tmp_path / "run", safeguards=Safeguards(preflight=True))
    assert len(model.asked) == 2


def test_a_model_that_has_made_images_here_is_not_tried_again(tmp_path: Path) -> None:
    items = small_items(6)
    model = Speckles(answer=lambda it: speckled_for(it) if it.item == "0" else Failed("rejected: too long"))
    for _ in range(2):
        done = execute(RunConfig(items, model, size=64), tmp_path / "run", safeguards=Safeguards(preflight=True))
        assert done.failed == 5


def test_the_number_of_failures_is_checked() -> None:
    with pytest.raises(FormalimgError, match="give 1 or more, or 0 for never"):
        Safeguards(max_failures=-1)
