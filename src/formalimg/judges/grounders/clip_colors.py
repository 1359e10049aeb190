"""Colours by CLIP: the colour whose descriptions are nearest to the crop of an object, out of a list of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from formalimg.models.local.checkpoint import INSTALL_LOCAL, Checkpoint, read_checkpoint, silence_libraries
from formalimg.models.options import Options
from formalimg.models.registry import require_modules, requires
from formalimg.scenes.objects import CANVAS, Box
from formalimg.types import Setting

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_CLIP = "openai/clip-vit-large-patch14"
"""The weights that published rules for boxes use."""

TEMPLATES = ("a picture of a {color} {label}", "the {label} is {color}", "something {color}")
"""The descriptions of a colour; their mean is compared with the crop."""

_VERSION = 1
"""Raised with every change of the templates or of the crop."""


class ClipColors:
    """Names the colours of objects with a CLIP model, which is loaded with the first object. Thread-safe."""

    def __init__(self, checkpoint: Checkpoint, colors: Sequence[str]) -> None:
        """Create a reader of colours."""
        self._checkpoint = checkpoint
        self._colors = tuple(colors)
        self._lock = Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._described: dict[str, Any] = {}

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The model, its weights, and the version of the templates."""
        found = {f"clip_{name}": value for name, value in self._checkpoint.settings.items()}
        return {"clip": self._checkpoint.model, **found, "clip_templates": _VERSION}

    def name_colors(self, image: Image, boxes: Sequence[Box], label: str) -> list[str]:
        """Return the colour of each object."""
        if not boxes:
            return []
        import torch

        across, down = image.width / CANVAS, image.height / CANVAS
        crops = [image.crop(_whole_pixels(box, across, down)) for box in boxes]
        with self._lock, torch.inference_mode():
            model, processor = self._load()
            texts = [""] if label in self._described else self._texts(label)
            inputs = processor(text=texts, images=crops, return_tensors="pt", padding=True).to(model.device)
            inputs["pixel_values"] = inputs["pixel_values"].to(model.dtype)
            outputs = model(**inputs)
            if label not in self._described:
                # Both are unit vectors; so is the mean after division by its length.
                means = outputs.text_embeds.reshape(len(self._colors), len(TEMPLATES), -1).mean(dim=1)
                self._described[label] = means / means.norm(dim=1, keepdim=True)
            nearest = (outputs.image_embeds @ self._described[label].T).argmax(dim=1)
        return [self._colors[int(place)] for place in nearest]

    def _texts(self, label: str) -> list[str]:
        return [each.format(color=color, label=label) for color in self._colors for each in TEMPLATES]

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
    """Open a CLIP model that names colours, from a folder or from the Hugging Face hub."""
    require_modules("clip", open_clip_colors)
    return ClipColors(read_checkpoint(model, Options("clip", {}), "float32"), colors)


def _whole_pixels(box: Box, across: float, down: float) -> tuple[int, int, int, int]:
    left, top = int(box.xmin * across), int(box.ymin * down)
    return left, top, max(round(box.xmax * across), left + 1), max(round(box.ymax * down), top + 1)
