"""The networks of `builtin/tiny` in torch, for training. `formalimg.baselines.tiny.networks` runs them with numpy.

Both are transformers that predict clean data from noisy data at a time between 0 (noise) and 1 (data): flow matching
with the data as what is predicted. Time sets shifts, scales and gates of each layer (adaLN, shared by all layers, with
an offset for each); gates are zero at first. Queries and keys are normed.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalimg.baselines.tiny import networks

SLOTS, HEAD_SIZE, GRID, PATCH = networks.SLOTS, networks.HEAD_SIZE, networks.GRID, networks.PATCH


class Attention(nn.Module):
    """Attention with normed queries and keys."""

    def __init__(self, size: int, source: int | None = None) -> None:
        super().__init__()
        self.query = nn.Linear(size, size)
        self.key_value = nn.Linear(source or size, 2 * size)
        self.out = nn.Linear(size, size)
        self.query_gain = nn.Parameter(torch.ones(HEAD_SIZE))
        self.key_gain = nn.Parameter(torch.ones(HEAD_SIZE))

    def forward(self, x: Tensor, to: Tensor, mask: Tensor | None = None) -> Tensor:
        heads = x.shape[-1] // HEAD_SIZE
        query = norm(self.query(x).unflatten(-1, (heads, HEAD_SIZE))) * self.query_gain
        key, value = (part.unflatten(-1, (heads, HEAD_SIZE)) for part in self.key_value(to).chunk(2, dim=-1))
        key = norm(key) * self.key_gain
        q, k, v = (part.transpose(1, 2) for part in (query, key, value))
        found = functional.scaled_dot_product_attention(q, k.to(q.dtype), v.to(q.dtype), attn_mask=mask)
        return self.out(found.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Two linear layers."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x), approximate="tanh"))


class EncoderLayer(nn.Module):
    """A layer of the text encoder."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(size), FeedForward(size)
        self.attention_gain = nn.Parameter(torch.ones(size))
        self.feed_forward_gain = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        normal = norm(x) * self.attention_gain
        x = x + self.attention(normal, normal, mask)
        return x + self.feed_forward(norm(x) * self.feed_forward_gain)


class TimedLayer(nn.Module):
    """A layer whose shifts, scales and gates depend on time; with `source`, it also attends to something else."""

    def __init__(self, size: int, source: int | None = None) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(size), FeedForward(size)
        self.modulation = nn.Parameter(torch.zeros(6, size))
        if source is not None:
            self.cross = Attention(size, source)
            self.cross_gain = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor, condition: Tensor, source: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        moved = condition + self.modulation
        shift, scale, gate, shift_2, scale_2, gate_2 = moved.unsqueeze(2).unbind(1)
        normal = norm(x) * (1 + scale) + shift
        x = x + gate * self.attention(normal, normal)
        if source is not None:
            x = x + self.cross(norm(x) * self.cross_gain, source, mask)
        return x + gate_2 * self.feed_forward(norm(x) * (1 + scale_2) + shift_2)


