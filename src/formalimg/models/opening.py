"""From a name such as `builtin/oracle` to a model: providers are found by entry points, ours like anyone else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.chat import ChatModel
from formalimg.models.image import ImageModel
from formalimg.models.needs import require_modules

IMAGE_MODELS = "formalimg.image_models"
"""The entry-point group of image models. An entry's name is the provider's; it loads to an `OpenImageModel`."""

CHAT_MODELS = "formalimg.chat_models"
"""The entry-point group of chat models. An entry's name is the provider's; it loads to an `OpenChatModel`."""

OpenImageModel: TypeAlias = Callable[[str, Mapping[str, str]], ImageModel]
"""What a provider of image models offers: from the rest of the name and the options to a model."""

OpenChatModel: TypeAlias = Callable[[str, Mapping[str, str]], ChatModel]
"""What a provider of chat models offers: from the rest of the name and the options to a model."""

Model = TypeVar("Model")


def open_image_model(name: str, options: Mapping[str, str] | None = None) -> ImageModel:
    """The image model of this name, `provider/model`.

    Args:
        name: as users write it, such as `builtin/oracle` or `folder/path/to/images`.
        options: settings of the model, as the provider understands them.

    Raises:
        FormalimgError: if there is no such provider or model, something it needs is missing, or an option is wrong.
    """
    provider, model = _split(name, "builtin/reader")
    known = image_model_providers()
    if provider not in known and provider in chat_model_providers():
        raise FormalimgError(f"{provider}/… makes no images: its models answer questions, as judges or planners")
    opening: OpenImageModel = _loaded(provider, model, known)
    return opening(model, options or {})


def open_chat_model(name: str, options: Mapping[str, str] | None = None) -> ChatModel:
    """The chat model of this name, `provider/model`.

    Args:
        name: as users write it, such as `openai/gpt-4o` or `openai/Qwen/Qwen3-VL-8B-Instruct`.
        options: settings of the model, as the provider understands them.

    Raises:
        FormalimgError: if there is no such provider or model, something it needs is missing, or an option is wrong.
    """
    provider, model = _split(name, "openai/gpt-4o")
    known = chat_model_providers()
    if provider not in known and provider in image_model_providers():
        raise FormalimgError(f"{provider}/… answers no questions: its models make images")
    opening: OpenChatModel = _loaded(provider, model, known)
    return opening(model, options or {})


def image_model_providers() -> dict[str, EntryPoint]:
    """All providers of image models that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=IMAGE_MODELS)}


def chat_model_providers() -> dict[str, EntryPoint]:
    """All providers of chat models that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=CHAT_MODELS)}


def _split(name: str, example: str) -> tuple[str, str]:
    provider, slash, model = name.partition("/")
    if not slash or not model:
        raise FormalimgError(f"cannot read the model {name!r}: write provider/model, as in {example}")
    return provider, model


def _loaded(provider: str, model: str, known: Mapping[str, EntryPoint]) -> Callable[[str, Mapping[str, str]], Model]:
    if provider not in known:
        near = get_close_matches(provider, known, 1)
        advice = f"did you mean {near[0]}/{model}?" if near else f"known are {', '.join(sorted(known))}"
        raise FormalimgError(f"unknown provider {provider!r}: {advice}")
    try:
        opening: Callable[[str, Mapping[str, str]], Model] = known[provider].load()
    except (ImportError, AttributeError) as error:
        raise FormalimgError(
            f"the provider {provider!r} cannot be loaded from {known[provider].value} ({error}): install it again"
        ) from error
    require_modules(provider, opening)
    return opening
