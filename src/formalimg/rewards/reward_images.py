"""Image inputs for rewards: files, PIL images, arrays, tensors, and scenes used as images."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

from formalimg._util.image_input import AnyImage, NoImageError, image_file_bytes
from formalimg.judges.base import LoadedImage
from formalimg.runs.inspection import inspect
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored

ImageLike: TypeAlias = AnyImage
"""An image: bytes, a path, a PIL image, an array or a tensor, or a function that reads one when it is needed. Or the
objects in it, so that no grounder is needed: a `Scene`, a `StyledScene`, or a scene in the published grounding format,
possibly with its `"style"`."""

_MAX_DEPTH = 4
"""Nesting depth of numbers in a scene: in an object, in the list, in an object, in a box."""


class StyledScene(NamedTuple):
    """A scene and the style of its image, as required by `(IsStyle '…')`."""

    scene: Scene
    style: str | None = None


def load_scene(image: ImageLike) -> StyledScene | Unscored | None:
    """Return the scene passed instead of an image, or None if the input is an image."""
    if isinstance(image, StyledScene):
        return image
    if isinstance(image, Scene):
        return StyledScene(image)
    if not isinstance(image, Mapping):
        return None
    style = image.get("style")
    if style is not None and not isinstance(style, str):
        return Unscored("not understood", "the style of a scene must be a word or null")
    try:
        try:
            scene = Scene.from_json(image)
        except SceneError:  # detectors return boxes as arrays, and most scenes hold none
            scene = Scene.from_json(_to_plain_numbers(image))
    except SceneError as error:  # the grounder of this image got it wrong
        return Unscored("not understood", f"no scene that can be read: {error}")
    return StyledScene(scene, style or None)  # an empty text is no style


def _to_plain_numbers(data: Any, depth: int = _MAX_DEPTH) -> Any:
    """Convert NumPy and torch numbers and arrays in plain data to Python numbers and lists."""
    if depth and isinstance(data, Mapping):
        return {key: _to_plain_numbers(value, depth - 1) for key, value in data.items()}
    if depth and isinstance(data, list | tuple):
        return [_to_plain_numbers(value, depth - 1) for value in data]
    return data.tolist() if callable(getattr(data, "tolist", None)) else data


def load_image(image: ImageLike) -> LoadedImage | Unscored:
    """Decode an image, or return the reason why this fails."""
    if image is None:
        return Unscored("no image", "None was given in place of an image")
    try:
        data = image_file_bytes(image() if isinstance(image, FunctionType | partial) else image)
    except NoImageError as error:
        return Unscored("unreadable image", str(error))
    except (OSError, ValueError) as error:  # also for characters that paths cannot have
        return Unscored("unreadable image", f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}")
    return inspect(data)
