"""Hugging Face chat and image models, by its inference providers and endpoints, through huggingface_hub."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from formalimg.models.base import CallError, ImageRequest, Usage
from formalimg.models.chat import Completion, Message
from formalimg.models.chat_provider import SchemaMode, build_chat_model
from formalimg.models.image_provider import ImageCompletion, build_image_model
from formalimg.models.options import Options, parse_extra_fields, read_temperature, read_token_limit, without_none
from formalimg.models.providers.hf_client import HfClient, open_hf_client, requires_hf
from formalimg.models.providers.http import plain_fields, read_usage
from formalimg.models.providers.limits import MAX_CHAT_BYTES
from formalimg.models.providers.openai_client import encode_message, response_format
from formalimg.models.retry import chat_retry_policy, image_retry_policy
from formalimg.models.spending import note_usage
from formalimg.types import ChatModel, ImageModel, Setting

if TYPE_CHECKING:
    from huggingface_hub import ChatCompletionOutput, InferenceClient
    from PIL.Image import Image

_SCHEMAS = ("json_schema", "json_object", "none")
_ABOUT_SCHEMA = re.compile(
    r"response.?format|json.?schema|json.?object|grammar|structured output|guided", re.IGNORECASE
)
_REFUSED = ("content_filter", "safety")
_CUT_OFF = ("length", "max_tokens", "model_length")
_CHAT_FIELDS = ("temperature", "top_p", "max_tokens", "seed")
_IMAGE_FIELDS = ("negative_prompt", "num_inference_steps", "guidance_scale")
_FORMATS = ("PNG", "JPEG", "WEBP")


class HfChat:
    """Chat completions: one call per `complete`.

    Attributes:
        name: `hf/` and the model.
        settings: what shapes its answers besides the messages.
    """

    def __init__(self, client: HfClient, settings: Mapping[str, Setting], extras: Mapping[str, object]) -> None:
        self.name = f"hf/{client.model}"
        self.settings = dict(settings)
        self._client = client
        self._extras = dict(extras)
        self._schema = SchemaMode(str(settings["schema"]), _ABOUT_SCHEMA)

    @property
    def supports_schema(self) -> bool:
        """Whether the server enforces the schema of an answer."""
        return self._schema.value == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Send one request; a second one, with the schema as text, if the server rejects schemas."""
        completion, rejected = await self._schema.complete(self._send, messages, schema)
        return replace(completion, served={**completion.served, "schema": "none"}) if rejected else completion

    async def _send(self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str) -> Completion:
        fields: dict[str, Any] = {name: self.settings.get(name) for name in _CHAT_FIELDS}
        fields["response_format"] = response_format(mode, schema)
        answer = await self._client.call(
            lambda client: client.chat_completion(
                [encode_message(message) for message in messages],
                model=self._client.model,
                extra_body=self._extras,
                **fields,
            )
        )
        return _parse(answer)


class HfImages:
    """Text to image, or image to image if there is a reference image: one call per `complete`.

    Attributes:
        name: `hf/` and the model.
        settings: what shapes its images besides the request.
        takes_images: whether a model or its provider does is only known when it is called.
    """

    takes_images = True

    def __init__(self, client: HfClient, settings: Mapping[str, Setting], extras: Mapping[str, object]) -> None:
        self.name = f"hf/{client.model}"
        self.settings = dict(settings)
        self._client = client
        self._extras = dict(extras)

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        image = await self._client.call(lambda client: self._send(client, request))
        note_usage(Usage(images=1))
        if image.format not in _FORMATS:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file, but {image.format}")
        served: dict[str, Setting] = {"model": self._client.model, **self._client.address}
        served |= {"width": image.width, "height": image.height}
        if self.settings["seeded"]:
            served["seed"] = request.seed
        return ImageCompletion(_file_bytes(image), served)

    def _send(self, client: InferenceClient, request: ImageRequest) -> Image:
        from huggingface_hub import ImageToImageTargetSize

        settings: dict[str, Any] = self.settings
        fields: dict[str, Any] = {name: settings.get(name) for name in _IMAGE_FIELDS}
        seed = request.seed if settings["seeded"] else None
        sides = ("width", "height")
        width, height = (settings.get(side, request.size) if settings["sized"] else None for side in sides)
        if request.reference is None:
            return client.text_to_image(
                request.prompt, width=width, height=height, seed=seed, extra_body=self._extras, **fields
            )
        size = ImageToImageTargetSize(height=height, width=width) if width and height else None
        return client.image_to_image(
            request.reference, request.prompt, target_size=size, seed=seed, **{**fields, **self._extras}
        )


