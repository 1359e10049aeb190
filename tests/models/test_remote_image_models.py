"""From a provider's calls to an image model: every call ends in an answer with its reason and its cost."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Failed, Generated, ImageRequest, ImageResult, Refused, Usage
from formalimg.models.pricing import note_usage, open_meter
from formalimg.models.provider_models import ImageCompletion, ImageProvider, build_image_model
from formalimg.models.retry import RateLimiter, RetryPolicy
from formalimg.runs.progress import Progress
from formalimg.types import ImageModel, Setting
from tests.support.remote_models import answers

REQUEST = ImageRequest("0", 0, "a red cup", 1)
KEY = "planted-remote-key-0815"
PRICES = """
[prices]
"acme/image" = { image = 2 }
"acme/tokens" = { input = 1_000, output = 1_000 }
"acme/both" = { input = 1_000, output = 1_000, image = 2 }
"""


@pytest.fixture(autouse=True)
def _prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list.toml").write_text(PRICES)
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "list.toml"))


@dataclass
class Painter:
    script: Sequence[ImageCompletion | Exception]
    name: str = "gemini/gemini-2.5-flash-image"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"quality": "low"})
    takes_images: bool = True
    paid: Usage | None = None
    hang: bool = False
    asked: list[ImageRequest] = field(default_factory=list)

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        self.asked.append(request)
        if self.paid is not None:
            note_usage(self.paid)
        if self.hang:
            await asyncio.sleep(60)
        done = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(done, Exception):
            raise done
        return done


def _model(provider: ImageProvider, **retry_policy: float) -> ImageModel:
    return build_image_model(provider, retry_policy=RetryPolicy(initial_backoff=0, **retry_policy))  # type: ignore[arg-type]


def _answers(model: ImageModel) -> list[ImageResult]:
    return answers(model, [REQUEST])


def _image(painter: Painter, **policy: Any) -> Generated | Failed:
    (answer,) = _answers(_model(painter, **{"max_attempts": 2, **policy}))
    assert isinstance(answer, Generated | Failed)
    return answer


def test_an_image_is_given_with_what_was_used_and_what_it_cost() -> None:
    painted = ImageCompletion(b"png", {"model": "v1", "size": 512}, Usage(0, 1_000_000, 1))
    assert _answers(_model(Painter([painted]))) == [Generated(b"png", {"model": "v1", "size": 512}, 30.0)]


WASTED = 0.039 + 0.039 + 0.039

CASES: dict[str, tuple[Exception, Callable[[str], ImageResult], int]] = {
    "busy": (CallError("busy", "slow down"), lambda shown: Failed("busy: slow down"), 3),
    "unavailable": (CallError("unavailable", "reset"), lambda shown: Failed("unavailable: reset"), 3),
    "wrong": (CallError("wrong", "HTML"), lambda shown: Failed("wrong: HTML", cost=WASTED), 3),
    "rejected": (CallError("rejected", "too long"), lambda shown: Failed("rejected: too long"), 1),
    "refused": (CallError("refused", "unsafe"), lambda shown: Refused("unsafe"), 1),
    "unexpected": (ZeroDivisionError("oh"), lambda shown: Failed("wrong: ZeroDivisionError: oh", cost=WASTED), 3),
}


@pytest.mark.parametrize("case", CASES)
def test_every_failure_is_an_answer_with_its_reason(case: str) -> None:
    error, expected, calls = CASES[case]
    painter = Painter([error])
    assert _answers(_model(painter, max_attempts=3)) == [expected(case)]
    assert len(painter.asked) == calls


@pytest.mark.parametrize(
    "done",
    [
        CallError("rejected", f"wrong key {KEY}"),
        CallError("refused", f"wrong key {KEY}"),
        RuntimeError(f"header Bearer {KEY}"),
        FormalimgError(f"wrong key {KEY}"),
        ImageCompletion(b"png", {"request": f"?key={KEY}"}),
    ],
)
def test_no_answer_holds_a_key(done: ImageCompletion | Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = _model(Painter([done]), max_attempts=1)
    try:
        shown = repr(_answers(model))
    except FormalimgError as error:
        shown = "".join(traceback.format_exception(error)) + repr(error.__context__)
    assert "***" in shown
    assert KEY not in shown


def test_models_may_share_one_limit() -> None:
    door = RateLimiter(RetryPolicy(max_wait=0))
    first = build_image_model(Painter([CallError("busy", "wait", retry_after=9)]), limiter=door)
    other = Painter([ImageCompletion(b"png")])
    assert _answers(first) == [Failed("busy: wait")]
    assert _answers(build_image_model(other, limiter=door)) == [Failed("busy: asks to wait 9 s more")]
    assert not other.asked


@pytest.mark.parametrize(
    ("name", "usage", "cost"),
    [
        ("acme/image", Usage(0, 0, 1), 2),
        ("acme/image", Usage(5, 9, 1), 2),
        ("acme/both", Usage(5, 9, 1), 0.014),
        ("acme/both", Usage(0, 0, 1), 2),
        ("acme/both", Usage(5, 0, 1), 2),  # without the tokens of the image
        ("acme/tokens", Usage(5, 9, 1), 0.014),
        ("acme/tokens", Usage(0, 0, 1), None),
        ("acme/tokens", Usage(5, 0, 1), None),
    ],
)
def test_an_image_costs_its_tokens_or_the_price_of_an_image(name: str, usage: Usage, cost: float | None) -> None:
    answer = _image(Painter([ImageCompletion(b"png", {}, usage)], name))
    assert answer.cost == cost


@pytest.mark.parametrize(
    ("error", "paid", "cost"),
    [
        (CallError("wrong", "HTML"), None, 4),
        (CallError("wrong", "no base64"), Usage(images=1), 4),
        (CallError("unavailable", "the image could not be fetched"), Usage(images=1), 4),
        (CallError("unavailable", "500"), None, 0),
        (CallError("rejected", "too long"), None, 0),
        (CallError("rejected", "blocked", usage=Usage(10, 20)), None, 2),
        (ValueError("what is this"), None, 4),
    ],
)
def test_a_failed_image_costs_what_its_attempts_did(error: Exception, paid: Usage | None, cost: float) -> None:
    answer = _image(Painter([error], "acme/image", paid=paid))
    assert (type(answer), answer.cost) == (Failed, cost)


def test_an_image_that_takes_too_long_after_it_was_paid_for_counts() -> None:
    broken = CallError("wrong", "")
    assert _image(Painter([broken], "acme/image", paid=Usage(images=1), hang=True), timeout=0.05).cost == 4
    assert _image(Painter([broken], "acme/image", hang=True), timeout=0.05).cost == 4, (
        "nobody knows whether it is billed"
    )
    assert _image(Painter([broken], "acme/tokens", hang=True), timeout=0.05).cost == 0, "there is no estimate"


def test_failed_attempts_before_an_image_are_a_part_of_its_cost() -> None:
    wrong = CallError("wrong", "HTML")
    answer = _image(Painter([wrong, wrong, ImageCompletion(b"png")], "acme/image"), max_attempts=3)
    assert (type(answer), answer.cost) == (Generated, 6)


def test_no_attempt_is_begun_once_the_budget_is_used_up() -> None:
    progress = Progress(0, 0, budget=3.0)
    with open_meter(progress) as meter:
        answer = _image(Painter([CallError("wrong", "HTML")], "acme/image"), max_attempts=100)
        assert (answer, meter.blocked) == (Failed("wrong: HTML", cost=4), True)
        assert _image(Painter([CallError("wrong", "HTML")], "acme/image")) == Failed(
            "rejected: the budget is used up: no call was made"
        )
    assert (progress.cost, progress.estimated, progress.stopped) == (4, 2, True)
