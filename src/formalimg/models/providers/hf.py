"""Hugging Face: images and answers from its inference providers and endpoints, through huggingface_hub."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from formalimg.models.base import CallError, Setting, Usage
from formalimg.models.chat import Attachment, ChatModel, Completion, Message
from formalimg.models.chat_provider import asking, with_format
from formalimg.models.image import ImageModel, ImageRequest
from formalimg.models.image_provider import Painted, remote
from formalimg.models.options import Options, read_extras, read_temperature
from formalimg.models.providers.hf_client import HfSession, needs_of_hf, open_session
from formalimg.models.providers.http import count, told
from formalimg.models.retry import chat_retry_policy, image_retry_policy

if TYPE_CHECKING:
    from huggingface_hub import AsyncInferenceClient, ChatCompletionOutput
    from PIL.Image import Image


_SCHEMAS = ("json_schema", "json_object", "none")
_NO_SCHEMAS = re.compile(r"response.?format|json.?schema|json.?object|grammar|structured output|guided", re.IGNORECASE)
_DECLINED = ("content_filter", "safety")
_CUT_OFF = ("length", "max_tokens", "model_length")
_CHAT_FIELDS = ("temperature", "top_p", "max_tokens", "seed")


class HfChat:
    """One question to a chat model.

    Attributes:
        name: `hf/` and the model.
        settings: what shapes its answers besides the messages.
    """

    def __init__(self, session: HfSession, settings: Mapping[str, Setting], extras: Mapping[str, object]) -> None:
        self.name = f"hf/{session.model}"
        self.settings = dict(settings)
        self._session = session
        self._extras = dict(extras)
        self._form = str(settings["schema"])

    @property
    def holds_to_schema(self) -> bool:
        """Are its answers bound to the schema? If not, they have to be asked for in its form."""
        return self._form == "json_schema"

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        """Ask once; once more, without the schema, if the server turns out to know none."""
        form = "none" if schema is None else self._form
        try:
            return await self._complete(messages, _response_format(form, schema))
        except CallError as error:
            if form == "none" or error.fault != "rejected" or not _NO_SCHEMAS.search(error.reason):
                raise
        self._form = "none"
        plainly = with_format(messages, schema or {}) if form == "json_schema" else messages
        completion = await self._complete(plainly, None)
        return replace(completion, served={**completion.served, "schema": "none"})

    async def _complete(self, messages: Sequence[Message], response_format: Any) -> Completion:
        fields: dict[str, Any] = {name: self.settings.get(name) for name in _CHAT_FIELDS}
        answer = await self._session.call(
            lambda client: client.chat_completion(
                [_written(message) for message in messages],
                model=self._session.model,
                response_format=response_format,
                extra_body=self._extras,
                **fields,
            )
        )
        return _completion(answer)


@needs_of_hf
def open_hf_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model on Hugging Face.

    Args:
        model: its id on the Hub, such as `Qwen/Qwen3-VL-8B-Instruct`.
        options: `provider` (`auto`, `together`, …), `base_url` (an endpoint that is asked instead), `bill_to`;
            `temperature` (0; `default` sends none), `top_p`, `max_tokens` (4096), `seed`; `schema` (`json_schema`,
            `json_object`, `none`); `extra.NAME` sends any other field; and those of all remote chat models.

    Raises:
        FormalimgError: if the library or the key is missing, or an option is wrong.
    """
    given = Options(f"hf/{model}", options)
    chosen: dict[str, Setting] = {
        "temperature": read_temperature(given, f"hf/{model}", 0.0, most=2.0),
        "top_p": given.number("top_p", None, least=0, most=1),
        "max_tokens": given.whole_number("max_tokens", 4096, least=1),
        "seed": given.whole_number("seed", None),
        "schema": given.choice("schema", _SCHEMAS, "json_schema"),
    }
    retry_policy = chat_retry_policy(given)
    session = open_session(model, given, retry_policy.timeout)
    extras = given.starting_with("extra.")
    given.done()
    settings = {name: value for name, value in {**chosen, **session.address}.items() if value is not None}
    settings |= {f"extra.{name}": text for name, text in extras.items()}
    return asking(HfChat(session, settings, read_extras(f"hf/{model}", extras)), retry_policy=retry_policy)


def _response_format(form: str, schema: Mapping[str, object] | None) -> Any:
    if form == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema or {}), "strict": True}}
    return {"type": "json_object"} if form == "json_object" else None


def _written(message: Message) -> dict[str, Any]:
    if len(message.parts) == 1 and isinstance(message.parts[0], str):
        # Not every server takes a list where there is no image.
        return {"role": message.role, "content": message.parts[0]}
    return {"role": message.role, "content": [_part(part) for part in message.parts]}


