"""A model or a judge that cancels what it has begun fails with it: no image is left out without a word."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from formalimg.judges.base import LoadedImage
from formalimg.models.base import ImageRequest, ImageResult
from formalimg.runs.execution import execute
from formalimg.types import Item
from tests.support.models import NumberJudge, Speckles, speckled_for, verdict_of
from tests.support.run_contents import order, outcomes


def cancelled_at_3(request: ImageRequest) -> ImageResult:
    if request.item == "3":
        raise asyncio.CancelledError
    return speckled_for(request)


def cancelled_at_5(item: Item[object], image: LoadedImage) -> Any:
    if item.id == "5":
        raise asyncio.CancelledError
    return verdict_of(item, image)


def test_what_a_model_or_a_judge_cancels_itself_is_recorded_as_failed(tmp_path: Path) -> None:
    done = execute(order(Speckles(answer=cancelled_at_3)), tmp_path / "run", NumberJudge(verdict=cancelled_at_5))
    assert (done.made, done.failed, done.judged, done.unscored) == (7, 1, 7, 1)
    found = {outcome.item: (outcome.reason, outcome.detail) for outcome in outcomes(tmp_path / "run")}
    assert found["3"] == ("generation failed", "CancelledError")
    assert found["5"] == ("judge failed", "CancelledError")
