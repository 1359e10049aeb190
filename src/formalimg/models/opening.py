"""From a name such as `builtin/oracle` to a model: providers are found by entry points, ours like anyone else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.image import ImageModel

GROUP = "formalimg.image_models"
"""The entry-point group of image models. An entry's name is the provider's; it loads to an `OpenImageModel`."""

OpenImageModel: TypeAlias = Callable[[str, Mapping[str, str]], ImageModel]
"""What a provider offers: from the rest of the name and the options to a model."""


def open_image_model(name: str, options: Mapping[str, str] | None = None) -> ImageModel:
    """The image model of this name, `provider/model`.

    Args:
        name: as users write it, such as `builtin/oracle` or `folder/path/to/pictures`.
        options: settings of the model, as the provider understands them.

    Raises:
        FormalimgError: if there is no such provider or model, or an option is wrong.
    """
    provider, slash, model = name.partition("/")
    known = image_model_providers()
    if not slash or not model:
        raise FormalimgError(f"cannot read the model {name!r}: write provider/model, as in builtin/reader")
    if provider not in known:
        near = get_close_matches(provider, known, 1)
        advice = f"did you mean {near[0]}/{model}?" if near else f"known are {', '.join(sorted(known))}"
        raise FormalimgError(f"unknown provider {provider!r}: {advice}")
    opening: OpenImageModel = known[provider].load()
    return opening(model, options or {})


def image_model_providers() -> dict[str, EntryPoint]:
    """All providers of image models that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}
