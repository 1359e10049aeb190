"""Image models of OpenAI and compatible servers, including image generation in chat completions."""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg._util.text import truncate
from formalimg.models.base import Attachment, CallError, ImageRequest, Message
from formalimg.models.image_provider import ImageCompletion
from formalimg.models.providers.http import download_image, plain_fields, read_usage
from formalimg.models.providers.sdk import OpenAIClient, complete_chat, encode_message, first_message
from formalimg.models.spending import note_usage
from formalimg.types import Setting

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SERVED_FIELDS = ("model", "created", "size", "quality", "output_format", "background", "seed")
_IN_TEXT = re.compile(
    r"!\[[^\]]*\]\(\s*<?((?:data:image/|https?://)[^)\s>]+)>?[^)]*\)|(data:image/[\w.+-]+;base64,[\w+/=]+)"
)
"""An image in Markdown, or a data address by itself."""


class OpenAIImages:
    """An image model for generation, or editing with a reference image: one call per `complete`."""

    def __init__(
        self,
        model: str,
        server: OpenAIClient,
        *,
        size: str | None = None,
        send_seed: bool = False,
        response_format: str = "auto",
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
        timeout: float = 120.0,
    ) -> None:
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._size = size
        self._send_seed = send_seed
        self._fields = dict(fields or {})
        self._timeout = timeout
        self._spec = image_model_spec(model)
        self.takes_images = self._spec.edits
        if response_format == "auto":
            response_format = "b64_json" if self._spec.asks_for_data else "none"
        if response_format != "none":
            self._fields["response_format"] = response_format

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        size = self._size or self._spec.size(request.size)
        answer, request_id = await self._server.call(lambda client: self._send(client, request, size))
        # Paid for from here on, whether or not there is an image in it or at the address it names.
        usage = note_usage(read_usage(answer.get("usage"), ["input_tokens"], ["output_tokens"], images=1))
        entries = answer.get("data")
        entry = entries[0] if isinstance(entries, list) and entries else None
        if not isinstance(entry, dict):
            raise CallError("wrong", "there is no image in the answer")
        data = await read_image(entry.get("b64_json"), entry.get("url"), self._timeout)
        served = {"asked_size": size, **plain_fields(answer, *_SERVED_FIELDS)}
        served |= plain_fields(entry, "revised_prompt", "seed")
        if self._send_seed:
            served.setdefault("seed", request.seed)
        return ImageCompletion(data, {**served, **request_id}, usage)

    def _send(self, client: AsyncOpenAI, request: ImageRequest, size: str) -> Awaitable[Any]:
        # Most fields go past the library: which of them it knows by name differs between versions and methods.
        fields = {**self._fields, "seed": request.seed} if self._send_seed else self._fields
        images = client.images.with_raw_response
        if request.reference is None:
            return images.generate(model=self._model, prompt=request.prompt, size=size, extra_body=fields)
        image = ("reference.png", request.reference, "image/png")
        return images.edit(model=self._model, prompt=request.prompt, size=size, image=image, extra_body=fields)


class OpenAIChatImages:
    """An image model accessed through chat completions, which have no size parameter: one call per `complete`."""

    takes_images = True

    def __init__(
        self,
        model: str,
        server: OpenAIClient,
        *,
        send_seed: bool = False,
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
        timeout: float = 120.0,
    ) -> None:
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._send_seed = send_seed
        self._fields = {"modalities": ["image", "text"], **(fields or {})}
        self._timeout = timeout

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        parts: tuple[str | Attachment, ...] = (request.prompt,)
        if request.reference is not None:
            parts = (request.prompt, Attachment(request.reference, "image/png"))
        seed = {"seed": request.seed} if self._send_seed else {}
        fields = {**self._fields, **seed, "messages": [encode_message(Message("user", parts))]}
        answer, request_id = await complete_chat(self._server, self._model, fields)
        usage = note_usage(read_usage(answer.get("usage"), ["prompt_tokens"], ["completion_tokens"], images=1))
        addresses = _image_addresses(answer)
        data = await read_image(None, addresses[0], self._timeout)
        served = plain_fields(answer, "model", "id", "created", "system_fingerprint")
        served |= {**seed, **({"images": len(addresses)} if len(addresses) > 1 else {}), **request_id}
        return ImageCompletion(data, served, usage)


