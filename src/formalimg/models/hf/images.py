"""Images from models on Hugging Face, computed by one of its inference providers or by an endpoint of one's own."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from formalimg.models.calls import CallError
from formalimg.models.hf.session import HfSession, needs_of_hf, open_session
from formalimg.models.identity import Setting
from formalimg.models.image import ImageModel, ImageRequest
from formalimg.models.options import Options
from formalimg.models.painting import Painted
from formalimg.models.remote import remote
from formalimg.models.retry import image_retry_policy
from formalimg.models.server_options import read_extras

if TYPE_CHECKING:
    from huggingface_hub import AsyncInferenceClient
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "WEBP")
_SENT = ("negative_prompt", "num_inference_steps", "guidance_scale")


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
        fields: dict[str, Any] = {name: told.get(name) for name in _SENT}
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
