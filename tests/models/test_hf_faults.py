"""What goes wrong at Hugging Face ends as the right fault, is asked for once only, and shows no key."""

from __future__ import annotations

import asyncio
import logging
import traceback
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Generated, ImageRequest, ImageResult
from formalimg.models.options import Options
from formalimg.models.provider_models import ImageCompletion
from formalimg.models.providers.hf import HfImages, open_hf_client, open_hf_images
from formalimg.types import ImageModel
from tests.support.loopback import Fault, Loopback, Wish, at_random, scripted
from tests.support.loopback.hf import HF
from tests.support.loopback.images import painted
from tests.support.remote_models import answers, request, stand_alone, wait_for

PLANTED_TOKEN = "hf_planted0a1b2c3d4e5f6789wxyz"
MODEL = "acme/painter"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setenv("HF_TOKEN", PLANTED_TOKEN)


def _paint(base_url: str, timeout: float = 5) -> ImageCompletion:
    session = open_hf_client(MODEL, Options(MODEL, {"base_url": base_url}), timeout)
    return wait_for(HfImages(session, {"sized": True, "seeded": True}, {}).complete(request()))


async def _at_once(model: ImageModel, requests: list[ImageRequest]) -> list[ImageResult]:
    async def one(wish: ImageRequest) -> ImageResult:
        (answer,) = [answer async for answer in model.generate([wish])]
        return answer

    return await asyncio.gather(*(one(wish) for wish in requests))


def _server(*faults: str | Fault) -> Loopback:
    return Loopback(faults=scripted(faults), dialects=(HF,))


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429", "busy"),
        ("500", "unavailable"),
        ("503", "unavailable"),
        ("504", "unavailable"),
        ("400", "rejected"),
        ("422", "rejected"),
        ("reset", "unavailable"),
        ("empty", "wrong"),
        ("html", "wrong"),
        ("text", "wrong"),
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
    kinds = ("429", "500", "503", "reset", "empty", "html", "text")
    with Loopback(faults=at_random(0.3, kinds, seed=1), dialects=(HF,)) as server:
        model = open_hf_images(
            MODEL, {"base_url": server.url, "max_attempts": "12", "initial_backoff": "0", "concurrency": "8"}
        )
        ended = wait_for(_at_once(model, [request(f"{number} cups.") for number in range(80)]))
    assert {type(answer) for answer in ended} == {Generated}
    drawn = [answer.data for answer in ended if isinstance(answer, Generated)]
    assert drawn == [painted(Wish(MODEL, f"{number} cups.")) for number in range(80)]
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
        (Fault("429", retry_after="3"), 3.0),
        (Fault("out of tokens"), 55.0),
        (Fault("503", code="loading"), 12.5),
        (Fault("503", code="loading", retry_after="4"), 4.0),
        (Fault("429"), None),
    ],
)
def test_the_wish_to_be_left_alone_is_heard(fault: Fault, seconds: float | None) -> None:
    with _server(fault) as server, pytest.raises(CallError) as raised:
        _paint(server.url)
    assert raised.value.retry_after == seconds


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (Fault("401"), "check HF_TOKEN"),
        (Fault("403", message="You need a permission."), "HF_TOKEN may not use hf/acme/painter"),
        (Fault("402", message="You have exceeded your monthly included credits."), "top it up"),
        (Fault("404"), "check the name"),
        (Fault("410", message="The model is no longer served."), "check the name"),
    ],
)
def test_what_no_call_can_mend_ends_the_run_with_advice(fault: Fault, advice: str) -> None:
    with _server(fault) as server, pytest.raises(FormalimgError, match=advice):
        _paint(server.url)


def test_complaints_of_every_form_are_quoted() -> None:
    complaint = "width must be a multiple of 8"
    with _server(Fault("422", code="bad", message=complaint)) as server, pytest.raises(CallError, match=complaint):
        _paint(server.url)


@pytest.mark.parametrize("kind", ["400", "401", "402", "403", "404", "422", "429", "500"])
def test_a_key_that_the_server_repeats_is_shown_nowhere(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with _server(Fault(kind, message=f"the token {PLANTED_TOKEN} is odd")) as server:
        with pytest.raises((CallError, FormalimgError)) as raised:
            _paint(server.url)
        model = open_hf_images(MODEL, {"base_url": server.url})
        assert PLANTED_TOKEN not in str(answers(model, [request()]))
    shown = "".join(traceback.format_exception(raised.value))
    everything = (shown, repr(raised.value), repr(vars(raised.value)), repr(model.settings), repr(model), caplog.text)
    assert all(PLANTED_TOKEN not in text for text in everything)
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_a_client_does_not_show_the_key() -> None:
    session = open_hf_client(MODEL, Options(MODEL, {}), timeout=5)
    assert PLANTED_TOKEN not in repr(session)
