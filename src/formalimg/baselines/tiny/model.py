"""The tiny baseline as a model: prompt and seed to layout, layout to image. It needs numpy and its weights."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formalimg.baselines.tiny.networks import (
    GRID,
    IMAGE_SIZE,
    PATCH,
    SLOTS,
    Floats,
    PainterNetwork,
    PlannerNetwork,
    Weights,
)
from formalimg.baselines.tiny.tokenizer import Tokenizer
from formalimg.errors import FormalimgError
from formalimg.scenes import CANVAS, Box, Scene, SceneObject

if TYPE_CHECKING:
    from PIL.Image import Image

PLAN_STEPS, PAINT_STEPS = 32, 4
"""Steps from noise to a layout, and from noise to an image: a layout takes many, because objects move together."""

WORD_SCALE = 2.0
"""How far the states of different classes and colours lie apart, where noise has variance 1."""

_MIN_SIDE = 0.02
"""Boxes are at least so wide and high, where the image is 1 wide."""


class TinyModel:
    """A learned text-to-image model. The same prompt and seed give the same image."""

    def __init__(self, weights: dict[str, Floats], words: list[str], classes: list[str], colors: list[str]) -> None:
        self.tokenizer = Tokenizer(words)
        self.classes, self.colors = tuple(classes), tuple(colors)
        self.planner = PlannerNetwork(Weights(weights, "planner."))
        self.painter = PainterNetwork(Weights(weights, "painter."))

    def plan(self, prompt: str, seed: int) -> Scene:
        """Return the layout that the planner makes of a prompt; it may be empty."""
        tokens = self.tokenizer.encode(prompt)
        if not len(tokens):
            return Scene(())
        rng = np.random.default_rng([seed % 2**32, 1])
        return self.decode(self._plan(tokens, rng))

    def _plan(self, tokens: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        text = self.planner.encode(tokens)
        state = rng.standard_normal((SLOTS, 4 + len(self.classes) + 1 + len(self.colors)), dtype=np.float32)
        for step in range(PLAN_STEPS):
            time = step / PLAN_STEPS
            goal = self.expected_state(self.planner.predict(state, time, text))
            state = state + (goal - state) * np.float32(1 / (PLAN_STEPS - step))
        return state

    def expected_state(self, predicted: Floats) -> Floats:
        """Return boxes as they are predicted, and classes and colours as their probabilities."""
        nouns = 4 + len(self.classes) + 1
        words = [_softmax(predicted[:, 4:nouns]), _softmax(predicted[:, nouns:])]
        return np.concatenate([predicted[:, :4], *(np.float32(WORD_SCALE) * word for word in words)], axis=1)

    def decode(self, state: Floats) -> Scene:
        """Return the scene of a finished layout: slots whose class is none are left out."""
        nouns = 4 + len(self.classes) + 1
        objects = []
        for slot in state:
            label = int(slot[4:nouns].argmax())
            if label == len(self.classes):
                continue
            box = Box(*(int(edge) for edge in np.round(fit_box(slot[:4]) * CANVAS)))
            objects.append(SceneObject(self.classes[label], box, self.colors[int(slot[nouns:].argmax())]))
        return Scene.of(objects)

    def paint(self, scene: Scene, seed: int) -> Image:
        """Return the image that the painter makes of a layout, `IMAGE_SIZE` pixels wide."""
        from PIL import Image

        edges = [[edge / CANVAS for edge in obj.box] for obj in scene.objects]
        boxes: Floats = np.array(edges, dtype=np.float32).reshape(-1, 4)
        labels = np.array([self.classes.index(obj.label) for obj in scene.objects], dtype=np.int64)
        colors = np.array([self.colors.index(obj.color or "") for obj in scene.objects], dtype=np.int64)
        places = self.painter.place(boxes, labels, colors)
        rng = np.random.default_rng([seed % 2**32, 2])
        patches = rng.standard_normal((GRID * GRID, PATCH * PATCH * 3), dtype=np.float32)
        for step in range(PAINT_STEPS):
            goal = self.painter.predict(patches, step / PAINT_STEPS, places)
            patches = patches + (goal - patches) * np.float32(1 / (PAINT_STEPS - step))
        pixels = (
            patches.reshape(GRID, GRID, PATCH, PATCH, 3).transpose(0, 2, 1, 3, 4).reshape(IMAGE_SIZE, IMAGE_SIZE, 3)
        )
        return Image.fromarray(np.clip(np.round((pixels + 1) * 127.5), 0, 255).astype(np.uint8))


def fit_box(edges: Floats) -> Floats:
    """Return left, top, right, bottom inside the image, which is 1 wide, from those of a layout, which is 2 wide."""
    low, high = np.sort((edges.reshape(2, 2) + 1) / 2, axis=0)
    low = np.clip(low, 0, 1 - _MIN_SIDE)
    return np.concatenate([low, np.clip(np.maximum(high, low + _MIN_SIDE), 0, 1)]).astype(np.float32)


def enlarge(image: Image, size: int) -> Image:
    """Return the image in another size, with its pixels as squares: smoothed edges are harder to read."""
    from PIL import Image

    return image if image.width == size else image.resize((size, size), Image.Resampling.NEAREST)


@lru_cache
def load_tiny(path: Path) -> TinyModel:
    """Load the model from a file of weights that `training/train.py` wrote.

    Raises:
        FormalimgError: if there is no such file, or it holds something else.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            words, classes, colors = ([str(word) for word in file[name]] for name in ("words", "classes", "colors"))
            names = [name for name in file.files if name.startswith(("planner.", "painter."))]
            weights = {name: file[name].astype(np.float32) for name in names}
    except FileNotFoundError:
        raise FormalimgError(f"there are no weights at {path}: train them with `make train-tiny`") from None
    except (OSError, ValueError, KeyError) as error:
        raise FormalimgError(f"{path} does not hold the weights of builtin/tiny: {error}") from error
    return TinyModel(weights, words, classes, colors)


def _softmax(x: Floats) -> Floats:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
