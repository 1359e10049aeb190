"""What happens to pictures on their way: they are packed, scaled, blurred, and caught with noise."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from PIL import Image, ImageFilter

Condition: TypeAlias = Callable[[Image.Image, int], Image.Image]
"""A picture and a seed in, the picture as it arrives out."""


def _clean(picture: Image.Image, seed: int) -> Image.Image:
    return picture


def _jpeg(picture: Image.Image, seed: int) -> Image.Image:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=60)
    with Image.open(file) as packed:
        return packed.convert("RGB")


def _small(picture: Image.Image, seed: int) -> Image.Image:
    return picture.resize((512, 512), Image.Resampling.LANCZOS)


def _blurred(picture: Image.Image, seed: int) -> Image.Image:
    return picture.filter(ImageFilter.GaussianBlur(1.2))


def _noisy(picture: Image.Image, seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).standard_normal((picture.height, picture.width, 3), np.float32)
    return Image.fromarray(np.clip(np.asarray(picture) + 6 * noise + 0.5, 0, 255).astype(np.uint8))


CONDITIONS: Mapping[str, Condition] = {
    "clean": _clean,
    "JPEG 60": _jpeg,
    "512 pixels": _small,
    "blur 1.2": _blurred,
    "noise 6": _noisy,
}
"""The conditions a grounder is certified under, by name; pictures are of 1024 pixels unless it says otherwise."""
