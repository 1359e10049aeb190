"""Images of OpenAI and compatible servers, also from chat completions."""

from __future__ import annotations

import base64

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, Refused, Usage
from formalimg.models.provider_models import ImageCompletion
from formalimg.models.providers.openai import OpenAIImages, open_openai_images, read_image
from formalimg.models.providers.sdk import connect_openai
from tests.support.loopback import Loopback, Wish, scripted
from tests.support.loopback.images import animated, painted, plain
from tests.support.remote_models import IMAGE, PLANTED, answers, request, wait_for

pytestmark = pytest.mark.usefixtures("stand_alone")


def _paint(
    server: Loopback, model: str = "gpt-image-1", *, size: int = 1024, reference: bytes | None = None
) -> ImageCompletion:
    provider = OpenAIImages(model, connect_openai(f"openai/{model}", f"{server.url}/v1", timeout=5))
    return wait_for(provider.complete(request(size=size, reference=reference)))


def test_an_image_comes_back_byte_by_byte_with_what_was_served() -> None:
    with Loopback() as server:
        made = _paint(server)
    assert made.data == painted(Wish("gpt-image-1", "A red cup."))
    assert made.usage == Usage(12, 4160, 1)
    assert made.served == {
        "asked_size": "1024x1024",
        "created": 1_700_000_000,
        "size": "1024x1024",
        "quality": "medium",
        "request_id": "req_image",
    }
    (came,) = server.requests
    assert came.path == "/v1/images/generations"
    assert came.json == {"model": "gpt-image-1", "prompt": "A red cup.", "size": "1024x1024"}
    assert came.headers["authorization"] == f"Bearer {PLANTED}"


def test_a_reference_image_makes_it_an_edit() -> None:
    with Loopback(paint=lambda wish: wish.reference or b"") as server:
        made = _paint(server, reference=IMAGE)
    assert made.data == IMAGE
    (came,) = server.requests
    assert came.path == "/v1/images/edits"
    assert came.form["prompt"] == [b"A red cup."]
    assert came.form["size"] == [b"1024x1024"]


@pytest.mark.parametrize(
    ("model", "wished", "sent"),
    [
        ("gpt-image-1", 512, "1024x1024"),
        ("gpt-image-1.5", 2048, "1024x1024"),
        ("gpt-image-2", 1000, "992x992"),
        ("openai/gpt-image-2", 1024, "1024x1024"),
        ("dall-e-2", 600, "512x512"),
        ("dall-e-3", 512, "1024x1024"),
        ("my-own-flux", 777, "777x777"),
    ],
)
def test_the_size_is_the_nearest_that_the_model_takes(model: str, wished: int, sent: str) -> None:
    with Loopback() as server:
        _paint(server, model, size=wished)
    assert server.requests[0].json["size"] == sent


@pytest.mark.parametrize(
    ("model", "asks"),
    [("gpt-image-1", None), ("chatgpt-image-latest", None), ("dall-e-3", "b64_json"), ("my-own-flux", "b64_json")],
)
def test_models_that_would_send_an_address_are_asked_for_the_image(model: str, asks: str | None) -> None:
    with Loopback() as server:
        _paint(server, model)
    assert server.requests[0].json.get("response_format") == asks


def test_an_image_behind_an_address_is_fetched_without_the_key() -> None:
    with Loopback(faults=scripted(["url"])) as server:
        made = _paint(server)
    assert made.data == painted(Wish("gpt-image-1", "A red cup."))
    asked, fetched = server.requests
    assert (asked.method, fetched.method) == ("POST", "GET")
    assert PLANTED not in str(fetched.headers)
    assert "signature" not in str(made.served)


def test_an_image_may_come_as_a_data_address() -> None:
    address = f"data:image/png;base64,{base64.b64encode(IMAGE).decode()}"
    assert wait_for(read_image(None, address, 5)) == IMAGE


@pytest.mark.parametrize(("fault", "expected"), [("tiny", plain(2, (255, 0, 0))), ("animated", animated())])
def test_odd_images_are_handed_on_as_they_came(fault: str, expected: bytes) -> None:
    """Whether an image will do is decided where all images are looked at."""
    with Loopback(faults=scripted([fault])) as server:
        assert _paint(server).data == expected


def test_a_revised_prompt_is_on_record() -> None:
    with Loopback() as server:
        assert _paint(server, "dall-e-3").served["revised_prompt"] == "A red cup. In detail."


def test_options_are_sent_and_on_record() -> None:
    options = {"quality": "high", "moderation": "low", "size": "1536x1024", "output_format": "webp"}
    options |= {"output_compression": "90", "extra.num_inference_steps": "30", "extra.scheduler": "euler"}
    with Loopback() as server:
        model = open_openai_images("gpt-image-1", {**options, "base_url": f"{server.url}/v1", "concurrency": "3"})
        assert [type(answer) for answer in answers(model, [request()])] == [Generated]
        assert model.settings == {**options, "base_url": f"{server.url}/v1"}
    sent = server.requests[0].json
    assert sent == {
        "model": "gpt-image-1",
        "prompt": "A red cup.",
        "size": "1536x1024",
        "quality": "high",
        "moderation": "low",
        "output_format": "webp",
        "output_compression": 90,
        "num_inference_steps": 30,
        "scheduler": "euler",
    }
    assert model.concurrency == 3


def test_options_go_with_edits_too() -> None:
    with Loopback() as server:
        options = {"moderation": "low", "send_seed": "on", "extra.steps": "4", "base_url": f"{server.url}/v1"}
        answers(open_openai_images("my-own-flux", options), [request(reference=IMAGE)])
    form = server.requests[0].form
    assert (form["moderation"], form["seed"], form["steps"]) == ([b"low"], [b"7"], [b"4"])


def test_seeds_are_sent_only_when_asked_for() -> None:
    with Loopback() as server:
        plainly, seeded = ({"base_url": f"{server.url}/v1"} | more for more in ({}, {"send_seed": "on"}))
        answers(open_openai_images("my-own-flux", plainly), [request()])
        (answer,) = answers(open_openai_images("my-own-flux", seeded), [request()])
    assert [came.json.get("seed") for came in server.requests] == [None, 7]
    assert isinstance(answer, Generated)
    assert answer.served["seed"] == 7


def test_a_model_that_takes_words_only_says_so() -> None:
    with Loopback() as server:
        model = open_openai_images("dall-e-3", {"base_url": f"{server.url}/v1"})
        (answer,) = answers(model, [request(reference=IMAGE)])
    assert "words only" in str(answer)
    assert server.requests == []


def test_a_model_can_be_used_in_one_event_loop_after_another() -> None:
    with Loopback() as server:
        model = open_openai_images("gpt-image-1", {"base_url": f"{server.url}/v1", "max_attempts": "1"})
        for _ in range(3):
            assert [type(answer) for answer in answers(model, [request()])] == [Generated]


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
