"""Images in Python formats: bytes, paths, PIL images, arrays and tensors, or lists of these."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from formalimg._util.images import png_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AnyImage: TypeAlias = Any
"""An image: the bytes of a PNG, JPEG or WebP file, the path of one, a PIL image, a numpy array or a torch tensor
(height by width by channels or channels first, uint8 or floats from 0 to 1)."""

_CHANNELS = (1, 3, 4)
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16")
_ROUNDING = 0.5 / 255  # Tolerance of floats outside of 0 to 1: rounding by the program that made them


class NoImageError(ValueError):
    """The object is not an image."""


def list_images(images: AnyImage) -> list[Any]:
    """Return the images in a list, a batched array or tensor, a pipeline output, or a single image."""
    images = getattr(images, "images", images)  # as diffusers and transformers call them
    if isinstance(images, list | tuple):
        return [*images]
    return [*images] if getattr(images, "ndim", None) == 4 else [images]


def image_file_bytes(image: AnyImage) -> bytes:
    """Return an image as encoded file content."""
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        return Path(image).read_bytes()
    if callable(getattr(image, "save", None)):
        return png_bytes(image if getattr(image, "mode", "RGB") in _PNG_MODES else image.convert("RGB"))
    if hasattr(image, "shape") and hasattr(image, "dtype"):
        from PIL import Image

        return png_bytes(Image.fromarray(_pixels(image)))
    raise NoImageError(
        f"an image cannot be of the type {type(image).__name__}: give bytes, a path, a PIL image or an array"
    )


def _pixels(image: Any) -> NDArray[np.uint8]:
    """Convert an array or tensor to pixels of shape height x width x channels."""
    import numpy as np

    is_tensor = callable(getattr(image, "detach", None))
    if is_tensor:  # of torch, which is not imported for it; numpy knows no bfloat16
        image = image.detach().cpu()
        image = image.float() if image.is_floating_point() else image
    values = np.asarray(image)
    laid_out = _channels_last(values, first=is_tensor)
    if laid_out is None:
        raise NoImageError(f"an array of the shape {values.shape} is not an image: it needs 1, 3 or 4 channels")
    if values.dtype == np.uint8:
        return np.ascontiguousarray(laid_out)
    if not np.issubdtype(values.dtype, np.floating):
        raise NoImageError(f"an array of {values.dtype} is not an image: give uint8, or floats from 0 to 1")
    if not np.isfinite(values).all():
        raise NoImageError("the array has values that are not finite")
    low, high = float(values.min()), float(values.max())
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        raise NoImageError(f"floats must be from 0 to 1, and these are from {low:g} to {high:g}: scale them first")
    return np.ascontiguousarray(np.round(laid_out.clip(0, 1) * 255).astype(np.uint8))


def _channels_last(values: NDArray[Any], first: bool) -> NDArray[Any] | None:
    """Return the values with channels last; ambiguous shapes are channels-first for tensors, else channels-last."""
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
