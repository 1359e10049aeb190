"""What happens to images on their way: they are packed, scaled, blurred, and caught with noise."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageFilter

Condition: TypeAlias = Callable[[Image.Image, int], Image.Image]
"""An image and a seed in, the image as it arrives out."""


def _clean(image: Image.Image, seed: int) -> Image.Image:
    return image


def _jpeg(image: Image.Image, seed: int) -> Image.Image:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=60)
    with Image.open(file) as packed:
        return packed.convert("RGB")


def _small(image: Image.Image, seed: int) -> Image.Image:
    return image.resize((512, 512), Image.Resampling.LANCZOS)


def _blurred(image: Image.Image, seed: int) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(1.2))


def _noisy(image: Image.Image, seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).standard_normal((image.height, image.width, 3), np.float32)
    return Image.fromarray(np.clip(np.asarray(image) + 6 * noise + 0.5, 0, 255).astype(np.uint8))


CONDITIONS: Mapping[str, Condition] = {
    "clean": _clean,
    "JPEG 60": _jpeg,
    "512 pixels": _small,
    "blur 1.2": _blurred,
    "noise 6": _noisy,
}
"""The conditions a grounder is certified under, by name; images are of 1024 pixels unless it says otherwise."""
