"""What goes wrong at Gemini ends as the right fault, is asked for once only, and shows no key."""

from __future__ import annotations

import asyncio
import logging
import traceback
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.options import Options
from formalimg.models.provider_models import ImageCompletion
from formalimg.models.providers.gemini import GeminiImages, open_gemini_client, open_gemini_images
from formalimg.types import ImageModel
from tests.support.loopback import Fault, Loopback, Wish, at_random, scripted
from tests.support.loopback.gemini import GEMINI
from tests.support.loopback.images import painted
from tests.support.remote_models import PLANTED, answers, request, stand_alone, wait_for

MODEL = "gemini-2.5-flash-image"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", PLANTED)


def _paint(base_url: str, timeout: float = 5) -> ImageCompletion:
    session = open_gemini_client(MODEL, Options(MODEL, {"base_url": base_url}), timeout)
    return wait_for(GeminiImages(session, {"modalities": "image", "seeded": True}).complete(request()))


async def _at_once(model: ImageModel, requests: list[ImageRequest]) -> list[ImageResult]:
    async def one(wish: ImageRequest) -> ImageResult:
        (answer,) = [answer async for answer in model.generate([wish])]
        return answer

    return await asyncio.gather(*(one(wish) for wish in requests))


def _server(*faults: str | Fault) -> Loopback:
    return Loopback(faults=scripted(faults), dialects=(GEMINI,))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429", "busy"),
        ("500", "unavailable"),
        ("503", "unavailable"),
        ("408", "unavailable"),
        ("400", "rejected"),
        ("413", "rejected"),
        ("reset", "unavailable"),
        ("empty", "wrong"),
        ("html", "wrong"),
        ("truncated", "wrong"),
        ("schema", "wrong"),
        ("number", "wrong"),
    ],
)
def test_faults_are_told_apart_and_not_tried_again_by_the_library(fault: str, expected: str) -> None:
    with _server(fault) as server, pytest.raises(CallError) as raised:
        _paint(server.url)
    assert raised.value.kind == expected
    assert len(server.requests) == 1


def test_a_good_answer_of_the_wrong_content_type_is_still_good() -> None:
    with _server("wrong type") as server:
        assert _paint(server.url).data


def test_on_a_bad_day_every_request_ends_as_it_should() -> None:
    kinds = ("429", "500", "503", "reset", "empty", "html", "truncated", "schema", "OTHER", "SAFETY")
    with Loopback(faults=at_random(0.3, kinds, seed=1), dialects=(GEMINI,)) as server:
        model = open_gemini_images(
            MODEL, {"base_url": server.url, "max_attempts": "12", "initial_backoff": "0", "concurrency": "8"}
        )
        ended = wait_for(_at_once(model, [request(f"{number} cups.") for number in range(80)]))
    assert {type(answer) for answer in ended} == {Generated, Refused}
    drawn = [answer.data for answer in ended if isinstance(answer, Generated)]
    assert drawn == [
        painted(Wish(MODEL, f"{number} cups.")) for number in range(80) if not isinstance(ended[number], Refused)
    ]
    assert len(server.requests) > 80


def test_silence_is_given_up_in_time() -> None:
    with _server("hang") as server, pytest.raises(CallError) as raised:
        _paint(server.url, timeout=0.2)
    assert raised.value.kind == "unavailable"


def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(CallError) as raised:
        _paint("http://127.0.0.1:9")
    assert raised.value.kind == "unavailable"


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (Fault("429", code="retryDelay=34.5s"), 34.5),
        (Fault("429", code="retryDelay=2s", retry_after="60"), 2.0),
        (Fault("429", retry_after="3"), 3.0),
        (Fault("503", retry_after="1.5"), 1.5),
        (Fault("503", code="retryDelay=8s"), 8.0),
        (Fault("429", code="retryDelay=soon"), None),
        (Fault("429"), None),
        (Fault("429", message="You exceeded your current quota, please check your plan and billing details."), None),
    ],
)
def test_the_wish_to_be_left_alone_is_heard(fault: Fault, seconds: float | None) -> None:
    with _server(fault) as server, pytest.raises(CallError) as raised:
        _paint(server.url)
    assert raised.value.retry_after == seconds


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (Fault("401"), "GEMINI_API_KEY or GOOGLE_API_KEY"),
        (Fault("403", message="no"), "GEMINI_API_KEY or GOOGLE_API_KEY"),
        (Fault("400", code="reason=API_KEY_INVALID", message="API key not valid"), "GEMINI_API_KEY or GOOGLE_API_KEY"),
        (Fault("404", message="models/x is not found"), "check the name"),
        (Fault("400", code="FAILED_PRECONDITION", message="User location is not supported"), "billing and region"),
        (Fault("429", code="quotaId=GenerateRequestsPerDayPerProjectPerModel-FreeTier"), "resume tomorrow"),
    ],
)
def test_what_no_call_can_mend_ends_the_run_with_advice(fault: Fault, advice: str) -> None:
    with _server(fault) as server, pytest.raises(FormalimgError, match=advice):
        _paint(server.url)


def test_odd_errors_are_still_errors() -> None:
    """Gateways send anything: lists, numbers, words."""
    with _server(Fault("502", message="Bad gateway")) as server, pytest.raises(CallError, match="502: Bad gateway"):
        _paint(server.url)


@pytest.mark.parametrize("kind", ["400", "401", "403", "404", "429", "500"])
def test_a_key_that_the_server_repeats_is_shown_nowhere(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with _server(Fault(kind, message=f"the key {PLANTED} in x-goog-api-key is odd")) as server:
        with pytest.raises((CallError, FormalimgError)) as raised:
            _paint(server.url)
        model = open_gemini_images(MODEL, {"base_url": server.url})
    shown = "".join(traceback.format_exception(raised.value))
    everything = (shown, repr(raised.value), repr(vars(raised.value)), repr(model.settings), repr(model), caplog.text)
    assert all(PLANTED not in text for text in everything)
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_a_key_in_an_answer_is_not_stored() -> None:
    with Loopback(dialects=(GEMINI,)) as server:
        model = open_gemini_images(MODEL, {"base_url": server.url})
        assert PLANTED not in str(answers(model, [request()]))
    assert server.requests[0].headers["x-goog-api-key"] == PLANTED


def test_a_key_that_is_none_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "schlüssel für alles")
    with pytest.raises(FormalimgError, match="holds no key"):
        open_gemini_images(MODEL, {})
