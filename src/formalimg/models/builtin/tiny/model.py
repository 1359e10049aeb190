"""The tiny baseline as a model: prompt and seed to layout, layout to image, and features unseen in training.

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
from formalimg._util.transformer import Floats, Integers, Weights
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Atom, Formula, Value, atoms
from formalimg.models.builtin.tiny.networks import GRID, IMAGE_SIZE, PATCH, PainterNetwork, PlannerNetwork
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from PIL.Image import Image


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

    No pixel is lost, so that whoever reads the image can go back to the small one.
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
