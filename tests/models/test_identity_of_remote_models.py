"""By what remote models are known: whatever shapes an answer is on record, and nothing else is.

Answers are remembered and results are reused by these settings. One that is missing would hand over the answers of
another model; one too many would make everyone pay again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from formalimg.models.registry import open_chat_model, open_image_model
from tests.support.remote_models import PLANTED, stand_alone

_MANNERS = {
    "concurrency": "3",
    "rpm": "60",
    "timeout": "9",
    "max_attempts": "2",
    "initial_backoff": "0",
    "max_wait": "9",
}
_SERVER = {"base_url": "http://localhost:8000/v1"}
_HOW_WE_ASK = {"asking": 1, "format": 1}

_CHATS: Mapping[str, tuple[dict[str, object], dict[str, str]]] = {
    "openai/gpt-4o": (
        {"temperature": 0.0, "max_tokens": 4096, "schema": "json_schema"},
        {
            "temperature": "0.5",
            "max_tokens": "9",
            "max_tokens_field": "max_completion_tokens",
            "top_p": "0.5",
            "seed": "0",
        }
        | {"reasoning_effort": "low", "schema": "none", "detail": "low", "extra.top_k": "5", **_SERVER},
    ),
    "anthropic/claude-sonnet-5": (
        {"max_tokens": 8192, "schema": "json_schema"},
        {"temperature": "0", "max_tokens": "9", "effort": "low", "thinking": "disabled", "schema": "none"}
        | {"extra.top_k": "5", **_SERVER},
    ),
    "gemini/gemini-2.5-flash": (
        {"temperature": 0.0, "schema": "json_schema"},
        {"temperature": "default", "top_p": "0.5", "max_tokens": "9", "seed": "0", "thinking_budget": "0"}
        | {"thinking_level": "low", "media_resolution": "low", "schema": "none", "api_version": "v1", **_SERVER},
    ),
    "hf/acme/chat": (
        {"temperature": 0.0, "max_tokens": 4096, "schema": "json_schema", "provider": "auto"},
        {"temperature": "default", "top_p": "0.5", "max_tokens": "9", "seed": "0", "schema": "none"}
        | {"provider": "together", "extra.top_k": "5", **_SERVER},
    ),
}
_PAINTERS: Mapping[str, tuple[dict[str, object], dict[str, str]]] = {
    "openai/gpt-image-1": (
        {},
        {"size": "auto", "quality": "low", "output_format": "jpeg", "output_compression": "50", "background": "opaque"}
        | {
            "moderation": "low",
            "style": "vivid",
            "input_fidelity": "high",
            "send_seed": "on",
            "extra.n": "1",
            **_SERVER,
        },
    ),
    "gemini/gemini-2.5-flash-image": (
        {"aspect_ratio": "1:1", "modalities": "image", "seeded": True},
        {"aspect_ratio": "none", "image_size": "2K", "modalities": "text+image", "temperature": "0", "send_seed": "off"}
        | {"api_version": "v1", **_SERVER},
    ),
    "hf/acme/painter": (
        {"sized": True, "seeded": True, "provider": "auto"},
        {"width": "512", "height": "512", "num_inference_steps": "4", "guidance_scale": "0", "negative_prompt": "blur"}
        | {"send_size": "off", "send_seed": "off", "provider": "fal-ai", "extra.scheduler": "x", **_SERVER},
    ),
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    for variable in ("GEMINI_API_KEY", "HF_TOKEN"):
        monkeypatch.setenv(variable, PLANTED)


@pytest.mark.parametrize("name", _CHATS)
def test_whatever_shapes_an_answer_is_on_record(name: str) -> None:
    usual, shaping = _CHATS[name]
    assert open_chat_model(name, {**_MANNERS, "parse_retries": "0", "cache": "off"}).settings == {
        **usual,
        **_HOW_WE_ASK,
    }
    known = [usual | _HOW_WE_ASK, *(dict(open_chat_model(name, {key: shaping[key]}).settings) for key in shaping)]
    assert all(one not in known[:place] for place, one in enumerate(known))


@pytest.mark.parametrize("name", _PAINTERS)
def test_whatever_shapes_an_image_is_on_record(name: str) -> None:
    usual, shaping = _PAINTERS[name]
    assert open_image_model(name, _MANNERS).settings == usual
    known = [usual, *(dict(open_image_model(name, {key: shaping[key]}).settings) for key in shaping)]
    assert all(one not in known[:place] for place, one in enumerate(known))
