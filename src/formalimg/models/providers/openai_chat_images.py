"""Images from chat completions: models that draw behind gateways without an interface for images."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg._util.text import truncate
from formalimg.models.base import CallError, ImageRequest
from formalimg.models.chat import Attachment, Message
from formalimg.models.image_provider import ImageCompletion
from formalimg.models.providers.http import download, plain_fields, read_usage
from formalimg.models.providers.openai_client import OpenAIClient, encode_message
from formalimg.models.spending import note_usage
from formalimg.types import Setting

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_IN_TEXT = re.compile(
    r"!\[[^\]]*\]\(\s*<?((?:data:image/|https?://)[^)\s>]+)>?[^)]*\)|(data:image/[\w.+-]+;base64,[\w+/=]+)"
)
"""An image in Markdown, or a data address by itself."""


class OpenAIChatImages:
    """Chat completions that answer with images: one call per `complete`, without a size, which chats do not take.

    Attributes:
        name, settings, takes_images: as for every image provider.
    """

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
        """Create a provider."""
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

        def send(client: AsyncOpenAI) -> Awaitable[Any]:
            return client.chat.completions.with_raw_response.create(model=self._model, messages=[], extra_body=fields)

        answer, request_id = await self._server.call(send)
        usage = note_usage(read_usage(answer.get("usage"), ["prompt_tokens"], ["completion_tokens"], images=1))
        found = list(_addresses(answer))
        data = await received_image(None, found[0], self._timeout)
        served = plain_fields(answer, "model", "id", "created", "system_fingerprint")
        served |= {**seed, **({"images": len(found)} if len(found) > 1 else {})}
        if request_id:
            served["request_id"] = request_id
        return ImageCompletion(data, served, usage)


async def received_image(encoded: object, url: object, timeout: float) -> bytes:
    """Return the file of an image that came as base64, as a data address or as an address of the web."""
    if isinstance(url, str) and url.startswith("data:"):
        encoded = url.partition(",")[2]
    if isinstance(encoded, str) and encoded:
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            raise CallError("wrong", "the image in the answer is no base64") from None
    elif isinstance(url, str) and url:
        data = await download(url, timeout)
    else:
        raise CallError("wrong", "there is neither an image nor its address in the answer")
    if image_type(data) is None:
        raise CallError("wrong", f"what came is no PNG, JPEG or WebP file ({len(data):,} bytes)")
    return data


def _addresses(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of the images of an answer, most of them data addresses."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise CallError("wrong", "there is no message in the answer")
    content, images, refusal = message.get("content"), message.get("images"), message.get("refusal")
    found = [*_in_parts(images), *_in_parts(content)]
    words = content if isinstance(content, str) else " ".join(_texts(content))
    found += [markdown or plain for markdown, plain in _IN_TEXT.findall(words)]
    if found:
        yield from dict.fromkeys(found)
        return
    if isinstance(refusal, str) and refusal:
        raise CallError("refused", truncate(" ".join(refusal.split()), 200, 0))
    if first.get("finish_reason") in ("content_filter", "safety"):
        raise CallError("refused", "the server's filter stopped the answer")
    if words.strip():
        raise CallError("refused", f"words instead of an image: {truncate(' '.join(words.split()), 200, 0)}")
    raise CallError("wrong", "there is no image in the answer")


def _in_parts(parts: object) -> Iterator[str]:
    """Yield the addresses in a list of parts, as gateways write them: under `image_url`, `url` or as base64."""
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, str):
            yield from (part for _ in range(part.startswith(("data:image/", "http://", "https://"))))
            continue
        if not isinstance(part, dict):
            continue
        held = part.get("image_url", part.get("image", part))
        held = held if isinstance(held, dict) else {"url": held}
        address, encoded = held.get("url"), held.get("b64_json") or held.get("data")
        if isinstance(address, str) and address:
            yield address
        elif isinstance(encoded, str) and encoded:
            yield f"data:image/png;base64,{encoded}"


def _texts(parts: object) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]