def _part(part: str | Attachment) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url = f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _completion(answer: ChatCompletionOutput) -> Completion:
    choice = answer.choices[0] if isinstance(answer.choices, list) and answer.choices else None
    message = getattr(choice, "message", None)
    text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
    ended = getattr(choice, "finish_reason", None)
    served = told(vars(answer), "model", "id", "created", "system_fingerprint")
    spent = getattr(answer.usage, "__dict__", None)
    used = Usage(count(spent, "prompt_tokens"), count(spent, "completion_tokens"))
    if refusal or ended in _DECLINED:
        return Completion(str(refusal or text or ""), "refusal", used, served)
    if ended in _CUT_OFF:
        return Completion(str(text or ""), "length", used, served)
    if not isinstance(text, str) or not text.strip():
        raise CallError("wrong", "there are no words in the answer", usage=used)
    return Completion(text, "stop", used, served)


_FORMATS = ("PNG", "JPEG", "WEBP")
_IMAGE_FIELDS = ("negative_prompt", "num_inference_steps", "guidance_scale")


class HfImages:
    """One call to an image model; with a reference image, one from image to image.

    Attributes:
        name: `hf/` and the model.
        settings: what shapes its images besides the request.
        takes_images: whether a model or its provider does is only known when it is asked.
    """

    takes_images = True

    def __init__(self, session: HfSession, settings: Mapping[str, Setting], extras: Mapping[str, object]) -> None:
        self.name = f"hf/{session.model}"
        self.settings = dict(settings)
        self._session = session
        self._extras = dict(extras)

    async def paint(self, request: ImageRequest) -> Painted:
        """Make one image."""
        image = await self._session.call(lambda client: self._call(client, request))
        if image.format not in _FORMATS:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file, but {image.format}")
        told: dict[str, Setting] = {"model": self._session.model, **self._session.address}
        told |= {"width": image.width, "height": image.height}
        if self.settings["seeded"]:
            told["seed"] = request.seed
        return Painted(_file(image), told)

    def _call(self, client: AsyncInferenceClient, request: ImageRequest) -> Awaitable[Image]:
        from huggingface_hub import ImageToImageTargetSize

        told: dict[str, Any] = self.settings
        fields: dict[str, Any] = {name: told.get(name) for name in _IMAGE_FIELDS}
        seed = request.seed if told["seeded"] else None
        width, height = (told.get(side, request.size) if told["sized"] else None for side in ("width", "height"))
        if request.reference is None:
            return client.text_to_image(
                request.prompt, width=width, height=height, seed=seed, extra_body=self._extras, **fields
            )
        size = ImageToImageTargetSize(height=height, width=width) if width and height else None
        return client.image_to_image(
            request.reference, request.prompt, target_size=size, seed=seed, **{**fields, **self._extras}
        )


@needs_of_hf
def open_hf_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model on Hugging Face.

    Args:
        model: its id on the Hub, such as `black-forest-labs/FLUX.1-dev`.
        options: `provider` (`auto`, `fal-ai`, `replicate`, …), `base_url` (an endpoint that is asked instead),
            `bill_to`; `width`, `height`, `num_inference_steps`, `guidance_scale`, `negative_prompt`; `sized=off` and
            `seeded=off` keep size and seed back from models that do not know them; `extra.NAME` sends any other field;
            and those of all remote models.

    Raises:
        FormalimgError: if the library or the key is missing, or an option is wrong.
    """
    given = Options(f"hf/{model}", options)
    chosen: dict[str, Setting] = {
        "width": given.whole_number("width", None, least=1),
        "height": given.whole_number("height", None, least=1),
        "num_inference_steps": given.whole_number("num_inference_steps", None, least=1),
        "guidance_scale": given.number("guidance_scale", None),
        "negative_prompt": given.text("negative_prompt", None),
        "sized": given.flag("sized", True),
        "seeded": given.flag("seeded", True),
    }
    retry_policy = image_retry_policy(given)
    session = open_session(model, given, retry_policy.timeout)
    extras = given.starting_with("extra.")
    given.done()
    settings = {name: value for name, value in {**chosen, **session.address}.items() if value is not None}
    settings |= {f"extra.{name}": text for name, text in extras.items()}
    return remote(HfImages(session, settings, read_extras(f"hf/{model}", extras)), retry_policy=retry_policy)


def _file(image: Image) -> bytes:
    """The file as it came. The library opens it, but does not read on, so that it still lies behind the image."""
    behind = getattr(image, "fp", None)
    if isinstance(behind, io.BytesIO):
        return behind.getvalue()
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
