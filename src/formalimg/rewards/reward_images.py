"""Image inputs of rewards: files, PIL images, arrays, tensors, and scenes in place of images."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from formalimg._util.images import png_bytes
from formalimg.judges.base import LoadedImage
from formalimg.runs.inspection import inspect
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ImageLike: TypeAlias = Any
"""An image: the bytes of a PNG, JPEG or WebP file, the path of one, a function that reads one when it is needed, a PIL
image, a numpy array or a torch tensor (height by width by channels or channels first, uint8 or floats from 0 to 1). Or
the objects in it, so that no grounder is needed: a `Scene`, a `StyledScene`, or a scene in the published grounding
format, possibly with its `"style"`."""

_CHANNELS = (1, 3, 4)
_ROUNDING = 0.5 / 255
"""Tolerance of floats outside of 0 to 1: rounding by the program that made them."""

_MAX_DEPTH = 4
"""Nesting depth of numbers in a scene: in an object, in the list, in an object, in a box."""


class StyledScene(NamedTuple):
    """A scene, and the style of its image, which decides `(IsStyle '…')`."""

    scene: Scene
    style: str | None = None


def load_scene(given: ImageLike) -> StyledScene | Unscored | None:
    """Return the scene if one was given in place of an image; None if an image was given."""
    if isinstance(given, StyledScene):
        return given
    if isinstance(given, Scene):
        return StyledScene(given)
    if not isinstance(given, Mapping):
        return None
    style = given.get("style")
    if style is not None and not isinstance(style, str):
        return Unscored("not understood", "the style of a scene must be a word or null")
    try:
        return StyledScene(_scene(given), style or None)  # an empty text is no style
    except SceneError as error:  # the grounder of this image got it wrong
        return Unscored("not understood", f"no scene that can be read: {error}")


def _scene(given: Mapping[str, object]) -> Scene:
    try:
        return Scene.from_json(given)
    except SceneError:  # detectors return boxes as arrays, and most scenes hold none
        return Scene.from_json(_to_plain_numbers(given))


def _to_plain_numbers(given: Any, depth: int = _MAX_DEPTH) -> Any:
    """Convert numbers and arrays of numpy and torch inside plain data to plain data."""
    if depth and isinstance(given, Mapping):
        return {key: _to_plain_numbers(value, depth - 1) for key, value in given.items()}
    if depth and isinstance(given, list | tuple):
        return [_to_plain_numbers(value, depth - 1) for value in given]
    return given.tolist() if callable(getattr(given, "tolist", None)) else given


def load_image(given: ImageLike) -> LoadedImage | Unscored:
    """Return the decoded image, or why it cannot be decoded."""
    if given is None:
        return Unscored("no image", "None was given in place of an image")
    try:
        data = _file_bytes(given)
    except (OSError, ValueError) as error:  # also for characters that paths cannot have
        return Unscored("unreadable image", f"{type(error).__name__}: {getattr(error, 'strerror', None) or error}")
    return data if isinstance(data, Unscored) else inspect(data)


def _file_bytes(given: ImageLike) -> bytes | Unscored:
    if isinstance(given, FunctionType | partial):
        given = given()
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    if isinstance(given, str | os.PathLike):
        return Path(given).read_bytes()
    if callable(getattr(given, "save", None)) and hasattr(given, "mode"):
        return png_bytes(given)
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        pixels = _pixels(given)
        if isinstance(pixels, Unscored):
            return pixels
        from PIL import Image

        return png_bytes(Image.fromarray(pixels))
    return Unscored("unreadable image", f"an image cannot be a {type(given).__name__}")


def _pixels(given: Any) -> NDArray[np.uint8] | Unscored:
    """Return an array or tensor as pixels, height by width by channels."""
    import numpy as np

    is_tensor = callable(getattr(given, "detach", None))
    if is_tensor:  # of torch, which is not imported for it; numpy knows no bfloat16
        given = given.detach().cpu()
        given = given.float() if given.is_floating_point() else given
    values = np.asarray(given)
    laid_out = _channels_last(values, first=is_tensor)
    if laid_out is None:
        return Unscored(
            "unreadable image", f"an array of the shape {values.shape} is not an image: it needs 1, 3 or 4 channels"
        )
    if values.dtype == np.uint8:
        return np.ascontiguousarray(laid_out)
    if not np.issubdtype(values.dtype, np.floating):
        return Unscored(
            "unreadable image", f"an array of {values.dtype} is not an image: give uint8, or floats from 0 to 1"
        )
    if not np.isfinite(values).all():
        return Unscored("unreadable image", "the array has values that are not finite")
    low, high = float(values.min()), float(values.max())
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        detail = f"floats must be from 0 to 1, and these are from {low:g} to {high:g}: scale them first"
        return Unscored("unreadable image", detail)
    return np.ascontiguousarray(np.round(laid_out.clip(0, 1) * 255).astype(np.uint8))


def _channels_last(values: NDArray[Any], first: bool) -> NDArray[Any] | None:
    """Return the values as height by width by channels; in doubt, tensors have channels first, arrays last."""
    if values.size == 0:
        return None
    if values.ndim == 2:
        return values
    if values.ndim != 3:
        return None
    leading, trailing = values.shape[0] in _CHANNELS, values.shape[2] in _CHANNELS
    if leading and (first or not trailing):
        values = values.transpose(1, 2, 0)
    elif not trailing:
        return None
    return values[:, :, 0] if values.shape[2] == 1 else values
