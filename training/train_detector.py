"""Train the detector with which `builtin/icons` reads images of 128 pixels, and write its weights.

    python training/data.py training/build
    python training/train_detector.py training/build --out src/formalimg/judges/grounders/small_icons.npz

It learns from drawings alone and never sees an image that a model painted, so that it does not learn to forgive what a
painter gets wrong. Noise, blur and exposure are varied, so that it does not insist on perfect pixels either.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from model import EncoderLayer, norm
from torch import Tensor, nn
from torch.nn import functional
from train import StoppedError, compiled, export, to_patches, train

from formalimg._util.transformer import grid_positions
from formalimg.models.builtin.tiny.model import GRID, PATCH

HELD_OUT = 2_000
"""So many drawings at the end of the file are used to measure."""


class Detector(nn.Module):
    """Predicts for each patch whether an object is centred in it, its class, colour and box."""

    def __init__(self, classes: int, colors: int, size: int = 160, layers: int = 4) -> None:
        super().__init__()
        self.classes, self.colors = classes, colors
        self.patch = nn.Linear(3 * PATCH * PATCH, size)
        self.layers = nn.ModuleList(EncoderLayer(size) for _ in range(layers))
        self.out = nn.Linear(size, 1 + 4 + classes + colors)
        self.register_buffer("positions", torch.from_numpy(grid_positions(GRID, size).copy()), persistent=False)

    def forward(self, patches: Tensor) -> Tensor:
        """Return for each patch the score of an object, edges of its box, and scores of classes and colours."""
        x = self.patch(patches) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.out(norm(x))


def targets(boxes: Tensor, classes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return image, object and patch of each object; of several in a patch, the last, which is drawn on top."""
    centre = (boxes[..., :2] + boxes[..., 2:]) / 2
    cell = (centre * GRID).long().clamp(0, GRID - 1)
    patch = cell[..., 1] * GRID + cell[..., 0]
    order = torch.arange(boxes.shape[1], device=boxes.device)
    same = (patch[:, :, None] == patch[:, None]) & (classes >= 0)[:, None] & (order[None, :] > order[:, None])
    image, obj = ((classes >= 0) & ~same.any(-1)).nonzero(as_tuple=True)
    return image, obj, patch[image, obj]


def offsets(boxes: Tensor, patch: Tensor) -> Tensor:
    """Return edges relative to the centre of a patch, in patches."""
    centre = torch.stack([patch % GRID, patch // GRID], dim=-1) + 0.5
    return boxes * GRID - centre.repeat(1, 2)


def detector_loss(predicted: Tensor, boxes: Tensor, classes: Tensor, colors: Tensor, nouns: int) -> Tensor:
    """Return the loss of a batch."""
    image, obj, patch = targets(boxes, classes)
    there = torch.zeros(predicted.shape[:2], device=predicted.device)
    there[image, patch] = 1
    found = functional.binary_cross_entropy_with_logits(predicted[..., 0], there)
    edges, named, colored = predicted[image, patch, 1:].split([4, nouns, predicted.shape[-1] - 5 - nouns], dim=-1)
    placed = functional.smooth_l1_loss(edges, offsets(boxes[image, obj], patch), beta=0.05)
    named = functional.cross_entropy(named, classes[image, obj])
    return 20 * found + 2 * placed + named + functional.cross_entropy(colored, colors[image, obj])


def vary(images: Tensor) -> Tensor:
    """Return images (channel first, from -1 to 1) with noise, blur and another exposure, each more or less."""
    count = len(images)
    amount = torch.rand(3, count, 1, 1, 1, device=images.device)
    blurred = functional.avg_pool2d(functional.pad(images, (1, 1, 1, 1), mode="replicate"), 3, 1)
    images = images + (blurred - images) * (amount[0] - 0.3).clamp(min=0)
    images = images * (0.96 + 0.08 * amount[1])
    return images + torch.randn_like(images) * (0.25 * (amount[2] - 0.3).clamp(min=0))


@torch.no_grad()
def check(detector: nn.Module, images: Tensor, boxes: Tensor, classes: Tensor, colors: Tensor) -> str:
    """Return how much of held-out drawings is read right."""
    predicted = torch.cat([detector(to_patches(part.float() / 127.5 - 1)) for part in images.split(500)]).float()
    image, obj, patch = targets(boxes, classes)
    nouns = detector.classes
    there = torch.zeros(predicted.shape[:2], dtype=torch.bool, device=predicted.device)
    there[image, patch] = True
    at = predicted[image, patch]
    right = (at[:, 5 : 5 + nouns].argmax(-1) == classes[image, obj]) & (
        at[:, 5 + nouns :].argmax(-1) == colors[image, obj]
    )
    missed = (at[:, 1:5] - offsets(boxes[image, obj], patch)).abs() * PATCH
    whole = ((predicted[..., 0] > 0) == there).all(1)
    whole[image[~right]] = False
    return (
        f"found {(at[:, 0] > 0).float().mean():.4f}, class and colour {right.float().mean():.4f}, "
        f"edges off by {missed.mean():.2f} pixels, whole images {whole.float().mean():.3f}"
    )


def main() -> None:
    """Train, and write the weights."""
    parser = argparse.ArgumentParser(description="Train the detector of small images.")
    parser.add_argument("folder", type=Path, help="where data.py wrote its files; checkpoints are kept there")
    parser.add_argument("--out", type=Path, required=True, help="the file of weights to write")
    parser.add_argument("--small", action="store_true", help="a short training, for a CPU")
    parser.add_argument("--stop-after", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with np.load(args.folder / "instructions.npz") as file:
        words = {"classes": file["class_names"], "colors": file["color_names"]}
    with np.load(args.folder / "crowded.npz") as file:
        images, boxes, classes, colors = (
            torch.from_numpy(file[name]).to(device) for name in ("images", "boxes", "classes", "colors")
        )
    classes, colors = classes.long(), colors.long()
    held = min(HELD_OUT, len(images) // 10)
    detector = Detector(len(words["classes"]), len(words["colors"])).to(device)
    forward = compiled(detector)

    def loss_of() -> Tensor:
        number = torch.randint(len(images) - held, (16 if args.small else 256,), device=device)
        varied = vary(images[number].permute(0, 3, 1, 2).float() / 127.5 - 1).permute(0, 2, 3, 1)
        predicted = forward(to_patches(varied)).float()
        return detector_loss(predicted, boxes[number], classes[number], colors[number], detector.classes)

    try:
        trained = train(
            "detector",
            detector,
            loss_of,
            lambda network: check(network, images[-held:], boxes[-held:], classes[-held:], colors[-held:]),
            args.steps or (50 if args.small else 8_000),
            args.folder,
            time.perf_counter() + args.stop_after,
            args.seed,
        )
    except StoppedError as stopped:
        raise SystemExit(f"stopped at {stopped}: start again to resume") from None
    export(args.out, {"": trained}, words)


if __name__ == "__main__":
    main()
