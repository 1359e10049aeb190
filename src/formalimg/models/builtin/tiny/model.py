"""The tiny baseline in numpy: prompt and seed to layout, layout to image, and features unseen in training.

`training/model.py` has the same networks in torch, with the same names of weights; a test compares the two.
Combinations that are left out of training are chosen by a hash of their words, so that training and evaluation agree
without a list. Mirror images of training scenes are training scenes too; the choices are therefore the same for left
and right, and for above and below.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formalimg._util.io import refuse_special_file
from formalimg._util.transformer import (
    Floats,
    Integers,
    KeysValues,
    Weights,
    attend,
    encoder_layer,
    feed_forward,
    gelu,
    grid_positions,
    keys_values,
    norm,
    rotary,
    time_features,
)
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Atom, Formula, Value, atoms
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from PIL.Image import Image


PATCH = 8  # the painter sees an image as square patches of so many pixels
GRID = 16  # so many patches make a row of an image, and a column
IMAGE_SIZE = PATCH * GRID
_WAVES = 8  # frequencies with which the painter sees where in an object a patch lies
PADDING, UNKNOWN = 0, 1  # tokens that stand for no word, and for a word that was never seen in training
MAX_TOKENS = 256  # what follows the first so many tokens is not read; no prompt of the default suite is as long
_TOKEN = re.compile(r"[a-z]+|[^\sa-z]")
_STYLE = re.compile(r"[^.]*\bknolling\b[^.]*\.")  # a sentence that names the only style there is


def split_words(prompt: str) -> list[str]:
    """Split a prompt into lower-case words and single other characters, omitting the sentence about style."""
    return _TOKEN.findall(_STYLE.sub("", prompt.lower(), count=1))


class Tokenizer:
    """Maps the words of the training prompts to consecutive token ids, starting from 2."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._numbers = {word: number for number, word in enumerate(self.words, start=2)}

    @classmethod
    def of_prompts(cls, prompts: Iterable[str]) -> Tokenizer:
        """Build a tokenizer from all words in these prompts."""
        return cls(sorted({word for prompt in prompts for word in split_words(prompt)}))

    def __len__(self) -> int:
        return len(self.words) + 2

    def encode(self, prompt: str) -> NDArray[np.int64]:
        """Return the token ids of a prompt, up to `MAX_TOKENS`."""
        numbers = [self._numbers.get(word, UNKNOWN) for word in split_words(prompt)]
        return np.array(numbers[:MAX_TOKENS], dtype=np.int64)

    def number(self, word: str) -> int:
        """Return the token id of a word."""
        return self._numbers.get(word, UNKNOWN)


WEIGHTS = Path(__file__).with_name("weights.npz")  # the weights that come with the package
PLAN_STEPS, PAINT_STEPS = 32, 4
"""Steps from noise to a layout, and from noise to an image: a layout takes many, because objects move together."""
MAX_OBJECTS = 20  # further objects of a prompt are ignored
_MIN_SIDE = 0.02  # boxes are at least so wide and high, where the image is 1 wide


class TinyModel:
    """A learned text-to-image model that is deterministic for a given prompt and seed."""

    def __init__(self, weights: dict[str, Floats], words: list[str], classes: list[str], colors: list[str]) -> None:
        self.tokenizer = Tokenizer(words)
        self.classes, self.colors = tuple(classes), tuple(colors)
        self.planner = PlannerNetwork(Weights(weights, "planner."))
        self.painter = PainterNetwork(Weights(weights, "painter."))

    def plan(self, prompt: str, seed: int) -> Scene:
        """Return the planner's layout for a prompt; it may be empty."""
        tokens = self.tokenizer.encode(prompt)
        if not len(tokens):
            return Scene(())
        features = self.planner.encode(tokens)
        class_scores, color_scores = self.planner.tag(features)
        labels = class_scores.argmax(axis=1)
        anchors = np.flatnonzero(labels < len(self.classes))[:MAX_OBJECTS]
        if not len(anchors):
            return Scene(())
        rng = np.random.default_rng([seed % 2**32, 1])
        # Of a colour that is named the model is sure; of one that is not, any may come.
        gumbel = rng.gumbel(size=(len(anchors), len(self.colors)))
        colors = (color_scores[anchors] + gumbel).argmax(axis=1)
        boxes = fit_boxes(self._sample_boxes(features, anchors, rng))
        return Scene.of(
            SceneObject(self.classes[label], Box(*(int(edge) for edge in np.round(box * CANVAS))), self.colors[color])
            for label, color, box in zip(labels[anchors], colors, boxes, strict=True)
        )

    def _sample_boxes(self, features: Floats, anchors: Integers, rng: np.random.Generator) -> Floats:
        text = self.planner.text_keys(features)
        boxes = rng.standard_normal((len(anchors), 4), dtype=np.float32)
        for step in range(PLAN_STEPS):
            goal = self.planner.predict(boxes, step / PLAN_STEPS, features, anchors, text)
            boxes = boxes + (goal - boxes) * np.float32(1 / (PLAN_STEPS - step))
        return boxes

    def paint(self, scene: Scene, seed: int) -> Image:
        """Return the painter's image of a layout, `IMAGE_SIZE` pixels wide."""
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


