"""One call through each provider's real library, to whichever server."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from formalimg.models.base import Answered, Failed, Unanswered
from formalimg.models.providers.anthropic import open_anthropic_chat
from formalimg.models.providers.gemini import open_gemini_chat, open_gemini_images
from formalimg.models.providers.hf import open_hf_chat, open_hf_images
from formalimg.models.providers.openai import open_openai_chat, open_openai_images
from formalimg.types import ChatModel, ImageModel
from tests.support.remote_models import CONVERSATION, PLANTED, answers, request, wait_for

_CHATS = {
    "openai chat": (open_openai_chat, "/v1"),
    "anthropic chat": (open_anthropic_chat, ""),
    "gemini chat": (open_gemini_chat, ""),
    "hf chat": (open_hf_chat, ""),
}
_IMAGES = {
    "openai images": (open_openai_images, "/v1"),
    "gemini images": (open_gemini_images, ""),
    "hf images": (open_hf_images, ""),
}
CALLERS = (*_CHATS, *_IMAGES)
"""All that call a server: a provider, and what of it."""


class _YesOrNo(BaseModel):
    answer: bool


def plant_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for each provider, that must not reach the wrong server."""
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "HF_TOKEN"):
        monkeypatch.setenv(variable, PLANTED)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)


def why_it_failed(caller: str, url: str, **options: str) -> str:
    """Make one call without a retry; return the reason for its failure, empty if it succeeded."""
    given: Mapping[str, str] = {"max_attempts": "1", "timeout": "20", **options}
    if caller in _CHATS:
        open_chat, path = _CHATS[caller]
        chat: ChatModel = open_chat("m", {"base_url": url + path, "cache": "off", "parse_retries": "0", **given})
        reply = wait_for(chat.ask(CONVERSATION, _YesOrNo))
        assert isinstance(reply, Unanswered | Answered)
        return "" if isinstance(reply, Answered) else reply.reason
    open_images, path = _IMAGES[caller]
    model: ImageModel = open_images("m", {"base_url": url + path, **given})
    (answer,) = answers(model, [request()])
    return answer.reason if isinstance(answer, Failed) else ""