async def read_image(encoded: object, url: object, timeout: float) -> bytes:
    """Return the content of an image from base64 data, a data URL or a web URL."""
    if isinstance(url, str) and url.startswith("data:"):
        encoded = url.partition(",")[2]
    if isinstance(encoded, str) and encoded:
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise CallError("wrong", "the image in the answer is no base64") from None
    elif isinstance(url, str) and url:
        data = await download_image(url, timeout)
    else:
        raise CallError("wrong", "there is neither an image nor its address in the answer")
    if image_type(data) is None:
        raise CallError("wrong", f"what came is no PNG, JPEG or WebP file ({len(data):,} bytes)")
    return data


def _image_addresses(answer: Mapping[str, Any]) -> list[str]:
    choice, message = first_message(answer)
    content, refusal = message.get("content"), message.get("refusal")
    words = content if isinstance(content, str) else _join_texts(content)
    addresses = [*_addresses_in_parts(message.get("images")), *_addresses_in_parts(content)]
    addresses += [markdown or plain for markdown, plain in _IN_TEXT.findall(words)]
    if addresses:
        return list(dict.fromkeys(addresses))
    if isinstance(refusal, str) and refusal:
        raise CallError("refused", truncate(" ".join(refusal.split()), 200, 0))
    if choice.get("finish_reason") in ("content_filter", "safety"):
        raise CallError("refused", "the server's filter stopped the answer")
    if words.strip():
        raise CallError("refused", f"words instead of an image: {truncate(' '.join(words.split()), 200, 0)}")
    raise CallError("wrong", "there is no image in the answer")


def _addresses_in_parts(parts: object) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str) and part.startswith(("data:image/", "http://", "https://")):
            yield part
        if not isinstance(part, dict):
            continue
        image = part.get("image_url", part.get("image", part))
        image = image if isinstance(image, dict) else {"url": image}
        address, encoded = image.get("url"), image.get("b64_json") or image.get("data")
        if isinstance(address, str) and address:
            yield address
        elif isinstance(encoded, str) and encoded:
            yield f"data:image/png;base64,{encoded}"


def _join_texts(parts: object) -> str:
    entries = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return " ".join(part["text"] for part in entries if isinstance(part.get("text"), str))


@dataclass(frozen=True)
class ImageModelSpec:
    """Capabilities of an image model, read from a data file so that new models can be added easily."""

    begins: str  # prefix of the names of such models
    sides: tuple[int, ...] = ()  # allowed lengths in pixels of a square image; empty if there is no list
    step: int = 1  # lengths must be multiples of it
    asks_for_data: bool = True  # whether the image must be requested as data, because the model would send a URL
    edits: bool = True  # whether it accepts an image beside the prompt

    def size(self, requested: int) -> str:
        """Return the supported size closest to the requested one, in request format."""
        if self.sides:
            side = min(self.sides, key=lambda side: (abs(side - requested), side))
        else:
            side = max(self.step, round(requested / self.step) * self.step)
        return f"{side}x{side}"


def image_model_spec(model: str) -> ImageModelSpec:
    """Return the capabilities of a model, ignoring a gateway's vendor prefix as in `openai/gpt-image-1`."""
    name = model.rpartition("/")[2]
    return next((spec for spec in _image_model_specs() if name.startswith(spec.begins)), ImageModelSpec(""))


@cache
def _image_model_specs() -> tuple[ImageModelSpec, ...]:
    text = (files("formalimg.models.providers") / "openai_image_models.toml").read_text(encoding="utf-8")
    return tuple(
        ImageModelSpec(**{**entry, "sides": tuple(entry.get("sides", ()))}) for entry in tomllib.loads(text)["models"]
    )
