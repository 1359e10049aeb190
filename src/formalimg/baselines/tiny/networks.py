"""The transformers of the tiny baseline in numpy: planner and painter, for inference with one prompt at a time.

`training/model.py` has the same networks in torch, with the same names of weights; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SLOTS = 10
"""The most objects that a layout can have."""

HEAD_SIZE = 32
PATCH = 8
"""The painter sees an image as squares of so many pixels."""

GRID = 16
"""So many squares make a row of an image, and a column."""

IMAGE_SIZE = PATCH * GRID

_WAVES = 8
"""Frequencies with which the painter sees where in an object a square lies."""


@dataclass(frozen=True)
class Weights:
    """The weights of a network, or of a part of it whose names begin with `prefix`."""

    arrays: Mapping[str, Floats]
    prefix: str = ""

    def __getitem__(self, name: str) -> Floats:
        return self.arrays[self.prefix + name]

    def part(self, name: str) -> Weights:
        """Return the weights of a part."""
        return Weights(self.arrays, f"{self.prefix}{name}.")

    def count(self, name: str) -> int:
        """Return how many numbered parts a list of layers has."""
        start = f"{self.prefix}{name}."
        return len({key[len(start) :].split(".")[0] for key in self.arrays if key.startswith(start)})

    def linear(self, name: str, x: Floats) -> Floats:
        """Apply a linear layer with bias."""
        return x @ self[f"{name}.weight"].T + self[f"{name}.bias"]


class PlannerNetwork:
    """Predicts a layout from a noisy one and a prompt."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def encode(self, tokens: NDArray[np.int64]) -> Floats:
        """Return the features of the tokens of a prompt."""
        weights = self._weights
        x = weights["token.weight"][tokens] + positions(len(tokens), weights["token.weight"].shape[1])
        for number in range(weights.count("encoder")):
            layer = weights.part(f"encoder.{number}")
            normal = _norm(x) * layer["attention_gain"]
            x = x + _attend(layer.part("attention"), normal, normal)
            x = x + _feed_forward(layer.part("feed_forward"), _norm(x) * layer["feed_forward_gain"])
        return _norm(x)

    def predict(self, state: Floats, time: float, text: Floats) -> Floats:
        """Return for each slot the box it will have, and the scores of classes and colours."""
        weights = self._weights
        x = weights.linear("state", state) + weights["slot"]
        condition = _condition(weights, time)
        for number in range(weights.count("decoder")):
            layer = weights.part(f"decoder.{number}")
            shift, scale, gate, shift_2, scale_2, gate_2 = condition + layer["modulation"]
            normal = _norm(x) * (1 + scale) + shift
            x = x + gate * _attend(layer.part("attention"), normal, normal)
            x = x + _attend(layer.part("cross"), _norm(x) * layer["cross_gain"], text)
            x = x + gate_2 * _feed_forward(layer.part("feed_forward"), _norm(x) * (1 + scale_2) + shift_2)
        return weights.linear("out", _norm(x))


