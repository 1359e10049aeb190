"""A run stops after failures of one party in a row; the first images are made alone; nothing is lost by either."""

from __future__ import annotations

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
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for, verdict_of
from tests.support.run_contents import outcomes

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
    assert breaker.message == "some/model failed 2 times in a row, the last time: no light"
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
    assert done.gave_up.endswith(" times in a row, the last time: unavailable: no power")
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
        (Unscored("not understood", "item 1 has no formula to judge by"), False),
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

    with pytest.raises(FormalimgError, match=r"made none \(ValueError: no such file: weights.bin\): mend that"):
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
