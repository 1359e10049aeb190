"""What image providers send, and the images they give back, through their real libraries."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from formalimg.models.base import Failed, Generated, Refused, Usage
from formalimg.models.providers.openai import open_openai_images, read_image
from tests.models.test_provider_contract import IMAGES, KEY
from tests.support.loopback import Fault, Loopback, Wish, scripted
from tests.support.loopback.images import painted
from tests.support.remote_models import IMAGE, answers, request, stand_alone, wait_for

each = pytest.mark.parametrize("name", IMAGES)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    for variable in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(variable, raising=False)
    for provider in IMAGES.values():
        monkeypatch.setenv(provider.key, KEY)


def draw(
    name: str, server: Loopback, *, model: str = "", size: int = 1024, reference: bytes | None = None, **options: str
) -> Any:
    provider = IMAGES[name]._replace(model=model or IMAGES[name].model)
    (answer,) = answers(provider.at(server.url, **options), [request(size=size, reference=reference)])
    return answer


class Sent(NamedTuple):
    """What one call sends and gives back, plain and with options."""

    path: str
    body: dict[str, object]
    served: dict[str, object]
    options: dict[str, str]
    settings: dict[str, object]
    with_options: dict[str, object]


NUMBERS = {"num_inference_steps": 30, "guidance_scale": 3.5, "width": 512, "height": 256}
SENT = {
    "openai images": Sent(
        "/v1/images/generations",
        {"model": "gpt-image-1", "prompt": "A red cup.", "size": "1024x1024"},
        {"asked_size": "1024x1024", "created": 1_700_000_000, "size": "1024x1024", "quality": "medium"}
        | {"request_id": "req_image"},
        {"quality": "high", "moderation": "low", "size": "1536x1024", "output_format": "webp"}
        | {"output_compression": "90", "extra.num_inference_steps": "30", "extra.scheduler": "euler"},
        {},
        {"model": "gpt-image-1", "prompt": "A red cup.", "size": "1536x1024", "quality": "high", "moderation": "low"}
        | {"output_format": "webp", "output_compression": 90, "num_inference_steps": 30, "scheduler": "euler"},
    ),
    "gemini images": Sent(
        "/v1/models/gemini-2.5-flash-image:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "A red cup."}]}],
            "generationConfig": {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "1:1"}, "seed": 7},
        },
        {"model": "gemini-2.5-flash-image-001", "response_id": "resp_1", "mime_type": "image/png", "seed": 7},
        {"aspect_ratio": "16:9", "image_size": "2K", "modalities": "text+image", "api_version": "v1beta"}
        | {"temperature": "0.5", "send_seed": "off"},
        {"temperature": 0.5, "seeded": False},
        {
            "responseModalities": ["TEXT", "IMAGE"],
            "imageConfig": {"aspectRatio": "16:9", "imageSize": "2K"},
            "temperature": 0.5,
        },
    ),
    "hf images": Sent(
        "/",
        {"inputs": "A red cup.", "parameters": {"width": 1024, "height": 1024, "seed": 7}},
        {"model": "acme/painter", "width": 64, "height": 64, "seed": 7},
        {"negative_prompt": "blur", "extra.scheduler": "euler", "extra.shift": "1.5"}
        | {name: str(number) for name, number in NUMBERS.items()},
        {"sized": True, "seeded": True, **NUMBERS},
        {"negative_prompt": "blur", "scheduler": "euler", "shift": 1.5, "seed": 7, **NUMBERS},
    ),
}


@each
def test_an_image_comes_back_byte_by_byte_with_what_was_served(name: str) -> None:
    with IMAGES[name].server() as server:
        made = draw(name, server)
    assert isinstance(made, Generated)
    assert made.data == painted(Wish(IMAGES[name].model, "A red cup."))
    assert made.served == SENT[name].served | ({"base_url": server.url} if name == "hf images" else {})
    (came,) = server.requests
    assert (came.path, came.json) == (SENT[name].path, SENT[name].body)
    assert KEY in str(came.headers)


def test_the_usage_of_an_image_of_openai_is_told() -> None:
    with IMAGES["openai images"].server() as server:
        provider = vars(IMAGES["openai images"].at(server.url))["_provider"]
        assert wait_for(provider.complete(request())).usage == Usage(12, 4160, 1)


@each
def test_options_are_sent_and_on_record(name: str) -> None:
    sent = SENT[name]
    with IMAGES[name].server() as server:
        model = IMAGES[name].open(
            IMAGES[name].model, {**sent.options, "base_url": server.url + IMAGES[name].path, "concurrency": "3"}
        )
        assert [type(answer) for answer in answers(model, [request()])] == [Generated]
    settings = {option: value for option, value in sent.options.items() if option != "send_seed"}
    assert model.settings == settings | sent.settings | {"base_url": server.url + IMAGES[name].path}
    assert model.concurrency == 3
    (came,) = server.requests
    assert (came.json.get("parameters") or came.json.get("generationConfig") or came.json) == sent.with_options
    assert name != "gemini images" or came.path.startswith("/v1beta/")


@each
def test_a_reference_image_is_sent_along(name: str) -> None:
    with IMAGES[name].server(paint=lambda wish: wish.reference or b"") as server:
        made = draw(name, server, reference=IMAGE)
    assert isinstance(made, Generated)
    assert made.data == IMAGE
    (came,) = server.requests
    if name == "openai images":
        assert came.path == "/v1/images/edits"
        assert (came.form["prompt"], came.form["size"]) == ([b"A red cup."], [b"1024x1024"])
    elif name == "gemini images":
        words, image = came.json["contents"][0]["parts"]
        assert words == {"text": "A red cup."}
        assert base64.urlsafe_b64decode(image["inlineData"]["data"]) == IMAGE
    else:
        size = {"width": 1024, "height": 1024}
        assert came.json["parameters"] == {"prompt": "A red cup.", "target_size": size, "seed": 7}


@pytest.mark.parametrize(
    ("model", "wished", "sent", "form"),
    [
        ("gpt-image-1", 512, "1024x1024", None),
        ("gpt-image-1.5", 2048, "1024x1024", None),
        ("gpt-image-2", 1000, "992x992", None),
        ("openai/gpt-image-2", 1024, "1024x1024", None),
        ("chatgpt-image-latest", 1024, "1024x1024", None),
        ("dall-e-2", 600, "512x512", "b64_json"),
        ("dall-e-3", 512, "1024x1024", "b64_json"),
        ("my-own-flux", 777, "777x777", "b64_json"),
    ],
)
def test_openai_is_asked_for_the_nearest_size_and_for_the_image_itself(
    model: str, wished: int, sent: str, form: str | None
) -> None:
    with IMAGES["openai images"].server() as server:
        made = draw("openai images", server, model=model, size=wished)
    assert (server.requests[0].json["size"], server.requests[0].json.get("response_format")) == (sent, form)
    assert made.served.get("revised_prompt") == ("A red cup. In detail." if model == "dall-e-3" else None)


def test_an_image_behind_an_address_is_fetched_without_the_key() -> None:
    with IMAGES["openai images"].server("url") as server:
        made = draw("openai images", server)
    assert made.data == painted(Wish("gpt-image-1", "A red cup."))
    asked, fetched = server.requests
    assert (asked.method, fetched.method) == ("POST", "GET")
    assert KEY not in str(fetched.headers)
    assert "signature" not in str(made.served)
    address = f"data:image/png;base64,{base64.b64encode(IMAGE).decode()}"
    assert wait_for(read_image(None, address, 5)) == IMAGE


def test_seeds_and_options_go_with_images_and_edits_of_openai() -> None:
    options: Any = {"moderation": "low", "send_seed": "on", "extra.steps": "4"}
    with IMAGES["openai images"].server() as server:
        draw("openai images", server, model="my-own-flux")
        seeded = draw("openai images", server, model="my-own-flux", send_seed="on")
        draw("openai images", server, model="my-own-flux", reference=IMAGE, **options)
        spoken = draw("openai images", server, model="dall-e-3", reference=IMAGE)
    assert [came.json.get("seed") for came in server.requests[:2]] == [None, 7]
    assert seeded.served["seed"] == 7
    form = server.requests[2].form
    assert (form["moderation"], form["seed"], form["steps"]) == ([b"low"], [b"7"], [b"4"])
    assert "text only" in str(spoken)
    assert len(server.requests) == 3


@pytest.mark.parametrize("form", ["images", "parts", "markdown", "address", "bare"])
def test_the_image_is_found_in_every_form_of_a_chat(form: str) -> None:
    with IMAGES["openai images"].server() as server:
        made = draw("openai images", server, model=f"draws-{form}", api="chat")
    assert made.data == painted(Wish(f"draws-{form}", "A red cup."))
    assert made.served["request_id"] == "req_chat"
    came = server.requests[0]
    assert came.path == "/v1/chat/completions"
    assert came.json["messages"] == [{"role": "user", "content": "A red cup."}]
    assert came.json["modalities"] == ["image", "text"]
    assert all(KEY not in str(fetched.headers) for fetched in server.requests[1:])


def test_seed_and_reference_and_other_fields_are_sent_to_a_chat() -> None:
    options = {"api": "chat", "send_seed": "on", "extra.image_config": '{"aspect_ratio": "1:1"}'}
    with IMAGES["openai images"].server(paint=lambda wish: wish.reference or b"") as server:
        model = open_openai_images("draws-images", {"base_url": f"{server.url}/v1", **options})
        (made,) = answers(model, [request(reference=IMAGE)])
    assert isinstance(made, Generated)
    assert made.data == IMAGE
    sent = server.requests[0].json
    assert (sent["seed"], sent["image_config"]) == (request().seed, {"aspect_ratio": "1:1"})
    assert model.settings["api"] == "chat"


def test_words_and_refusals_of_a_chat_are_refusals() -> None:
    with Loopback(faults=scripted([None, "refusal", "filter"])) as server:
        refusals = [draw("openai images", server, model="draws-words", api="chat") for _ in range(3)]
    assert [answer.reason for answer in refusals if isinstance(answer, Refused)] == [
        "text instead of an image: I would rather describe it.",
        "I cannot help with that.",
        "the server's filter stopped the answer",
    ]


def test_the_first_models_of_gemini_that_draw_are_let_talk() -> None:
    with IMAGES["gemini images"].server() as server:
        assert isinstance(draw("gemini images", server, model="gemini-2.0-flash-exp-image-generation"), Generated)
    assert server.requests[0].json["generationConfig"]["responseModalities"] == ["TEXT", "IMAGE"]


def test_a_sketch_among_the_thoughts_of_gemini_is_not_the_image() -> None:
    with IMAGES["gemini images"].server("sketch") as server:
        assert draw("gemini images", server).data == painted(Wish("gemini-2.5-flash-image", "A red cup."))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("blocked", "the prompt was blocked: PROHIBITED_CONTENT"),
        ("SAFETY", "ended with SAFETY"),
        ("PROHIBITED_CONTENT", "ended with PROHIBITED_CONTENT"),
        ("IMAGE_SAFETY", "ended with IMAGE_SAFETY"),
        ("NO_IMAGE", "ended with NO_IMAGE"),
        ("words", "text instead of an image: I would rather not draw that."),
    ],
)
def test_declining_of_gemini_is_a_refusal_and_not_asked_again(fault: str, reason: str) -> None:
    cost = (10 * 0.30 + 1297 * 30.00) / 1_000_000
    with IMAGES["gemini images"].server(fault) as server:
        assert draw("gemini images", server, max_attempts="3") == Refused(reason, cost=cost)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["OTHER", "IMAGE_OTHER", "no parts", "no candidate", "text", "no base64"])
def test_an_answer_of_gemini_without_an_image_is_wrong_and_asked_again(fault: str) -> None:
    with IMAGES["gemini images"].server(fault, None, fault) as server:
        assert isinstance(draw("gemini images", server, max_attempts="2"), Generated)
        failed = draw("gemini images", server)
    assert len(server.requests) == 3
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("wrong: ")


@pytest.mark.parametrize("reference", [None, IMAGE], ids=["words", "image"])
def test_size_and_seed_can_be_kept_back_from_hugging_face(reference: bytes | None) -> None:
    with IMAGES["hf images"].server() as server:
        made = draw("hf images", server, reference=reference, send_size="off", send_seed="off")
    assert isinstance(made, Generated)
    assert server.requests[0].json["parameters"].keys() <= {"prompt"}


def test_whoever_has_logged_in_to_hugging_face_needs_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "stored-by-login-0123456789")
    with IMAGES["hf images"].server(Fault("400", message="stored-by-login-0123456789 may not")) as server:
        answer = draw("hf images", server)
    assert server.requests[0].headers["authorization"] == "Bearer stored-by-login-0123456789"
    assert "stored-by-login" not in str(answer)
