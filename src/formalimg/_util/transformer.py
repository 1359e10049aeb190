"""Transformer layers in numpy, for inference with the small networks bundled with the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]
Rotation: TypeAlias = tuple[Floats, Floats]
"""Cosines and sines of the angles by which heads are rotated at each position."""

HEAD_SIZE = 32

ROTARY_BASE = 1_000  # The slowest rotary frequency of positions is about this many times slower than the fastest


@dataclass(frozen=True)
class Weights:
    """The weights of a network, or of the submodule whose names start with `prefix`."""

    arrays: Mapping[str, Floats]
    prefix: str = ""

    def __getitem__(self, name: str) -> Floats:
        return self.arrays[self.prefix + name]

    def part(self, name: str) -> Weights:
        """Return the weights of a submodule."""
        return Weights(self.arrays, f"{self.prefix}{name}.")

    def parts(self, name: str) -> list[Weights]:
        """Return the weights of each layer in a list of layers."""
        start = f"{self.prefix}{name}."
        numbers = {int(key[len(start) :].split(".")[0]) for key in self.arrays if key.startswith(start)}
        return [self.part(f"{name}.{number}") for number in sorted(numbers)]

    def linear(self, name: str, x: Floats) -> Floats:
        """Apply a linear layer with bias."""
        return x @ self[f"{name}.weight"].T + self[f"{name}.bias"]


class KeysValues(NamedTuple):
    """Keys and values of each attention head."""

    keys: Floats
    values: Floats


def keys_values(weights: Weights, to: Floats, rotation: Rotation | None = None) -> KeysValues:
    """Return the normalized keys, with rotary positions if given, and the values."""
    pair = weights.linear("key_value", to)
    half = pair.shape[1] // 2
    keys = norm(_split(pair[:, :half])) * weights["key_gain"]
    return KeysValues(keys if rotation is None else _rotate(keys, rotation), _split(pair[:, half:]))


def attend(weights: Weights, x: Floats, to: KeysValues, rotation: Rotation | None = None) -> Floats:
    """Apply attention with normalized queries, with rotary positions if given."""
    query = norm(_split(weights.linear("query", x))) * weights["query_gain"]
    if rotation is not None:
        query = _rotate(query, rotation)
    scores = query @ to.keys.transpose(0, 2, 1) / np.float32(HEAD_SIZE**0.5)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    attended = (scores @ to.values).transpose(1, 0, 2).reshape(len(x), -1).astype(np.float32, copy=False)
    return weights.linear("out", attended)


def encoder_layer(weights: Weights, x: Floats, rotation: Rotation | None = None) -> Floats:
    """Apply self-attention and a feed-forward network, each with pre-normalization."""
    normal = norm(x) * weights["attention_gain"]
    attention = weights.part("attention")
    x = x + attend(attention, normal, keys_values(attention, normal, rotation), rotation)
    return x + feed_forward(weights.part("feed_forward"), norm(x) * weights["feed_forward_gain"])


def feed_forward(weights: Weights, x: Floats) -> Floats:
    """Apply two linear layers."""
    return weights.linear("down", gelu(weights.linear("up", x)))


def norm(x: Floats) -> Floats:
    """Apply RMS normalization over the last dimension."""
    return np.asarray(x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(1e-6)))


def gelu(x: Floats) -> Floats:
    """Apply the GELU activation in its tanh approximation."""
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(inner)))


def softmax(x: Floats) -> Floats:
    """Apply softmax over the last dimension."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def rotary(positions: Integers) -> Rotation:
    """Return the rotary embedding of each position."""
    speeds = ROTARY_BASE ** (-np.arange(HEAD_SIZE // 2) / (HEAD_SIZE // 2))
    angles = positions[:, None] * speeds
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


@lru_cache
def grid_positions(side: int, size: int) -> Floats:
    """Return fixed sinusoidal features of the patches of a square image, row by row."""
    angles = np.arange(side)[:, None] * _frequencies(size // 4)
    line = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    return np.concatenate([np.repeat(line, side, axis=0), np.tile(line, (side, 1))], axis=1)


def time_features(time: float, size: int) -> Floats:
    """Return fixed sinusoidal features of a time between 0 and 1."""
    angles = 1000 * time * _frequencies(size // 2)
    return np.concatenate([np.sin(angles), np.cos(angles)]).astype(np.float32)


def to_patches(pixels: Floats, patch: int) -> Floats:
    """Cut a square image (row, column, channel) into square patches, row by row."""
    side = len(pixels) // patch
    return pixels.reshape(side, patch, side, patch, -1).transpose(0, 2, 1, 3, 4).reshape(side * side, -1)


def _split(x: Floats) -> Floats:
    return x.reshape(len(x), -1, HEAD_SIZE).transpose(1, 0, 2)


def _rotate(x: Floats, rotation: Rotation) -> Floats:
    cosine, sine = rotation
    first, second = x[..., : HEAD_SIZE // 2], x[..., HEAD_SIZE // 2 :]
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


def _frequencies(count: int) -> NDArray[np.float64]:
    return np.asarray(10_000 ** (-np.arange(count) / count))
