"""Images from Gemini models that draw, such as gemini-2.5-flash-image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from formalimg._util.images import image_type
from formalimg.models.calls import CallError
from formalimg.models.gemini.endings import how_ended, parts, served, usage, why_declined, words
from formalimg.models.gemini.session import GeminiSession, needs_of_gemini, open_session
from formalimg.models.http_answers import one_line
from formalimg.models.identity import Setting
from formalimg.models.image import ImageModel, ImageRequest
from formalimg.models.options import Options
from formalimg.models.painting import Painted
from formalimg.models.remote import remote
from formalimg.models.retry import image_retry_policy
from formalimg.models.server_options import with_base_url

if TYPE_CHECKING:
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse

_MODALITIES = {"image": ["IMAGE"], "text+image": ["TEXT", "IMAGE"]}


class GeminiImages:
    """One call to a Gemini model that draws.

    Attributes:
        name: `gemini/` and the model.
        settings: what shapes its images besides the request.
        takes_images: they all take reference images.
    """

    takes_images = True

    def __init__(self, session: GeminiSession, settings: Mapping[str, Setting]) -> None:
        self.name = f"gemini/{session.model}"
        self.settings = dict(settings)
        self._session = session

    async def paint(self, request: ImageRequest) -> Painted:
        """Make one image."""
        response = await self._session.generate(_contents(request), self._config(request))
        if reason := why_declined(response):
            raise CallError("refused", one_line(reason))
        images = [blob for part in parts(response) if (blob := part.inline_data) and blob.data]
        if not images:
            raise _without_image(response)
        first = images[0]
        if image_type(first.data or b"") is None:
            raise CallError("wrong", f"what came is no PNG, JPEG or WebP file, but {first.mime_type}")
        told = served(response, mime_type=first.mime_type, seed=request.seed if self.settings["seeded"] else None)
        return Painted(first.data or b"", told, usage(response, images=len(images)))

    def _config(self, request: ImageRequest) -> GenerateContentConfig:
        from google.genai.types import AutomaticFunctionCallingConfig, GenerateContentConfig, ImageConfig

        told: dict[str, Any] = self.settings
        ratio, size = told.get("aspect_ratio"), told.get("image_size")
        return GenerateContentConfig(
            response_modalities=_MODALITIES[str(told["modalities"])],
            image_config=ImageConfig(aspect_ratio=ratio, image_size=size) if ratio or size else None,
            temperature=told.get("temperature"),
            seed=request.seed if told["seeded"] else None,
            automatic_continuation=False,
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        )


@needs_of_gemini
def open_gemini_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """A Gemini model that draws, by its id.

    Args:
        model: the id, such as `gemini-2.5-flash-image`.
        options: `aspect_ratio` (`1:1`; `none` leaves it to the model), `image_size` (`1K`, `2K`, `4K`),
            `modalities` (`image`, `text+image`), `temperature`, `seeded` (`off` keeps the seed back), `base_url`,
            `api_version`, and those of all remote models.

    Raises:
        FormalimgError: if the library or the key is missing, or an option is wrong.
    """
    given = Options(f"gemini/{model}", with_base_url(options, "GOOGLE_GEMINI_BASE_URL"))
    # The first models that drew refuse to draw without talking.
    usual_modalities = "text+image" if model.startswith("gemini-2.0") else "image"
    chosen: dict[str, Setting] = {
        "aspect_ratio": given.text("aspect_ratio", "1:1"),
        "image_size": given.text("image_size", None),
        "modalities": given.choice("modalities", tuple(_MODALITIES), usual_modalities),
        "temperature": given.number("temperature", None, least=0, most=2),
        "seeded": given.flag("seeded", True),
    }
    retry_policy = image_retry_policy(given)
    session = open_session(model, given, retry_policy.timeout)
    given.done()
    return remote(GeminiImages(session, _set({**chosen, **session.address})), retry_policy=retry_policy)


def _set(chosen: Mapping[str, Setting]) -> dict[str, Setting]:
    return {name: value for name, value in chosen.items() if value not in (None, "none")}


def _contents(request: ImageRequest) -> list[Content]:
    from google.genai.types import Content, Part

    spoken = [Part.from_text(text=request.prompt)]
    if request.reference is not None:
        spoken.append(Part.from_bytes(data=request.reference, mime_type="image/png"))
    return [Content(role="user", parts=spoken)]


def _without_image(response: GenerateContentResponse) -> CallError:
    """No image, and nobody says that it was declined.

    A model that came to its own end and spoke has decided to answer in words: these are its refusal. Nothing at all,
    or an end that was not its own, is an accident, which may pass.
    """
    spoken, ended = words(response).strip(), how_ended(response)
    if ended == "STOP" and spoken:
        return CallError("refused", one_line(f"words instead of an image: {spoken}"))
    return CallError("wrong", one_line(f"no image in the answer, which ended with {ended or 'nothing'}: {spoken}"))
