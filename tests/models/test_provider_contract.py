"""What holds for every provider, through its real library: faults by kind, keys that are shown nowhere, options."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, CallError, Failed, Generated, ImageResult, Refused, Unanswered, Usage
from formalimg.models.providers.anthropic import open_anthropic_chat
from formalimg.models.providers.gemini import open_gemini_chat, open_gemini_images
from formalimg.models.providers.hf import open_hf_chat, open_hf_images
from formalimg.models.providers.openai import open_openai_chat, open_openai_images
from formalimg.types import ImageModel
from tests.support.loopback import Dialect, Fault, Loopback, Wish, at_random, scripted
from tests.support.loopback.gemini import GEMINI
from tests.support.loopback.hf import HF
from tests.support.loopback.images import animated, painted, plain
from tests.support.loopback.openai import OPENAI
from tests.support.remote_models import CONVERSATION, answers, request, stand_alone, wait_for
from tests.support.sizes import tries

KEY = "hf_planted0a1b2c3d4e5f6789wxyz"  # also of the form that the library of Hugging Face wants
SCHEMA: dict[str, object] = {"type": "object", "properties": {"seen": {"type": "boolean"}}, "required": ["seen"]}


class Provider(NamedTuple):
    open: Callable[[str, Mapping[str, str]], Any]
    model: str
    key: str
    library: str
    path: str = ""
    dialects: tuple[Dialect, ...] = ()

    def server(self, *faults: str | Fault | None, **options: Any) -> Loopback:
        more = {"dialects": self.dialects} if self.dialects else {}
        return Loopback(**{"faults": scripted(faults), "reply": lambda asked: '{"seen": true}', **more, **options})

    def at(self, url: str, **options: str) -> Any:
        defaults = {"base_url": url + self.path, "max_attempts": "1", "timeout": "20", "initial_backoff": "0"}
        return self.open(self.model, {**defaults, **options})


CHATS = {
    "openai chat": Provider(open_openai_chat, "gpt-4.1", "OPENAI_API_KEY", "openai", "/v1"),
    "anthropic chat": Provider(open_anthropic_chat, "claude-sonnet-5", "ANTHROPIC_API_KEY", "anthropic"),
    "gemini chat": Provider(open_gemini_chat, "gemini-2.5-flash", "GEMINI_API_KEY", "gemini", "", (GEMINI,)),
    "hf chat": Provider(open_hf_chat, "acme/talker", "HF_TOKEN", "hf", "", (HF,)),
}
IMAGES = {
    "openai images": Provider(open_openai_images, "gpt-image-1", "OPENAI_API_KEY", "openai", "/v1"),
    "gemini images": Provider(open_gemini_images, "gemini-2.5-flash-image", "GEMINI_API_KEY", "gemini", "", (GEMINI,)),
    "hf images": Provider(open_hf_images, "acme/painter", "HF_TOKEN", "hf", "", (HF,)),
}
ALL = {**CHATS, **IMAGES}
each = pytest.mark.parametrize("name", ALL)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    for variable in ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(variable, raising=False)
    for provider in ALL.values():
        monkeypatch.setenv(provider.key, KEY)


class Seen(BaseModel):
    seen: bool


def complete(name: str, url: str, schema: dict[str, object] | None = None, timeout: str = "20") -> Any:
    """One call without what is built around a provider."""
    provider = vars(ALL[name].at(url, timeout=timeout))["_provider"]
    return wait_for(provider.complete(CONVERSATION, schema) if name in CHATS else provider.complete(request()))


def failure(name: str, *faults: str | Fault, timeout: str = "20") -> CallError:
    with ALL[name].server(*faults) as server, pytest.raises(CallError) as caught:
        complete(name, server.url, SCHEMA, timeout)
    assert len(server.requests) == 1, "the library must not go on by itself"
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) < 400
    return caught.value


EVERYWHERE = {"429": "busy", "500": "unavailable", "503": "unavailable", "hang": "unavailable", "reset": "unavailable"}
EVERYWHERE |= {"empty": "wrong", "html": "wrong", "400": "rejected"}
PAID = {"no text", "OTHER", "no end", "no candidate"}  # answers that will not do, and are paid all the same
BROKEN = dict.fromkeys(("truncated", "schema"), "wrong")
FAULTS = {
    "openai chat": {"409": "unavailable", "422": "rejected", **BROKEN, "no text": "wrong"},
    "anthropic chat": {"529": "busy", "413": "rejected", **BROKEN, "no text": "wrong"},
    "gemini chat": dict.fromkeys(("schema", "number", "OTHER", "no end", "no candidate"), "wrong"),
    "hf chat": {**BROKEN, "number": "wrong", "no text": "wrong"},
    "openai images": {"409": "unavailable", **BROKEN, "no image": "wrong", "text": "wrong"},
    "gemini images": {"408": "unavailable", "413": "rejected", **BROKEN, "no parts": "wrong", "text": "wrong"},
    "hf images": {"504": "unavailable", "422": "rejected", "text": "wrong", "gif": "wrong"},
}


@pytest.mark.parametrize(
    ("name", "fault", "kind"),
    [(name, fault, kind) for name in ALL for fault, kind in {**EVERYWHERE, **FAULTS[name]}.items()],
)
def test_faults_are_told_apart(name: str, fault: str, kind: str) -> None:
    error = failure(name, fault, timeout="0.3" if fault == "hang" else "20")
    assert error.kind == kind
    if name in CHATS:
        assert (error.usage != Usage()) == (fault in PAID)


@pytest.mark.parametrize(
    ("name", "fault", "seconds"),
    [
        *((name, Fault("429", retry_after="3"), 3.0) for name in ALL),
        *((name, Fault("429"), None) for name in ALL),
        ("openai images", Fault("429", retry_after="0.25"), 0.25),
        ("openai images", Fault("429", retry_after="soon"), None),
        ("gemini images", Fault("429", code="retryDelay=34.5s"), 34.5),
        ("gemini images", Fault("429", code="retryDelay=2s", retry_after="60"), 2.0),
        ("gemini images", Fault("503", code="retryDelay=8s"), 8.0),
        ("gemini images", Fault("429", code="retryDelay=soon"), None),
        ("gemini images", Fault("429", message="You exceeded your current quota, please check your plan."), None),
        ("hf images", Fault("out of tokens"), 55.0),
        ("hf images", Fault("503", code="loading"), 12.5),
        ("hf images", Fault("503", code="loading", retry_after="4"), 4.0),
    ],
)
def test_the_wish_to_be_left_alone_is_passed_on(name: str, fault: Fault, seconds: float | None) -> None:
    assert failure(name, fault).retry_after == seconds


@pytest.mark.parametrize(
    ("name", "fault", "advice"),
    [
        *((name, Fault("401", message="Incorrect API key"), provider.key) for name, provider in ALL.items()),
        *((name, Fault("403", message="must be verified"), provider.key) for name, provider in ALL.items()),
        *((name, Fault("404", message="no such model"), provider.model) for name, provider in ALL.items()),
        ("openai images", Fault("429", code="insufficient_quota", message="You exceeded your quota"), "out of money"),
        ("openai images", Fault("400", code="billing_hard_limit_reached", message="Billing limit"), "out of money"),
        ("openai images", Fault("402", message="pay first"), "out of money"),
        ("anthropic chat", Fault("400", message="Your credit balance is too low to access the API"), "out of money"),
        ("gemini images", Fault("400", code="reason=API_KEY_INVALID"), "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("gemini images", Fault("400", code="FAILED_PRECONDITION", message="location"), "billing and region"),
        ("gemini images", Fault("429", code="quotaId=GenerateRequestsPerDayPerProject-FreeTier"), "resume tomorrow"),
        ("hf images", Fault("402", message="You have exceeded your monthly credits."), "top it up"),
        ("hf images", Fault("410", message="The model is no longer served."), "check the name"),
    ],
)
def test_what_no_call_can_mend_ends_the_run_with_advice(name: str, fault: Fault, advice: str) -> None:
    with ALL[name].server(fault) as server, pytest.raises(FormalimgError, match=advice):
        complete(name, server.url)
    assert len(server.requests) == 1


@each
def test_nobody_listening_is_an_outage(name: str) -> None:
    with pytest.raises(CallError) as caught:
        complete(name, "http://127.0.0.1:9")
    assert caught.value.kind == "unavailable"


def test_an_error_inside_an_answer_of_status_200_is_an_error() -> None:
    bodies = {"busy": {"error": {"code": 429, "message": "slow down"}}, "unavailable": {"error": "upstream is away"}}
    for kind, body in bodies.items():
        dialect = OPENAI._replace(error=lambda *_, body=body: body)
        with Loopback(faults=scripted([Fault("200")]), dialects=[dialect]) as server:
            with pytest.raises(CallError) as caught:
                complete("openai images", server.url)
            assert caught.value.kind == kind


def test_complaints_of_odd_forms_are_quoted() -> None:
    complaint = Fault("422", code="bad", message="width must be a multiple of 8")
    assert "width must be a multiple of 8" in failure("hf images", complaint).reason
    assert failure("gemini images", Fault("502", message="Bad gateway")).reason == "502: Bad gateway"


@pytest.mark.parametrize(
    ("name", "faults", "kind"),
    [
        ("openai chat", ["refusal"], "refused"),
        ("openai chat", ["filter"], "refused"),
        ("openai chat", ["length"] * 3, "unreadable"),
        ("openai chat", [Fault("400", code="invalid_prompt")], "refused"),
        ("anthropic chat", ["refusal"], "refused"),
        ("anthropic chat", ["length"] * 3, "unreadable"),
        ("gemini chat", ["blocked"], "refused"),
        ("gemini chat", ["length"] * 3, "unreadable"),
        ("hf chat", ["refusal"], "refused"),
        ("hf chat", ["length"] * 3, "unreadable"),
        *((name, ["500"], "failed") for name in CHATS),
        *((name, ["html"], "failed") for name in CHATS),
    ],
)
def test_no_answer_is_never_a_guess(name: str, faults: list[str | Fault], kind: str) -> None:
    with ALL[name].server(*faults) as server:
        reply = wait_for(ALL[name].at(server.url).ask(CONVERSATION, Seen))
    assert isinstance(reply, Unanswered)
    assert reply.kind == kind
    assert len(server.requests) == len(faults)


@pytest.mark.parametrize("name", CHATS)
def test_a_server_without_schemas_is_asked_in_words_from_then_on(name: str) -> None:
    with ALL[name].server("no schema", "no schema") as server:
        model = ALL[name].at(server.url, cache="off")
        first, second = (wait_for(model.ask(CONVERSATION, Seen)) for _ in range(2))
    assert isinstance(first, Answered)
    assert isinstance(second, Answered)
    fields = ("response_format", "output_config", "responseJsonSchema")
    assert [any(field.encode() in came.body for field in fields) for came in server.requests] == [True, False, False]
    assert ['\\"seen\\"' in came.body.decode() for came in server.requests] == [False, True, True]


@pytest.mark.parametrize("name", CHATS)
def test_other_rejections_do_not_make_it_give_up_schemas(name: str) -> None:
    with ALL[name].server(Fault("400", message="the prompt is too long"), None) as server:
        model = ALL[name].at(server.url, cache="off")
        first, second = (wait_for(model.ask(CONVERSATION, Seen)) for _ in range(2))
    assert isinstance(first, Unanswered)
    assert isinstance(second, Answered)
    assert len(server.requests) == 2
    assert b'\\"seen\\"' not in server.requests[1].body


@pytest.mark.parametrize("name", IMAGES)
def test_refusals_are_not_tried_again(name: str) -> None:
    faults: dict[str, list[str | Fault]] = {
        "openai images": ["refusal", "old refusal"],
        "gemini images": ["blocked", "SAFETY", "NO_IMAGE", "words"],
        "hf images": [Fault("422", code="content_policy_violation"), Fault("400", message="NSFW content detected.")],
    }
    with ALL[name].server(*faults[name]) as server:
        model = ALL[name].at(server.url, max_attempts="3")
        assert [type(answer) for answer in answers(model, [request()] * len(faults[name]))] == [Refused] * len(
            faults[name]
        )
    assert len(server.requests) == len(faults[name])


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("fault", ["429", "500", "hang", "reset", "empty", "html", "text"])
def test_a_fault_that_passes_leaves_no_trace_and_one_that_stays_fails(name: str, fault: str) -> None:
    timeout = "0.3" if fault == "hang" else "20"  # the others must not be late by the clock
    with ALL[name].server(fault, fault, None, *[fault] * 3) as server:
        model = ALL[name].at(server.url, max_attempts="3", timeout=timeout)
        made, failed = answers(model, [request()] * 2)
    assert isinstance(made, Generated)
    assert made.data == painted(Wish(ALL[name].model if name != "openai images" else "gpt-image-1", "A red cup."))
    assert isinstance(failed, Failed)
    assert failed.reason.split(":")[0] in ("busy", "unavailable", "wrong")
    assert len(server.requests) == 6


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_handed_on_as_they_came_whatever_their_type_is_said_to_be(name: str) -> None:
    with ALL[name].server("tiny", "animated", "wrong type") as server:
        model = ALL[name].at(server.url)
        tiny, moving, plainly = answers(model, [request()] * 3)  # and in one event loop after another below
        again = answers(model, [request()])
    assert isinstance(tiny, Generated)
    assert isinstance(moving, Generated)
    assert (tiny.data, moving.data) == (plain(2, (255, 0, 0)), animated())
    assert isinstance(plainly, Generated)
    assert plainly.data == painted(Wish(ALL[name].model, "A red cup."))
    assert [type(answer) for answer in again] == [Generated]


@pytest.mark.parametrize("name", IMAGES)
def test_a_storm_of_faults_costs_no_image_and_mixes_none_up(name: str) -> None:
    kinds = [
        "429",
        "500",
        "reset",
        "empty",
        "html",
        *{"openai images": ["schema", "refusal", "url"]}.get(name, ["text"]),
    ]
    prompts = [f"Image {number}." for number in range(tries(40, 200))]

    async def paint_all(model: ImageModel) -> list[ImageResult]:
        async def one(prompt: str) -> ImageResult:
            (answer,) = [answer async for answer in model.generate([request(prompt)])]
            return answer

        return list(await asyncio.gather(*map(one, prompts)))

    with ALL[name].server(faults=at_random(0.3, kinds, seed=5), latency=0.002) as server:
        made = wait_for(paint_all(ALL[name].at(server.url, max_attempts="20", concurrency="16")))
    assert Counter(map(type, made)).keys() <= {Generated, Refused}
    for prompt, answer in zip(prompts, made, strict=True):
        if isinstance(answer, Generated):
            assert answer.data == painted(Wish(ALL[name].model, prompt))
    assert server.most_at_once > 4


# --- keys


def traces(key: str = KEY) -> Iterator[str]:
    yield from (key[start : start + 8] for start in range(len(key) - 8))


@each
@pytest.mark.parametrize("status", ["400", "401", "403", "404", "429", "500"])
def test_no_error_of_a_provider_holds_the_key(name: str, status: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    texts = [
        f"Incorrect API key provided: {KEY}.",
        f"Incorrect API key provided: {KEY[:9]}*************{KEY[-4:]}. Look it up.",
        f"no such model for Bearer {KEY}",
        f"{'x' * 235} {KEY}",
    ]
    for text in texts:
        with ALL[name].server(Fault(status, message=text)) as server:
            with pytest.raises((CallError, FormalimgError)) as caught:
                complete(name, server.url)
            model = ALL[name].at(server.url)
        assert KEY in str(server.requests[0].headers)
        error = caught.value
        shown = f"{error} {error!r} {error.__dict__} {''.join(traceback.format_exception(error))} {model!r}"
        shown += str(model.settings) + caplog.text
        assert not [part for part in traces() if part in shown]
        assert error.__context__ is error.__cause__ is None


@each
def test_no_answer_and_no_file_of_the_cache_holds_it(
    name: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    with ALL[name].server() as server:
        model = ALL[name].at(server.url)
        reply = answers(model, [request()]) if name in IMAGES else wait_for(model.ask(CONVERSATION, Seen))
    shown = str(reply) + repr(model) + caplog.text
    shown += "".join(path.read_text("latin-1") for path in tmp_path.rglob("*") if path.is_file())
    assert KEY in str(server.requests[0].headers)
    assert not [part for part in traces() if part in shown]


# --- opening


@each
def test_options_keys_and_addresses_are_checked_when_a_model_is_opened(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = ALL[name]

    def refuse(options: dict[str, str], message: str) -> str:
        with pytest.raises(FormalimgError, match=message) as caught:
            provider.open("some-model", options)
        return str(caught.value)

    refuse({"colour": "red"}, "some-model has no option 'colour'.*base_url.*concurrency")
    assert "sk-given" not in refuse({"api_key": "sk-given-as-an-option"}, "api_key is not an option")
    assert "hunter22" not in refuse({"base_url": "https://me:hunter22@example.org/v1"}, "base_url")
    for key in ("sk-two words", "sk-smart‑hyphen", "sk-line\nbreak"):
        monkeypatch.setenv(provider.key, key)
        assert key not in refuse({}, f"{provider.key}.* holds no key")
    monkeypatch.delenv(provider.key)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    refuse({}, f"set {provider.key}")
    with provider.server() as server:
        provider.open("some-model", {"base_url": server.url})  # a server of one's own may want no key
    assert server.requests == [], "opening a model calls nobody"


@pytest.mark.parametrize("name", ["openai chat", "openai images", "anthropic chat"])
def test_a_missing_library_says_how_to_install_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, ALL[name].library, None)
    with pytest.raises(FormalimgError, match=re.escape(install_line(ALL[name].library))):
        ALL[name].open("some-model", {})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("openai chat", {"temperature": "hot"}, "temperature='hot'"),
        ("openai chat", {"schema": "xml"}, "json_schema, json_object, none"),
        ("openai images", {"output_compression": "200"}, "from 0 to 100"),
        ("openai images", {"base_url": "localhost:8000"}, "not a URL"),
        (
            "openai images",
            {"api": "chat", "quality": "low"},
            "quality of openai/m is not for api=chat: give extra.quality=…",
        ),
        ("anthropic chat", {"thinking": "hard"}, "thinking='hard'"),
    ],
)
def test_wrong_values_say_what_is_wanted(name: str, options: Mapping[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        ALL[name].open("m", options)


@pytest.mark.parametrize(
    ("name", "variable"), [("openai images", "OPENAI_BASE_URL"), ("gemini images", "GOOGLE_GEMINI_BASE_URL")]
)
def test_the_address_may_lie_in_the_environment_and_the_key_in_a_file(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    provider = ALL[name]
    monkeypatch.delenv(provider.key)
    (tmp_path / ".env").write_text(f"{provider.key}=sk-from-the-file-0123\n", encoding="utf-8")
    with provider.server() as server:
        monkeypatch.setenv(variable, server.url + provider.path)
        model = provider.open(provider.model, {})
        assert model.settings["base_url"] == server.url + provider.path
        assert [type(answer) for answer in answers(model, [request()])] == [Generated]
    assert "sk-from-the-file-0123" in str(server.requests[0].headers)