def fit_boxes(edges: Floats) -> Floats:
    """Convert layout edges in the range -1 to 1 to sorted image coordinates in the range 0 to 1."""
    low, high = np.moveaxis(np.sort((edges.reshape(-1, 2, 2) + 1) / 2, axis=1), 1, 0)
    low = np.clip(low, 0, 1 - _MIN_SIDE)
    return np.concatenate([low, np.clip(np.maximum(high, low + _MIN_SIDE), 0, 1)], axis=1).astype(np.float32)


def enlarge(image: Image, size: int) -> Image:
    """Enlarge the image by an integer factor to at most `size` pixels, without interpolation.

    No pixel is lost, so that the small image can be recovered.
    """
    from PIL import Image

    side = image.width * max(1, size // image.width)
    return image if side == image.width else image.resize((side, side), Image.Resampling.NEAREST)


def weights_digest(path: Path) -> str:
    """Return a digest that identifies a weights file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@lru_cache
def load_tiny(path: Path = WEIGHTS) -> TinyModel:
    """Load the model from a weights file written by `training/train.py`, by default the bundled one."""
    refuse_special_file(path)
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise ValueError("it is a single array, and no archive of arrays")
        with loaded as file:
            words, classes, colors = ([str(word) for word in file[name]] for name in ("words", "classes", "colors"))
            names = [name for name in file.files if name.startswith(("planner.", "painter."))]
            weights = {name: file[name].astype(np.float32) for name in names}
    except FileNotFoundError:
        raise FormalimgError(f"there are no weights at {path}: train them with `make train-tiny`") from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FormalimgError(f"{path} does not hold the weights of builtin/tiny: {error}") from error
    return TinyModel(weights, words, classes, colors)


Unseen: TypeAlias = Literal["color", "pair", "side", "level"]
"""A class in a new colour; two classes never related before; a class never beside another; more objects than ever."""

MAX_TRAINED_LEVEL = 6  # instructions of higher levels are never seen
_SIDES = frozenset({"LeftOf", "RightOf"})


def is_unseen_color(label: str, color: str) -> bool:
    """Return whether objects of this class and colour, one pair in ten, were excluded from training."""
    return _hash_share("color", label, color) < 0.1


def unseen_in(formula: Formula, level: int) -> frozenset[Unseen]:
    """Return the features of a formula that were excluded from training."""
    parts = list(atoms(formula))
    classes = {atom.variables[0]: _value_of(atom) for atom in parts if atom.predicate == "Is"}
    kinds: set[Unseen] = {"level"} if level > MAX_TRAINED_LEVEL else set()
    for atom in parts:
        labels = [classes.get(name, "") for name in atom.variables]
        kinds.update(_find_unseen(atom, labels))
    return frozenset(kinds)


def _find_unseen(atom: Atom, labels: list[str]) -> Iterable[Unseen]:
    if atom.predicate == "Has" and is_unseen_color(labels[0], _value_of(atom)):
        yield "color"
    if len(labels) == 2:
        if _hash_share("pair", *sorted(labels)) < 0.1:  # one pair of classes in ten is never related
            yield "pair"
        if atom.predicate in _SIDES and any(_hash_share("side", label) < 1 / 12 for label in labels):
            yield "side"


def _value_of(atom: Atom) -> str:
    return next((argument.text for argument in atom.arguments if isinstance(argument, Value)), "")


def _hash_share(*words: str) -> float:
    """Return a pseudo-random number between 0 and 1, derived from a hash of the words."""
    return zlib.crc32(" ".join(words).encode()) / 2**32


# --- the networks, for inference on one prompt at a time


class PlannerNetwork:
    """Detects the objects in a prompt and predicts their boxes from noisy ones."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        # Found once: the decoder runs at every step.
        self._encoder, self._decoder = weights.parts("encoder"), weights.parts("decoder")

    def encode(self, tokens: Integers) -> Floats:
        """Return the features of a prompt's tokens."""
        weights = self._weights
        x = weights["token.weight"][tokens]
        rotation = rotary(np.arange(len(tokens)))
        for layer in self._encoder:
            x = encoder_layer(layer, x, rotation)
        return norm(x)

    def tag(self, features: Floats) -> tuple[Floats, Floats]:
        """Return the class scores and colour scores of each token; the last class is "none"."""
        return self._weights.linear("class_tag", features), self._weights.linear("color_tag", features)

    def text_keys(self, features: Floats) -> list[KeysValues]:
        """Return the cross-attention keys and values of each decoder layer, which are constant over all steps."""
        rotation = rotary(np.arange(len(features)))
        return [keys_values(layer.part("cross"), features, rotation) for layer in self._decoder]

    def predict(
        self, boxes: Floats, time: float, features: Floats, anchors: Integers, text: list[KeysValues]
    ) -> Floats:
        """Predict the denoised boxes of the objects."""
        weights = self._weights
        x = weights.linear("box", boxes) + weights.linear("anchor", features[anchors])
        rotation = rotary(anchors)
        condition = _time_condition(weights, time)
        for layer, keys in zip(self._decoder, text, strict=True):
            shift, scale, gate, shift_2, scale_2, gate_2 = condition + layer["modulation"]
            normal = norm(x) * (1 + scale) + shift
            attention = layer.part("attention")
            x = x + gate * attend(attention, normal, keys_values(attention, normal))
            x = x + attend(layer.part("cross"), norm(x) * layer["cross_gain"], keys, rotation)
            x = x + gate_2 * feed_forward(layer.part("feed_forward"), norm(x) * (1 + scale_2) + shift_2)
        return weights.linear("out", norm(x))


class PainterNetwork:
    """Predicts an image from a noisy image and a layout."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._layers = weights.parts("layers")

    def place(self, boxes: Floats, classes: Integers, colors: Integers) -> Floats:
        """Return an embedding of the overlapping objects for each image patch."""
        weights = self._weights
        output = np.zeros((GRID * GRID, weights["patch.bias"].shape[0]), dtype=np.float32)
        features, overlaps = patch_features(boxes)
        patches, objects = np.nonzero(overlaps)
        hidden = weights.linear("place_in", features[patches, objects])
        hidden = hidden + weights["class.weight"][classes[objects]] + weights["color.weight"][colors[objects]]
        np.add.at(output, patches, weights.linear("place_out", gelu(hidden)))
        return output

    def predict(self, patches: Floats, time: float, places: Floats) -> Floats:
        """Predict the denoised patches of the image."""
        weights = self._weights
        x = weights.linear("patch", patches) + places + grid_positions(GRID, places.shape[1])
        condition = _time_condition(weights, time)
        for layer in self._layers:
            shift, scale, gate, shift_2, scale_2, gate_2 = condition + layer["modulation"]
            normal = norm(x) * (1 + scale) + shift
            attention = layer.part("attention")
            x = x + gate * attend(attention, normal, keys_values(attention, normal))
            x = x + gate_2 * feed_forward(layer.part("feed_forward"), norm(x) * (1 + scale_2) + shift_2)
        return weights.linear("out", norm(x))


def patch_features(boxes: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the position of each image patch in each object, and whether the two overlap."""
    edges = np.arange(GRID + 1, dtype=np.float32) / GRID
    starts, ends = edges[:-1], edges[1:]
    column = np.tile(np.arange(GRID), GRID)
    row = np.repeat(np.arange(GRID), GRID)
    slack = np.float32(1 / IMAGE_SIZE)
    parts = []
    overlaps = np.ones((GRID * GRID, len(boxes)), dtype=np.bool_)
    for low, high, index in ((boxes[:, 0], boxes[:, 2], column), (boxes[:, 1], boxes[:, 3], row)):
        side = np.maximum(high - low, np.float32(1e-3))
        start, end = starts[index][:, None], ends[index][:, None]
        overlaps &= (end > low - slack) & (start < high + slack)
        inside = ((start + end) / 2 - low) / side
        from_low, to_high = (start - low) * GRID, (high - end) * GRID
        size = np.broadcast_to(np.log(side * GRID), inside.shape)
        angles = np.pi * inside[..., None] * np.arange(1, _WAVES + 1, dtype=np.float32)
        near = [np.clip(from_low, -1, 3), np.clip(to_high, -1, 3), inside, size]
        parts.append(np.concatenate([np.stack(near, axis=-1), np.sin(angles), np.cos(angles)], axis=-1))
    return np.concatenate(parts, axis=-1).astype(np.float32), overlaps


FEATURES = 2 * (4 + 2 * _WAVES)  # how many numbers say where in an object a patch lies


def _time_condition(weights: Weights, time: float) -> Floats:
    """Return the shifts, scales and gates for a time step, to which each layer adds its own."""
    size = weights["time_in.weight"].shape[1]
    hidden = gelu(weights.linear("time_in", time_features(time, size)))
    return weights.linear("time_out", hidden).reshape(6, -1)
