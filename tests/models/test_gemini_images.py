"""Images through the google-genai library, against a server that speaks Gemini's format."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from formalimg.models.base import Failed, Generated, Refused
from formalimg.models.providers.gemini import open_gemini_images
from tests.support.loopback import Fault, Loopback, Wish, scripted
from tests.support.loopback.gemini import GEMINI
from tests.support.loopback.images import painted
from tests.support.remote_models import IMAGE, PLANTED, answers, request, stand_alone

MODEL = "gemini-2.5-flash-image"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    for variable in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GEMINI_API_KEY", PLANTED)


def _server(*faults: str | Fault | None) -> Loopback:
    return Loopback(faults=scripted(faults), dialects=(GEMINI,))


def _answer(server: Loopback, *, reference: bytes | None = None, **options: str) -> Generated | Refused | Failed:
    model = open_gemini_images(MODEL, {"base_url": server.url, "max_attempts": "1", "timeout": "5", **options})
    (answer,) = answers(model, [request(reference=reference)])
    return answer


def test_an_image_comes_back_byte_by_byte_with_what_was_served() -> None:
    with _server() as server:
        answer = _answer(server)
    assert isinstance(answer, Generated)
    assert answer.data == painted(Wish(MODEL, "A red cup."))
    expected = {"model": f"{MODEL}-001", "response_id": "resp_1", "mime_type": "image/png", "seed": 7}
    assert answer.served == expected
    (came,) = server.requests
    assert came.path == f"/v1/models/{MODEL}:generateContent"
    assert came.headers["x-goog-api-key"] == PLANTED
    assert came.json == {
        "contents": [{"role": "user", "parts": [{"text": "A red cup."}]}],
        "generationConfig": {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "1:1"}, "seed": 7},
    }


def test_a_reference_image_goes_with_the_words() -> None:
    with Loopback(paint=lambda wish: wish.reference or b"", dialects=(GEMINI,)) as server:
        answer = _answer(server, reference=IMAGE)
    assert isinstance(answer, Generated)
    assert answer.data == IMAGE
    words, image = server.requests[0].json["contents"][0]["parts"]
    assert words == {"text": "A red cup."}
    assert base64.urlsafe_b64decode(image["inlineData"]["data"]) == IMAGE


def test_options_are_sent_and_on_record() -> None:
    options = {"aspect_ratio": "16:9", "image_size": "2K", "modalities": "text+image", "api_version": "v1beta"}
    with _server() as server:
        model = open_gemini_images(
            MODEL, {**options, "temperature": "0.5", "send_seed": "off", "base_url": server.url, "concurrency": "3"}
        )
        assert [type(answer) for answer in answers(model, [request()])] == [Generated]
        assert model.settings == {**options, "temperature": 0.5, "seeded": False, "base_url": server.url}
    assert model.concurrency == 3
    assert server.requests[0].path.startswith("/v1beta/")
    assert server.requests[0].json["generationConfig"] == {
        "responseModalities": ["TEXT", "IMAGE"],
        "imageConfig": {"aspectRatio": "16:9", "imageSize": "2K"},
        "temperature": 0.5,
    }


def test_the_first_models_that_draw_are_let_talk() -> None:
    with _server() as server:
        model = open_gemini_images("gemini-2.0-flash-exp-image-generation", {"base_url": server.url})
        (answer,) = answers(model, [request()])
    assert isinstance(answer, Generated)
    assert server.requests[0].json["generationConfig"]["responseModalities"] == ["TEXT", "IMAGE"]


def test_a_sketch_among_the_thoughts_is_not_the_image() -> None:
    with _server("sketch") as server:
        answer = _answer(server)
    assert isinstance(answer, Generated)
    assert answer.data == painted(Wish(MODEL, "A red cup."))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("blocked", "the prompt was blocked: PROHIBITED_CONTENT"),
        ("SAFETY", "ended with SAFETY"),
        ("PROHIBITED_CONTENT", "ended with PROHIBITED_CONTENT"),
        ("IMAGE_SAFETY", "ended with IMAGE_SAFETY"),
        ("NO_IMAGE", "ended with NO_IMAGE"),
        ("words", "words instead of an image: I would rather not draw that."),
    ],
)
def test_declining_is_a_refusal_and_not_asked_again(fault: str, reason: str) -> None:
    with _server(fault) as server:
        assert _answer(server, max_attempts="3") == Refused(reason, cost=(10 * 0.30 + 1297 * 30.00) / 1_000_000)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["OTHER", "IMAGE_OTHER", "no parts", "no candidate", "text", "no base64"])
def test_an_answer_without_an_image_is_wrong_and_asked_again(fault: str) -> None:
    with _server(fault, None, fault) as server:
        assert isinstance(_answer(server, max_attempts="2", initial_backoff="0"), Generated)
        failed = _answer(server)
    assert len(server.requests) == 3
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("wrong: ")
