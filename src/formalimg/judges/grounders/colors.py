"""Object colours, named from pixels or by a CLIP model.

By pixels, it is the nearest tone in CIE Lab (`pixel_colors.toml`); by CLIP, the colour whose descriptions are nearest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint, silence_libraries
from formalimg.models.options import Options
from formalimg.models.registry import require_modules, requires
from formalimg.scenes.objects import CANVAS, Box
from formalimg.types import Setting

if TYPE_CHECKING:
    from PIL.Image import Image


Numbers = NDArray[np.float64]

_SIDE = 40  # Boxes are sampled with at most so many pixels across and down
_RING = 0.1  # The surroundings of an object are a ring of this share of its width and height
_MIN_DIFFERENCE = 14.0
"""Pixels that differ less from the surroundings (in CIE Lab) most likely do not belong to the object."""
_MIN_SHARE = 0.06  # If less than this share of the weight differs from the surroundings, the object has their colour
_SPREAD = 0.3  # The standard deviation of the weights of pixels, a Gaussian around the centre; the box is 1 wide
DEFAULT_CLIP = "openai/clip-vit-large-patch14"  # The weights that published rules for boxes use
TEMPLATES = ("a picture of a {color} {label}", "the {label} is {color}", "something {color}")
"""The descriptions of a colour; their mean is compared with the crop."""
_TEMPLATES_VERSION = 1  # Raised with every change of the templates or of the crop


# --- pixels


class PixelColor(NamedTuple):
    """The name of an object's colour, with the weighted share of pixels that have it."""

    name: str
    share: float


def color_in(image: Image, box: Box) -> PixelColor:
    """Return the most frequent colour in a box, with pixels weighted towards the centre."""
    names, tones, name_of_tone = _read_tones()
    pixels = lab(np.asarray(_crop_box(image, box)))
    around = np.median(_find_surroundings(image, box), axis=0)
    height, width, _ = pixels.shape
    weights = np.outer(_gaussian_weights(height), _gaussian_weights(width))
    differs = np.linalg.norm(pixels - around, axis=2) > _MIN_DIFFERENCE
    if weights[differs].sum() >= _MIN_SHARE * weights.sum():
        weights = weights * differs
    nearest = name_of_tone[np.linalg.norm(pixels[..., None, :] - tones, axis=-1).argmin(axis=-1)]
    shares = np.bincount(nearest.ravel(), weights.ravel(), minlength=len(names)) / weights.sum()
    best = int(shares.argmax())
    return PixelColor(names[best], round(float(shares[best]), 3))


