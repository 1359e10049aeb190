"""The networks of `builtin/tiny` in torch, for training. `formalimg.models.builtin.tiny.model` runs them with numpy.

The planner has a text encoder that tags the tokens of a prompt which name objects, and a decoder that predicts the
boxes of these objects. The painter predicts the pixels of a layout. Decoder and painter predict clean data from noisy
data at a time between 0 (noise) and 1 (data): flow matching with the data as what is predicted. Time sets shifts,
scales and gates of each layer (adaLN, shared by all layers, with an offset for each); gates are zero at first. Queries
and keys are normed; positions of tokens are rotary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from formalimg._util.transformer import HEAD_SIZE, ROTARY_BASE, grid_positions
from formalimg.models.builtin.tiny import model as networks

GRID, PATCH = networks.GRID, networks.PATCH


class Attention(nn.Module):
    """Attention with normed queries and keys, rotated by their positions if there are any."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(size, size)
        self.key_value = nn.Linear(size, 2 * size)
        self.out = nn.Linear(size, size)
        self.query_gain = nn.Parameter(torch.ones(HEAD_SIZE))
        self.key_gain = nn.Parameter(torch.ones(HEAD_SIZE))

    def forward(
        self, x: Tensor, to: Tensor, mask: Tensor | None = None, positions: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        heads = x.shape[-1] // HEAD_SIZE
        query = norm(self.query(x).unflatten(-1, (heads, HEAD_SIZE))) * self.query_gain
        key, value = (part.unflatten(-1, (heads, HEAD_SIZE)) for part in self.key_value(to).chunk(2, dim=-1))
        key = norm(key) * self.key_gain
        if positions is not None:
            query, key = rotate(query, positions[0]), rotate(key, positions[1])
        q, k, v = (part.transpose(1, 2).to(value.dtype) for part in (query, key, value))
        found = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
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
    """A layer of the text encoder, or of the detector."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(size), FeedForward(size)
        self.attention_gain = nn.Parameter(torch.ones(size))
        self.feed_forward_gain = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        normal = norm(x) * self.attention_gain
        x = x + self.attention(normal, normal, mask, None if positions is None else (positions, positions))
        return x + self.feed_forward(norm(x) * self.feed_forward_gain)


class PainterLayer(nn.Module):
    """A layer over the patches of images."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(size), FeedForward(size)
        self.modulation = nn.Parameter(torch.zeros(6, size))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        shift, scale, gate, shift_2, scale_2, gate_2 = (condition + self.modulation).unsqueeze(2).unbind(1)
        normal = norm(x) * (1 + scale) + shift
        x = x + gate * self.attention(normal, normal)
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
        speeds = 10_000 ** (-torch.arange(size // 2, device=time.device) / (size // 2))
        angles = 1000 * time[:, None] * speeds
        hidden = functional.gelu(self.time_in(torch.cat([angles.sin(), angles.cos()], dim=1)), approximate="tanh")
        return self.time_out(hidden).unflatten(1, (6, size))


class DecoderLayer(nn.Module):
    """A layer over the objects of layouts, which also attends to the prompt."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention, self.feed_forward, self.cross = Attention(size), FeedForward(size), Attention(size)
        self.modulation = nn.Parameter(torch.zeros(6, size))
        self.cross_gain = nn.Parameter(torch.ones(size))

    def forward(
        self,
        x: Tensor,
        condition: Tensor,
        there: Tensor,
        text: Tensor,
        text_mask: Tensor,
        positions: tuple[Tensor, Tensor],
    ) -> Tensor:
        shift, scale, gate, shift_2, scale_2, gate_2 = (condition + self.modulation).unsqueeze(2).unbind(1)
        normal = norm(x) * (1 + scale) + shift
        x = x + gate * self.attention(normal, normal, there)
        # All layouts of a prompt look at it together, so that its keys and values are computed once.
        grouped = (norm(x) * self.cross_gain).reshape(len(text), -1, x.shape[-1])
        x = x + self.cross(grouped, text, text_mask, positions).reshape(x.shape)
        return x + gate_2 * self.feed_forward(norm(x) * (1 + scale_2) + shift_2)


class Planner(Timed):
    """Tags the tokens of prompts that name objects, and predicts the boxes of these from noisy ones."""

    def __init__(
        self, words: int, classes: int, colors: int, size: int = 192, layers: tuple[int, int] = (4, 5)
    ) -> None:
        super().__init__(size)
        self.classes, self.colors = classes, colors
        self.token = nn.Embedding(words, size)
        self.encoder = nn.ModuleList(EncoderLayer(size) for _ in range(layers[0]))
        self.class_tag = nn.Linear(size, classes + 1)
        self.color_tag = nn.Linear(size, colors)
        self.box = nn.Linear(4, size)
        self.anchor = nn.Linear(size, size)
        self.decoder = nn.ModuleList(DecoderLayer(size) for _ in range(layers[1]))
        self.out = nn.Linear(size, 4)

    def encode(self, tokens: Tensor) -> Tensor:
        """Return the features of the tokens of prompts; 0 is padding."""
        mask = (tokens != 0)[:, None, None, :]
        positions = torch.arange(tokens.shape[1], device=tokens.device)[None]
        x = self.token(tokens)
        for layer in self.encoder:
            x = layer(x, mask, positions)
        return norm(x)

    def tag(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return for each token the scores of classes, the last of which is none, and of colours."""
        return self.class_tag(features), self.color_tag(features)

    def predict(self, boxes: Tensor, time: Tensor, features: Tensor, tokens: Tensor, anchors: Tensor) -> Tensor:
        """Return the boxes that objects will have.

        Args:
            boxes: noisy boxes of each layout; there may be several layouts of each prompt, one after the other.
            time: of each layout.
            features: of the tokens of each prompt.
            tokens: of each prompt.
            anchors: the token that names each object of each prompt; -1 where there is no object.
        """
        group = len(boxes) // len(tokens)
        index = anchors.clamp(min=0)
        named = self.anchor(features.gather(1, index[..., None].expand(-1, -1, features.shape[-1])))
        x = self.box(boxes) + named.repeat_interleave(group, 0)
        condition = self.condition(time)
        there = (anchors >= 0).repeat_interleave(group, 0)[:, None, None, :]
        mask = (tokens != 0)[:, None, None, :]
        places = torch.arange(tokens.shape[1], device=tokens.device)[None]
        positions = (index.repeat(1, group), places)
        for layer in self.decoder:
            x = layer(x, condition, there, features, mask, positions)
        return self.out(norm(x))

    def forward(self, boxes: Tensor, time: Tensor, tokens: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        features = self.encode(tokens)
        return (self.predict(boxes, time, features, tokens, anchors), *self.tag(features))


class Painter(Timed):
    """Predicts an image from a noisy one and a layout."""

    def __init__(self, classes: int, colors: int, size: int = 256, layers: int = 4) -> None:
        super().__init__(size)
        self.patch = nn.Linear(3 * PATCH * PATCH, size)
        self.place_in = nn.Linear(networks.FEATURES, size)
        self.place_out = nn.Linear(size, size)
        self.add_module("class", nn.Embedding(classes, size))
        self.color = nn.Embedding(colors, size)
        self.layers = nn.ModuleList(PainterLayer(size) for _ in range(layers))
        self.out = nn.Linear(size, 3 * PATCH * PATCH)
        self.register_buffer("positions", torch.from_numpy(grid_positions(GRID, size).copy()), persistent=False)

    def place(self, boxes: Tensor, classes: Tensor, colors: Tensor) -> Tensor:
        """Return for each patch of the images what it shows; objects of class -1 are none."""
        features, overlaps = patch_features(boxes)
        overlaps = overlaps & (classes >= 0)[:, None, :]
        image, patch, obj = overlaps.nonzero(as_tuple=True)
        words = self.get_submodule("class")(classes[image, obj]) + self.color(colors[image, obj])
        hidden = functional.gelu(self.place_in(features[image, patch, obj]) + words, approximate="tanh")
        placed = self.place_out(hidden).float()
        found = torch.zeros(len(boxes) * GRID * GRID, placed.shape[-1], device=boxes.device)
        return found.index_add(0, image * GRID * GRID + patch, placed).unflatten(0, (len(boxes), GRID * GRID))

    def forward(self, patches: Tensor, time: Tensor, places: Tensor) -> Tensor:
        """Return the patches that the images will have."""
        x = self.patch(patches) + places + self.positions
        condition = self.condition(time)
        for layer in self.layers:
            x = layer(x, condition)
        return self.out(norm(x))


def patch_features(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return where each patch of images lies in each object, and whether the two overlap: as its numpy twin does."""
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


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Rotate heads (batch, position, head, feature) by angles that grow with their positions (batch, position)."""
    half = HEAD_SIZE // 2
    speeds = ROTARY_BASE ** (-torch.arange(half, device=x.device) / half)
    angles = (positions[..., None] * speeds)[:, :, None, :]
    one, other = x[..., :half], x[..., half:]
    return torch.cat([one * angles.cos() - other * angles.sin(), one * angles.sin() + other * angles.cos()], dim=-1)
