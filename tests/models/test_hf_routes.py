"""Images by way of the Hub's router: who serves a model, how each provider answers, and what cannot be served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, Refused
from formalimg.models.providers.hf import open_hf_images
from tests.support.loopback import Fault, Loopback, Wish, scripted
from tests.support.loopback.hf import HF
from tests.support.loopback.images import painted
from tests.support.remote_models import answers, request, stand_alone

PLANTED_TOKEN = "hf_planted0a1b2c3d4e5f6789wxyz"
EXPECTED = painted(Wish("", "A red cup."))


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    from huggingface_hub.inference._providers import _common
    from huggingface_hub.utils import _detect_agent

    stand_alone(monkeypatch, tmp_path)
    # Else the library asks the Hub once in a process, and once a day, which programs are agents: one request too many.
    monkeypatch.setattr(_detect_agent, "_registry", _detect_agent._EMPTY_REGISTRY)
    monkeypatch.setenv("HF_TOKEN", PLANTED_TOKEN)
    yield
    _common._fetch_inference_provider_mapping.cache_clear()


Hub = Callable[..., Loopback]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    running: list[Loopback] = []

    def start(*faults: str | Fault) -> Loopback:
        server = Loopback(faults=scripted(faults), dialects=(HF,)).__enter__()
        running.append(server)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
        monkeypatch.setattr("huggingface_hub.constants.INFERENCE_PROXY_TEMPLATE", f"{server.url}/{{provider}}")
        return server

    yield start
    for server in running:
        server.__exit__(None, None, None)


def _answer(
    provider: str = "auto", model: str = "acme/painter", *, reference: bytes | None = None, **options: str
) -> Generated | Refused | Failed:
    opened = open_hf_images(model, {"provider": provider, "max_attempts": "1", "timeout": "5", **options})
    (answer,) = answers(opened, [request(reference=reference)])
    return answer


def test_a_provider_that_gives_an_address_is_followed_without_the_key(hub: Hub) -> None:
    server = hub()
    answer = _answer(provider="fal-ai")
    assert isinstance(answer, Generated)
    assert answer.data == EXPECTED
    assert answer.served["provider"] == "fal-ai"
    mapping, asked, fetched = server.requests
    assert mapping.path.startswith("/api/models/acme/painter")
    assert asked.path == "/fal-ai/fal-ai/painter"
    assert asked.json == {"prompt": "A red cup.", "seed": 7, "image_size": {"width": 1024, "height": 1024}}
    assert PLANTED_TOKEN not in str(fetched.headers)


def test_a_provider_that_gives_the_image_within_json_is_read(hub: Hub) -> None:
    server = hub()
    answer = _answer(provider="together", num_inference_steps="4")
    assert isinstance(answer, Generated)
    assert answer.data == EXPECTED
    assert server.requests[1].json["steps"] == 4


def test_who_serves_a_model_is_asked_once(hub: Hub) -> None:
    server = hub()
    model = open_hf_images("acme/painter", {"provider": "together"})
    assert [type(answer) for answer in answers(model, [request()] * 3)] == [Generated] * 3
    assert [came.method for came in server.requests].count("GET") == 1


@pytest.mark.parametrize("fault", ["no image", "lost image", "text", "html", "truncated", "empty"])
def test_answers_of_another_form_are_wrong(hub: Hub, fault: str) -> None:
    hub(fault)
    answer = _answer(provider="fal-ai")
    assert isinstance(answer, Failed)
    assert answer.reason.startswith("wrong: ")


@pytest.mark.parametrize(
    ("provider", "model", "message"),
    [
        ("groq", "acme/painter", "not supported for provider 'groq'"),
        ("acme", "acme/painter", "Provider 'acme' not supported"),
        ("replicate", "acme/painter", "not supported by provider replicate"),
        ("auto", "nobody/nothing", "Hugging Face has no hf/nobody/nothing"),
        ("auto", "acme/lonely", "no inference provider serves hf/acme/lonely"),
    ],
)
def test_what_nobody_serves_ends_the_run_with_a_reason(hub: Hub, provider: str, model: str, message: str) -> None:
    hub()
    with pytest.raises(FormalimgError, match=message):
        _answer(provider, model)


def test_fetching_by_address_does_not_wait_for_ever() -> None:
    from huggingface_hub import close_session, get_session

    close_session()
    assert get_session().timeout.read is None, "if the library sets a limit of its own, ours is not needed"
    open_hf_images("acme/painter", {"timeout": "17"})
    assert get_session().timeout.read == 17
