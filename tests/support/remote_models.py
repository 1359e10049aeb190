"""What tests of remote models share: a world without keys but ours, and requests to make."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from formalimg.models.base import Attachment, ImageRequest, ImageResult, Message
from formalimg.types import ImageModel
from tests.support.loopback.images import plain

PLANTED = "sk-planted-0a1b2c3d4e5f6789-wxyz"
"""A key that must be found nowhere but in the headers of requests."""

_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "ANTHROPIC_BASE_URL", "HTTP_PROXY", "ALL_PROXY", "http_proxy")

Result = TypeVar("Result")


def stand_alone(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Nothing of this machine's settings, an empty cache and folder, and a planted key for every provider."""
    for variable in _VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, PLANTED)
    monkeypatch.setenv("FORMALIMG_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Run until it is done, in an event loop of its own."""
    return asyncio.run(work)


def request(prompt: str = "A red cup.", *, size: int = 1024, reference: bytes | None = None) -> ImageRequest:
    """An image to be asked for."""
    return ImageRequest("1", 0, prompt, seed=7, size=size, reference=reference)


def answers(model: ImageModel, requests: Sequence[ImageRequest]) -> list[ImageResult]:
    """All answers of a model."""

    async def all_of_them() -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    return wait_for(all_of_them())


IMAGE = plain(8, (10, 200, 30))

CONVERSATION = (
    Message("system", ("You look closely.",)),
    Message("user", ("Is there a cup?", Attachment(IMAGE, "image/png"))),
)