class Timed(nn.Module):
    """A network with a time; its layers get their shifts, scales and gates from `condition`."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.time_in = nn.Linear(size, size)
        self.time_out = nn.Linear(size, 6 * size)
        nn.init.zeros_(self.time_out.weight)
        nn.init.zeros_(self.time_out.bias)

    def condition(self, time: Tensor) -> Tensor:
        size = self.time_in.in_features
        angles = 1000 * time[:, None] * _frequencies(size // 2, time.device)
        hidden = functional.gelu(self.time_in(torch.cat([angles.sin(), angles.cos()], dim=1)), approximate="tanh")
        return self.time_out(hidden).unflatten(1, (6, size))


class Planner(Timed):
    """Predicts a layout from a noisy one and the tokens of a prompt."""

    def __init__(
        self, words: int, classes: int, colors: int, size: int = 192, layers: tuple[int, int] = (3, 4)
    ) -> None:
        super().__init__(size)
        self.classes, self.colors = classes, colors
        self.token = nn.Embedding(words, size)
        self.encoder = nn.ModuleList(EncoderLayer(size) for _ in range(layers[0]))
        self.state = nn.Linear(4 + classes + 1 + colors, size)
        self.slot = nn.Parameter(torch.randn(SLOTS, size) * 0.5)
        self.decoder = nn.ModuleList(TimedLayer(size, size) for _ in range(layers[1]))
        self.out = nn.Linear(size, 4 + classes + 1 + colors)

    def encode(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the features of prompts, and a mask of their tokens."""
        size = self.token.embedding_dim
        mask = (tokens != 0)[:, None, None, :]
        angles = torch.arange(tokens.shape[1], device=tokens.device)[:, None] * _frequencies(size // 2, tokens.device)
        x = self.token(tokens) + torch.cat([angles.sin(), angles.cos()], dim=1)
        for layer in self.encoder:
            x = layer(x, mask)
        return norm(x), mask

    def predict(self, state: Tensor, time: Tensor, text: tuple[Tensor, Tensor]) -> Tensor:
        """Return boxes, and the scores of classes and colours, for each slot."""
        x = self.state(state) + self.slot
        condition = self.condition(time)
        for layer in self.decoder:
            x = layer(x, condition, *text)
        return self.out(norm(x))

    def forward(self, state: Tensor, time: Tensor, tokens: Tensor) -> Tensor:
        return self.predict(state, time, self.encode(tokens))

    def expected_state(self, predicted: Tensor, word_scale: float) -> Tensor:
        """Return boxes as they are predicted, and classes and colours as their probabilities."""
        boxes, nouns, colors = predicted.float().split([4, self.classes + 1, self.colors], dim=-1)
        return torch.cat([boxes, word_scale * nouns.softmax(-1), word_scale * colors.softmax(-1)], dim=-1)


class Painter(Timed):
    """Predicts an image from a noisy one and a layout."""

    def __init__(self, classes: int, colors: int, size: int = 256, layers: int = 5) -> None:
        super().__init__(size)
        self.patch = nn.Linear(3 * PATCH * PATCH, size)
        self.place_in = nn.Linear(networks.FEATURES, size)
        self.place_out = nn.Linear(size, size)
        self.add_module("class", nn.Embedding(classes, size))
        self.color = nn.Embedding(colors, size)
        self.layers = nn.ModuleList(TimedLayer(size) for _ in range(layers))
        self.out = nn.Linear(size, 3 * PATCH * PATCH)
        self.register_buffer("positions", torch.from_numpy(networks.grid_positions(size).copy()), persistent=False)

    def place(self, boxes: Tensor, classes: Tensor, colors: Tensor) -> Tensor:
        """Return for each square of the images what it shows; slots of class -1 are empty."""
        features, overlaps = patch_features(boxes)
        overlaps = overlaps & (classes >= 0)[:, None, :]
        image, square, slot = overlaps.nonzero(as_tuple=True)
        words = self.get_submodule("class")(classes[image, slot]) + self.color(colors[image, slot])
        hidden = functional.gelu(self.place_in(features[image, square, slot]) + words, approximate="tanh")
        placed = self.place_out(hidden).float()
        found = torch.zeros(len(boxes) * GRID * GRID, placed.shape[-1], device=boxes.device)
        return found.index_add(0, image * GRID * GRID + square, placed).unflatten(0, (len(boxes), GRID * GRID))

    def predict(self, patches: Tensor, time: Tensor, places: Tensor) -> Tensor:
        """Return the squares that the images will have."""
        x = self.patch(patches) + places + self.positions
        condition = self.condition(time)
        for layer in self.layers:
            x = layer(x, condition)
        return self.out(norm(x))


def patch_features(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each square of images lies in each object, and whether the two overlap: as its numpy twin does."""
    edges = torch.arange(GRID + 1, device=boxes.device) / GRID
    lines = torch.arange(GRID, device=boxes.device)
    slack = 1 / networks.IMAGE_SIZE
    waves = torch.arange(1, (networks.FEATURES // 2 - 4) // 2 + 1, device=boxes.device)
    parts = []
    overlaps = torch.ones(len(boxes), GRID * GRID, boxes.shape[1], dtype=torch.bool, device=boxes.device)
    for axis, place in ((0, lines.repeat(GRID)), (1, lines.repeat_interleave(GRID))):
        low, high = boxes[:, None, :, axis], boxes[:, None, :, axis + 2]
        start, end = edges[:-1][place][None, :, None], edges[1:][place][None, :, None]
        side = (high - low).clamp(min=1e-3)
        overlaps = overlaps & (end > low - slack) & (start < high + slack)
        inside = ((start + end) / 2 - low) / side
        near = [((start - low) * GRID).clamp(-1, 3), ((high - end) * GRID).clamp(-1, 3), inside]
        angles = math.pi * inside[..., None] * waves
        size = (side * GRID).log().expand(inside.shape)
        parts.append(torch.cat([torch.stack([*near, size], dim=-1), angles.sin(), angles.cos()], dim=-1))
    return torch.cat(parts, dim=-1), overlaps


def norm(x: Tensor) -> Tensor:
    """Norm the last dimension, without weights."""
    return functional.rms_norm(x, x.shape[-1:], eps=1e-6)


def _frequencies(count: int, device: torch.device) -> Tensor:
    return 10_000 ** (-torch.arange(count, device=device) / count)
