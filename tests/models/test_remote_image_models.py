"""From a provider's calls to an image model: every call ends in an answer with its reason."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Failed, Generated, ImageRequest, ImageResult, Refused, Usage
from formalimg.models.provider_models import ImageCompletion, ImageProvider, build_image_model
from formalimg.models.retry import RateLimiter, RetryPolicy
from formalimg.types import ImageModel, Setting

REQUEST = ImageRequest("0", 0, "a red cup", 1)
KEY = "planted-remote-key-0815"


@dataclass
class Painter:
    script: Sequence[ImageCompletion | Exception]
    name: str = "gemini/gemini-2.5-flash-image"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"quality": "low"})
    takes_images: bool = True
    asked: list[ImageRequest] = field(default_factory=list)

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        self.asked.append(request)
        done = self.script[min(len(self.asked), len(self.script)) - 1]
        if isinstance(done, Exception):
            raise done
        return done


def _model(provider: ImageProvider, **retry_policy: float) -> ImageModel:
    return build_image_model(provider, retry_policy=RetryPolicy(initial_backoff=0, **retry_policy))  # type: ignore[arg-type]


def _answers(model: ImageModel, requests: Sequence[ImageRequest] = (REQUEST,)) -> list[ImageResult]:
    async def gather() -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(gather())


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
    assert _answers(build_image_model(other, limiter=door)) == [Failed("busy: wants to be left alone for 9 s more")]
    assert not other.asked
