"""Image models behind OpenAI's images interface."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg.models.calls import CallError, Usage
from formalimg.models.fetching import fetched
from formalimg.models.http_answers import count, told
from formalimg.models.identity import Setting
from formalimg.models.image import ImageModel, ImageRequest
from formalimg.models.openai.image_models import Taking, taking
from formalimg.models.openai.server import Server, needs_of_openai, reach
from formalimg.models.options import Options
from formalimg.models.painting import Painted
from formalimg.models.remote import remote
from formalimg.models.retry import image_retry_policy
from formalimg.models.server_options import read_extras, with_base_url

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_SENT_AS_GIVEN = ("quality", "output_format", "background", "moderation", "style", "input_fidelity")
_TOLD = ("model", "created", "size", "quality", "output_format", "background", "seed")


class OpenAIImages:
    """One call to an image model; with a reference image it is an edit.

    Attributes:
        name, settings, takes_images: as for every provider of image models.
    """

    def __init__(
        self,
        model: str,
        server: Server,
        *,
        size: str | None = None,
        seeded: bool = False,
        response_format: str = "auto",
        fields: Mapping[str, object] | None = None,
        settings: Mapping[str, Setting] | None = None,
        timeout: float = 120.0,
    ) -> None:
        """A model on a server.

        Args:
            model: as the server knows it.
            server: where it is.
            size: as it is sent; None for the one closest_match to the request's that the model takes.
            seeded: whether the request's seed is sent; OpenAI's own models know no seeds.
            response_format: `b64_json`, `url`, `none` for not saying so, `auto` for what fits the model.
            fields: what else is sent.
            settings: what is on record of all this.
            timeout: seconds for fetching an image by its address.
        """
        self.name = f"openai/{model}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self._model = model
        self._server = server
        self._size = size
        self._seeded = seeded
        self._fields = dict(fields or {})
        self._timeout = timeout
        self._takes: Taking = taking(model)
        self.takes_images = self._takes.edits
        if response_format == "auto":
            response_format = "b64_json" if self._takes.asks_for_data else "none"
        if response_format != "none":
            self._fields["response_format"] = response_format

    async def paint(self, request: ImageRequest) -> Painted:
        """Make one image."""
        answer, request_id = await self._server.call(lambda client: self._call(client, request))
        entries = answer.get("data")
        first = entries[0] if isinstance(entries, list) and entries else None
        if not isinstance(first, dict):
            raise CallError("wrong", "there is no image in the answer")
        data = await self._image(first)
        if image_type(data) is None:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file ({len(data):,} bytes)")
        served = {"asked_size": self._size or self._takes.size(request.size), **told(answer, *_TOLD)}
        served |= told(first, "revised_prompt", "seed")
        if self._seeded:
            served.setdefault("seed", request.seed)
        if request_id:
            served["request_id"] = request_id
        usage = answer.get("usage")
        return Painted(data, served, Usage(count(usage, "input_tokens"), count(usage, "output_tokens"), 1))

    def _call(self, client: AsyncOpenAI, request: ImageRequest) -> Awaitable[Any]:
        # Most fields go past the library: which of them it knows by name differs between versions and methods.
        fields = {**self._fields, "seed": request.seed} if self._seeded else self._fields
        size = self._size or self._takes.size(request.size)
        images = client.images.with_raw_response
        if request.reference is None:
            return images.generate(model=self._model, prompt=request.prompt, size=size, extra_body=fields)
        image = ("reference.png", request.reference, "image/png")
        return images.edit(model=self._model, prompt=request.prompt, size=size, image=image, extra_body=fields)

    async def _image(self, entry: Mapping[str, object]) -> bytes:
        encoded, address = entry.get("b64_json"), entry.get("url")
        if isinstance(address, str) and address.startswith("data:"):
            encoded = address.partition(",")[2]
        if isinstance(encoded, str) and encoded:
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                raise CallError("wrong", "the image in the answer is no base64") from None
        if isinstance(address, str) and address:
            return await fetched(address, self._timeout)
        raise CallError("wrong", "there is neither an image nor its address in the answer")


@needs_of_openai
def open_openai_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model of OpenAI, or of a server that speaks as OpenAI does.

    Args:
        model: as the server knows it, such as `gpt-image-2`.
        options: `base_url`; `size` (`1536x1024`, `auto`), `quality`, `output_format`, `output_compression`,
            `background`, `moderation`, `style`, `input_fidelity`; `seeded=on` sends each request's seed;
            `response_format`; `extra.NAME` sends any other field; and those of all remote models, such as
            `concurrency`.

    Raises:
        FormalimgError: if an option is wrong, or the library or the key is missing.
    """
    name = f"openai/{model}"
    read = Options(name, with_base_url(options, "OPENAI_BASE_URL"))
    retry_policy = image_retry_policy(read)
    base_url = read.url("base_url", None)
    server = reach(name, base_url, retry_policy.timeout)
    size = read.text("size", None)
    seeded = read.flag("seeded", False)
    response_format = read.choice("response_format", ("auto", "b64_json", "url", "none"), "auto")
    fields: dict[str, object] = {
        field: text for field in _SENT_AS_GIVEN if (text := read.text(field, None)) is not None
    }
    compression = read.whole_number("output_compression", None, least=0, most=100)
    if compression is not None:
        fields["output_compression"] = compression
    extras = read.starting_with("extra.")
    read.done()
    settings: dict[str, Setting] = {field: str(value) for field, value in fields.items()}
    settings |= {f"extra.{field}": text for field, text in extras.items()}
    settings |= {"size": size} if size else {}
    settings |= {"seeded": True} if seeded else {}
    settings |= {"base_url": base_url} if base_url else {}
    provider = OpenAIImages(
        model,
        server,
        size=size,
        seeded=seeded,
        response_format=response_format,
        fields={**fields, **read_extras(name, extras)},
        settings=settings,
        timeout=retry_policy.timeout,
    )
    return remote(provider, retry_policy=retry_policy)