@requires_hf
def open_hf_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model on Hugging Face."""
    given = Options(f"hf/{model}", options)
    chosen: dict[str, Setting] = {
        "temperature": read_temperature(given, f"hf/{model}", 0.0, maximum=2.0),
        "top_p": given.number("top_p", None, minimum=0, maximum=1),
        "max_tokens": read_token_limit(given, f"hf/{model}", 4096),
        "seed": given.integer("seed", None),
        "schema": given.choice("schema", _SCHEMAS, "json_schema"),
    }
    retry_policy = chat_retry_policy(given)
    extras = given.with_prefix("extra.")
    client = open_hf_client(model, given, retry_policy.timeout, MAX_CHAT_BYTES)
    settings: dict[str, Setting] = without_none({**chosen, **client.address})
    settings |= {f"extra.{name}": text for name, text in extras.items()}
    provider = HfChat(client, settings, parse_extra_fields(f"hf/{model}", extras))
    return build_chat_model(provider, retry_policy=retry_policy)


@requires_hf
def open_hf_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model on Hugging Face."""
    given = Options(f"hf/{model}", options)
    given.accept_old_name("sized", "send_size")
    given.accept_old_name("seeded", "send_seed")
    chosen: dict[str, Setting] = {
        "width": given.integer("width", None, minimum=1),
        "height": given.integer("height", None, minimum=1),
        "num_inference_steps": given.integer("num_inference_steps", None, minimum=1),
        "guidance_scale": given.number("guidance_scale", None),
        "negative_prompt": given.text("negative_prompt", None),
        "sized": given.flag("send_size", True),  # runs are stored under these two names
        "seeded": given.flag("send_seed", True),
    }
    retry_policy = image_retry_policy(given)
    extras = given.with_prefix("extra.")
    client = open_hf_client(model, given, retry_policy.timeout)
    settings: dict[str, Setting] = without_none({**chosen, **client.address})
    settings |= {f"extra.{name}": text for name, text in extras.items()}
    provider = HfImages(client, settings, parse_extra_fields(f"hf/{model}", extras))
    return build_image_model(provider, retry_policy=retry_policy)


def _parse(answer: ChatCompletionOutput) -> Completion:
    choice = answer.choices[0] if isinstance(answer.choices, list) and answer.choices else None
    message = getattr(choice, "message", None)
    text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
    finish_reason = getattr(choice, "finish_reason", None)
    served = plain_fields(vars(answer), "model", "id", "created", "system_fingerprint")
    counts = getattr(answer.usage, "__dict__", None)
    used = note_usage(read_usage(counts, ["prompt_tokens"], ["completion_tokens"]))
    if refusal or finish_reason in _REFUSED:
        return Completion(str(refusal or text or ""), "refusal", used, served)
    if finish_reason in _CUT_OFF:
        return Completion(str(text or ""), "length", used, served)
    if not isinstance(text, str) or not text.strip():
        raise CallError("wrong", "there are no words in the answer", usage=used)
    return Completion(text, "stop", used, served)


def _file_bytes(image: Image) -> bytes:
    """Return the file as received. The library opens it without reading on, so it still lies behind the image."""
    file = getattr(image, "fp", None)
    if isinstance(file, io.BytesIO):
        return file.getvalue()
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
