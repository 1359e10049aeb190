"""Image models behind chat completions, wherever in the answer their image is."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, Refused
from formalimg.models.providers.openai import open_openai_images
from tests.support.loopback import Loopback, Wish, scripted
from tests.support.loopback.images import painted
from tests.support.remote_models import IMAGE, PLANTED, answers, request, stand_alone


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)


@pytest.mark.parametrize("form", ["images", "parts", "markdown", "address", "bare"])
def test_the_image_is_found_in_every_form(form: str) -> None:
    with Loopback() as server:
        model = open_openai_images(f"draws-{form}", {"base_url": f"{server.url}/v1", "api": "chat"})
        (made,) = answers(model, [request()])
    assert isinstance(made, Generated)
    assert made.data == painted(Wish(f"draws-{form}", "A red cup."))
    assert made.served["request_id"] == "req_chat"
    came = server.requests[0]
    assert came.path == "/v1/chat/completions"
    assert came.json["messages"] == [{"role": "user", "content": "A red cup."}]
    assert came.json["modalities"] == ["image", "text"]
    assert all(PLANTED not in str(fetched.headers) for fetched in server.requests[1:])


def test_seed_and_reference_and_other_fields_are_sent() -> None:
    options = {"api": "chat", "send_seed": "on", "extra.image_config": '{"aspect_ratio": "1:1"}'}
    with Loopback(paint=lambda wish: wish.reference or b"") as server:
        model = open_openai_images("draws-images", {"base_url": f"{server.url}/v1", **options})
        (made,) = answers(model, [request(reference=IMAGE)])
    assert isinstance(made, Generated)
    assert made.data == IMAGE
    sent = server.requests[0].json
    assert (sent["seed"], sent["image_config"]) == (request().seed, {"aspect_ratio": "1:1"})
    assert model.settings["api"] == "chat"


def test_words_and_refusals_are_refusals() -> None:
    with Loopback(faults=scripted([None, "refusal", "filter"])) as server:
        model = open_openai_images("draws-words", {"base_url": f"{server.url}/v1", "api": "chat"})
        found = [answer for _ in range(3) for answer in answers(model, [request()])]
    assert [answer.reason for answer in found if isinstance(answer, Refused)] == [
        "words instead of an image: I would rather describe it.",
        "I cannot help with that.",
        "the server's filter stopped the answer",
    ]


def test_options_of_the_images_interface_are_refused() -> None:
    with pytest.raises(FormalimgError, match=r"quality of openai/any is not for api=chat: give extra.quality=…"):
        open_openai_images("any", {"base_url": "http://127.0.0.1:9/v1", "api": "chat", "quality": "low"})
