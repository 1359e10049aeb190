"""OpenAI API client and wire format of chat completions, also for compatible servers; sizes of image models."""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.chat import Attachment, Message
from formalimg.models.options import server_api_key
from formalimg.models.providers.http import Endpoint
from formalimg.models.providers.limits import MAX_IMAGE_ANSWER_BYTES, limit_answers
from formalimg.models.providers.sdk import SdkClient
from formalimg.models.registry import requires

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OpenAIClient: TypeAlias = "SdkClient[AsyncOpenAI]"

_KEY_NAME = "OPENAI_API_KEY"
_DEFAULT_URL = "https://api.openai.com/v1"

requires_openai = requires(
    modules=["openai"], install=install_line("openai"), keys=[_KEY_NAME], unless="for a server of your own"
)
"""Declares the requirements of a factory."""


def connect_openai(
    model: str, base_url: str | None, timeout: float, max_bytes: int = MAX_IMAGE_ANSWER_BYTES
) -> OpenAIClient:
    """Return a client of the server at `base_url`; of OpenAI's own if it is None."""
    try:
        import openai
    except ImportError:
        raise FormalimgError(f"{model} needs the openai library: {install_line('openai')}") from None
    key = server_api_key(model, [_KEY_NAME], base_url)
    url = base_url or _DEFAULT_URL
    hooks = limit_answers(max_bytes)

    def connect() -> AsyncOpenAI:
        try:
            # Where aiohttp is installed, the library takes a third less time for a call with it.
            http_client = openai.DefaultAioHttpClient(timeout=timeout, event_hooks=hooks)
        except RuntimeError:  # by which the library says that it is not
            http_client = openai.DefaultAsyncHttpxClient(timeout=timeout, event_hooks=hooks)
        return openai.AsyncOpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=0, http_client=http_client)

    return SdkClient(openai, Endpoint(model, _KEY_NAME, url), connect)


def response_format(mode: str, schema: Mapping[str, object] | None) -> dict[str, object] | None:
    """Return the field `response_format` for a schema mode; None if it is not sent."""
    if mode == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema or {})}}
    return {"type": "json_object"} if mode == "json_object" else None


def encode_message(message: Message, detail: str | None = None) -> dict[str, object]:
    """Return a message in the format of chat completions."""
    # A single text goes as it is: not every server takes a list where there is no image.
    if len(message.parts) == 1 and isinstance(message.parts[0], str):
        return {"role": message.role, "content": message.parts[0]}
    return {"role": message.role, "content": [_encode_part(part, detail) for part in message.parts]}


def _encode_part(part: str | Attachment, detail: str | None) -> dict[str, object]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    image = {"url": f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"}
    return {"type": "image_url", "image_url": image if detail is None else {**image, "detail": detail}}


@dataclass(frozen=True)
class ImageModelSpec:
    """What an image model accepts. Read from a data file, because new models come every season."""

    begins: str  # prefix of the names of such models
    sides: tuple[int, ...] = ()  # allowed lengths in pixels of a square image; empty if there is no list
    step: int = 1  # lengths must be multiples of it
    asks_for_data: bool = True  # whether the image must be requested as data, because the model would send a URL
    edits: bool = True  # whether it accepts an image beside the prompt

    def size(self, requested: int) -> str:
        """Return the allowed size closest to the requested one, as it is written in requests."""
        if self.sides:
            side = min(self.sides, key=lambda side: (abs(side - requested), side))
        else:
            side = max(self.step, round(requested / self.step) * self.step)
        return f"{side}x{side}"


def image_model_spec(model: str) -> ImageModelSpec:
    """Return what the model of this name accepts; gateways prefix the vendor, as in `openai/gpt-image-1`."""
    name = model.rpartition("/")[2]
    return next((known for known in _known_specs() if name.startswith(known.begins)), ImageModelSpec(""))


@cache
def _known_specs() -> tuple[ImageModelSpec, ...]:
    text = (files("formalimg.models.providers") / "openai_image_models.toml").read_text(encoding="utf-8")
    return tuple(
        ImageModelSpec(**{**entry, "sides": tuple(entry.get("sides", ()))}) for entry in tomllib.loads(text)["models"]
    )
