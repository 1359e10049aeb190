"""Images through the huggingface_hub library, against a server that speaks as its endpoints and providers do."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.models.base import Failed, Generated, Refused
from formalimg.models.providers.hf import open_hf_images
from tests.support.loopback import Fault, Loopback, Wish, scripted
from tests.support.loopback.hf import HF
from tests.support.loopback.images import painted
from tests.support.remote_models import IMAGE, answers, request, stand_alone

PLANTED_TOKEN = "hf_planted0a1b2c3d4e5f6789wxyz"
MODEL = "acme/painter"
EXPECTED = painted(Wish(MODEL, "A red cup."))


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setenv("HF_TOKEN", PLANTED_TOKEN)


def _server(*faults: str | Fault | None) -> Loopback:
    return Loopback(faults=scripted(faults), dialects=(HF,))


def _answer(server: Loopback, *, reference: bytes | None = None, **options: str) -> Generated | Refused | Failed:
    model = open_hf_images(MODEL, {"base_url": server.url, "max_attempts": "1", "timeout": "5", **options})
    (answer,) = answers(model, [request(reference=reference)])
    return answer


def test_an_image_comes_back_byte_by_byte_with_what_was_served() -> None:
    with _server() as server:
        answer = _answer(server)
    assert isinstance(answer, Generated)
    assert answer.data == EXPECTED
    assert answer.served == {"model": MODEL, "base_url": server.url, "width": 64, "height": 64, "seed": 7}
    (came,) = server.requests
    assert came.headers["authorization"] == f"Bearer {PLANTED_TOKEN}"
    assert came.json == {"inputs": "A red cup.", "parameters": {"width": 1024, "height": 1024, "seed": 7}}


def test_a_reference_image_makes_it_image_to_image() -> None:
    with Loopback(paint=lambda wish: wish.reference or b"", dialects=(HF,)) as server:
        answer = _answer(server, reference=IMAGE)
    assert isinstance(answer, Generated)
    assert answer.data == IMAGE
    parameters = server.requests[0].json["parameters"]
    assert parameters == {"prompt": "A red cup.", "target_size": {"width": 1024, "height": 1024}, "seed": 7}


def test_options_are_sent_and_on_record() -> None:
    options = {"negative_prompt": "blur", "extra.scheduler": "euler", "extra.shift": "1.5"}
    numbers = {"num_inference_steps": 30, "guidance_scale": 3.5, "width": 512, "height": 256}
    given = {**options, **{name: str(number) for name, number in numbers.items()}}
    with _server() as server:
        model = open_hf_images(MODEL, {**given, "base_url": server.url, "concurrency": "3"})
        assert [type(answer) for answer in answers(model, [request()])] == [Generated]
        expected = {**options, **numbers, "sized": True, "seeded": True, "base_url": server.url}
        assert model.settings == expected
    sent = {"negative_prompt": "blur", "scheduler": "euler", "shift": 1.5, "seed": 7, **numbers}
    assert server.requests[0].json["parameters"] == sent
    assert model.concurrency == 3


@pytest.mark.parametrize("reference", [None, IMAGE], ids=["words", "image"])
def test_size_and_seed_can_be_kept_back(reference: bytes | None) -> None:
    with _server() as server:
        assert isinstance(_answer(server, reference=reference, send_size="off", send_seed="off"), Generated)
    assert server.requests[0].json["parameters"].keys() <= {"prompt"}


def test_whoever_has_logged_in_needs_no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "stored-by-login-0123456789")
    with _server(Fault("400", message="stored-by-login-0123456789 may not")) as server:
        answer = _answer(server)
    assert server.requests[0].headers["authorization"] == "Bearer stored-by-login-0123456789"
    assert "stored-by-login" not in str(answer)
