"""The tiny baseline's transformers in numpy: planner and painter, for inference on one prompt at a time.

`training/model.py` has the same networks in torch, with the same names of weights; a test compares the two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

PATCH = 8  # the painter sees an image as square patches of so many pixels
GRID = 16  # so many patches make a row of an image, and a column
IMAGE_SIZE = PATCH * GRID
_WAVES = 8  # frequencies with which the painter sees where in an object a patch lies


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