class PainterNetwork:
    """Predicts an image from a noisy one and a layout."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def place(self, boxes: Floats, classes: NDArray[np.int64], colors: NDArray[np.int64]) -> Floats:
        """Return for each square of the image what of which object it shows.

        Args:
            boxes: left, top, right, bottom of each object, where the image is 1 wide.
            classes: the class of each object.
            colors: the colour of each object.
        """
        weights = self._weights
        found = np.zeros((GRID * GRID, weights["patch.bias"].shape[0]), dtype=np.float32)
        features, overlaps = patch_features(boxes)
        squares, objects = np.nonzero(overlaps)
        hidden = weights.linear("place_in", features[squares, objects])
        hidden = hidden + weights["class.weight"][classes[objects]] + weights["color.weight"][colors[objects]]
        np.add.at(found, squares, weights.linear("place_out", _gelu(hidden)))
        return found

    def predict(self, patches: Floats, time: float, places: Floats) -> Floats:
        """Return the squares that the image will have."""
        weights = self._weights
        x = weights.linear("patch", patches) + places + grid_positions(places.shape[1])
        condition = _condition(weights, time)
        for number in range(weights.count("layers")):
            layer = weights.part(f"layers.{number}")
            shift, scale, gate, shift_2, scale_2, gate_2 = condition + layer["modulation"]
            normal = _norm(x) * (1 + scale) + shift
            x = x + gate * _attend(layer.part("attention"), normal, normal)
            x = x + gate_2 * _feed_forward(layer.part("feed_forward"), _norm(x) * (1 + scale_2) + shift_2)
        return weights.linear("out", _norm(x))


def patch_features(boxes: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return where each square of the image lies in each object, and whether the two overlap.

    Args:
        boxes: left, top, right, bottom of each object, where the image is 1 wide.
    """
    edges = np.arange(GRID + 1, dtype=np.float32) / GRID
    starts, ends = edges[:-1], edges[1:]
    column = np.tile(np.arange(GRID), GRID)
    row = np.repeat(np.arange(GRID), GRID)
    slack = np.float32(1 / IMAGE_SIZE)
    parts = []
    overlaps = np.ones((GRID * GRID, len(boxes)), dtype=np.bool_)
    for low, high, place in ((boxes[:, 0], boxes[:, 2], column), (boxes[:, 1], boxes[:, 3], row)):
        side = np.maximum(high - low, np.float32(1e-3))
        start, end = starts[place][:, None], ends[place][:, None]
        overlaps &= (end > low - slack) & (start < high + slack)
        inside = ((start + end) / 2 - low) / side
        from_low, to_high = (start - low) * GRID, (high - end) * GRID
        size = np.broadcast_to(np.log(side * GRID), inside.shape)
        angles = np.pi * inside[..., None] * np.arange(1, _WAVES + 1, dtype=np.float32)
        near = [np.clip(from_low, -1, 3), np.clip(to_high, -1, 3), inside, size]
        parts.append(np.concatenate([np.stack(near, axis=-1), np.sin(angles), np.cos(angles)], axis=-1))
    return np.concatenate(parts, axis=-1).astype(np.float32), overlaps


FEATURES = 2 * (4 + 2 * _WAVES)
"""How many numbers say where in an object a square lies."""


@lru_cache
def positions(count: int, size: int) -> Floats:
    """Return fixed features of the positions 0, 1, 2, …: sines and cosines."""
    angles = np.arange(count)[:, None] * _frequencies(size // 2)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)


@lru_cache
def grid_positions(size: int) -> Floats:
    """Return fixed features of the squares of an image, row by row."""
    line = positions(GRID, size // 2)
    return np.concatenate([np.repeat(line, GRID, axis=0), np.tile(line, (GRID, 1))], axis=1)


def time_features(time: float, size: int) -> Floats:
    """Return fixed features of a time between 0 and 1."""
    angles = 1000 * time * _frequencies(size // 2)
    return np.concatenate([np.sin(angles), np.cos(angles)]).astype(np.float32)


def _frequencies(count: int) -> NDArray[np.float64]:
    return np.asarray(10_000 ** (-np.arange(count) / count))


def _condition(weights: Weights, time: float) -> Floats:
    """Return shifts, scales and gates for a time, before the addition of each layer's own."""
    size = weights["time_in.weight"].shape[1]
    hidden = _gelu(weights.linear("time_in", time_features(time, size)))
    return weights.linear("time_out", hidden).reshape(6, -1)


def _norm(x: Floats) -> Floats:
    return np.asarray(x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(1e-6)))


def _attend(weights: Weights, x: Floats, to: Floats) -> Floats:
    """Apply attention with normed queries and keys."""
    heads = x.shape[1] // HEAD_SIZE
    query = _norm(_split(weights.linear("query", x), heads)) * weights["query_gain"]
    both = weights.linear("key_value", to)
    key = _norm(_split(both[:, : both.shape[1] // 2], heads)) * weights["key_gain"]
    value = _split(both[:, both.shape[1] // 2 :], heads)
    scores = query @ key.transpose(0, 2, 1) / np.float32(HEAD_SIZE**0.5)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    attended = (scores @ value).transpose(1, 0, 2).reshape(len(x), -1).astype(np.float32, copy=False)
    return weights.linear("out", attended)


def _split(x: Floats, heads: int) -> Floats:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _feed_forward(weights: Weights, x: Floats) -> Floats:
    return weights.linear("down", _gelu(weights.linear("up", x)))


def _gelu(x: Floats) -> Floats:
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(inner)))