def lab(rgb: NDArray[Any]) -> Numbers:
    """Convert sRGB values (0 to 255) to CIE Lab under D65; channels are on the last axis."""
    coded = np.asarray(rgb, dtype=np.float64) / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    )
    relative = linear @ to_xyz.T / np.array([0.95047, 1.0, 1.08883])
    small = (6 / 29) ** 3
    bent = np.where(relative > small, np.cbrt(relative), relative * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = bent[..., 0], bent[..., 1], bent[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def colors_version() -> int:
    """Return the version of the colour table."""
    return int(_read_table()["version"])


@cache
def _read_tones() -> tuple[tuple[str, ...], Numbers, NDArray[np.intp]]:
    """Return the colour names, the reference tones in CIE Lab, and the colour index of each tone."""
    more: Mapping[str, list[str]] = _read_table("pixel_color_words.toml")["more_words"]
    renamed = {tone for tones in more.values() for tone in tones}
    by_name: dict[str, list[str]] = {
        name: [tone for tone in tones if tone not in renamed] for name, tones in _read_table()["tones"].items()
    } | dict(more)
    rgb = [[int(tone[start : start + 2], 16) for start in (1, 3, 5)] for tones in by_name.values() for tone in tones]
    name_of_tone = [number for number, tones in enumerate(by_name.values()) for _ in tones]
    return tuple(by_name), lab(np.array(rgb)), np.array(name_of_tone)


@cache
def _read_table(name: str = "pixel_colors.toml") -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.grounders") / name).read_text(encoding="utf-8"))


def _crop_box(image: Image, box: Box) -> Image:
    from PIL.Image import Resampling

    crop = image.crop(_find_touched_pixels(image, box))
    # Pixels are skipped rather than blended: outlines on a white object would make it gray.
    return crop.resize((min(crop.width, _SIDE), min(crop.height, _SIDE)), Resampling.NEAREST)


def _find_surroundings(image: Image, box: Box) -> Numbers:
    """Return the pixels just outside the box, or its border pixels if the box fills the image."""
    width, height = (box.xmax - box.xmin) * _RING, (box.ymax - box.ymin) * _RING
    grown = Box(
        max(box.xmin - width, 0),
        max(box.ymin - height, 0),
        min(box.xmax + width, CANVAS),
        min(box.ymax + height, CANVAS),
    )
    outer, inner = _find_touched_pixels(image, grown), _find_touched_pixels(image, box)
    pixels = np.asarray(image.crop(outer))
    ring = np.ones(pixels.shape[:2], dtype=bool)
    ring[inner[1] - outer[1] : inner[3] - outer[1], inner[0] - outer[0] : inner[2] - outer[0]] = False
    if not ring.any():
        ring[...] = True
        ring[1:-1, 1:-1] = False
    return lab(pixels[ring])


def _find_touched_pixels(image: Image, box: Box) -> tuple[int, int, int, int]:
    """Return the pixel bounds of a box, rounded outwards to at least one pixel."""
    across, down = image.width / CANVAS, image.height / CANVAS
    left, top = min(int(box.xmin * across), image.width - 1), min(int(box.ymin * down), image.height - 1)
    right, bottom = int(np.ceil(box.xmax * across)), int(np.ceil(box.ymax * down))
    return left, top, max(min(right, image.width), left + 1), max(min(bottom, image.height), top + 1)


def _gaussian_weights(length: int) -> Numbers:
    offsets = (np.arange(length) + 0.5) / length - 0.5
    weights: Numbers = np.exp(-0.5 * (offsets / _SPREAD) ** 2)
    return weights


# --- CLIP


class ClipColors:
    """A lazily loaded CLIP model that names object colours. Thread-safe."""

    def __init__(self, checkpoint: Checkpoint, colors: Sequence[str]) -> None:
        self._checkpoint = checkpoint
        self._colors = tuple(colors)
        self._lock = Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._described: dict[str, Any] = {}

    @property
    def settings(self) -> Mapping[str, Setting]:
        weights = {f"clip_{name}": value for name, value in self._checkpoint.settings.items()}
        return {"clip": self._checkpoint.model, **weights, "clip_templates": _TEMPLATES_VERSION}

    def name_colors(self, image: Image, boxes: Sequence[Box], label: str) -> list[str]:
        """Return the name of the colour of each object."""
        if not boxes:
            return []
        import torch

        across, down = image.width / CANVAS, image.height / CANVAS
        crops = [image.crop(_round_to_pixels(box, across, down)) for box in boxes]
        with self._lock, torch.inference_mode():
            model, processor = self._load()
            is_new = label not in self._described
            templates = [text.format(color=color, label=label) for color in self._colors for text in TEMPLATES]
            texts = templates if is_new else [""]
            inputs = processor(text=texts, images=crops, return_tensors="pt", padding=True).to(model.device)
            inputs["pixel_values"] = inputs["pixel_values"].to(model.dtype)
            outputs = model(**inputs)
            if is_new:
                # Both are unit vectors; so is the mean after division by its length.
                means = outputs.text_embeds.reshape(len(self._colors), len(TEMPLATES), -1).mean(dim=1)
                self._described[label] = means / means.norm(dim=1, keepdim=True)
            nearest = (outputs.image_embeds @ self._described[label].T).argmax(dim=1)
        return [self._colors[int(number)] for number in nearest]

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            from transformers import AutoProcessor, CLIPModel

            silence_libraries("transformers")
            with self._checkpoint.being_loaded(f"clip={self._checkpoint.model}"):
                source, loading = self._checkpoint.source, self._checkpoint.loading()
                processor = AutoProcessor.from_pretrained(source, **loading)
                model = CLIPModel.from_pretrained(source, **loading, dtype=self._checkpoint.torch_dtype())
            self._loaded = model.to(self._checkpoint.device).eval(), processor
        return self._loaded


@requires(modules=("torch", "transformers"), install=INSTALL_LOCAL)
def open_clip_colors(model: str, colors: Sequence[str]) -> ClipColors:
    """Open a CLIP model for naming colours, from a folder or the Hugging Face Hub."""
    require_modules("clip", open_clip_colors)
    return ClipColors(read_checkpoint(model, Options("clip", {}), "float32"), colors)


def _round_to_pixels(box: Box, across: float, down: float) -> tuple[int, int, int, int]:
    left, top = int(box.xmin * across), int(box.ymin * down)
    return left, top, max(round(box.xmax * across), left + 1), max(round(box.ymax * down), top + 1)
