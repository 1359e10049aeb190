"""Train `builtin/tiny` from scratch, and write its weights.

    python training/data.py training/build
    python training/train.py training/build --out src/formalimg/models/builtin/tiny/weights.npz

With `--small`, a smaller network is trained for a short time, to try it on a CPU. A training that was stopped resumes
from its last checkpoint; `--stop-after` stops it after so many seconds, with a checkpoint.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from layouts import facts_hold, make_layouts
from model import GRID, PATCH, Painter, Planner
from torch import Tensor, nn
from torch.nn import functional

from formalimg.models.builtin.tiny.model import PAINT_STEPS, PLAN_STEPS, Tokenizer

X_WORDS = (("left", "right"),)
Y_WORDS = (("above", "below"), ("top", "bottom"), ("upper", "lower"))
"""Words that change places when an image is mirrored."""

AVERAGE = 0.999
"""Weights are averaged over the last thousand steps or so."""


class Schedule(NamedTuple):
    """How long and how wide to train.

    Attributes:
        plan_steps: steps of the planner.
        plan_batch: prompts in a batch.
        group: layouts of each prompt in a batch.
        layouts: different layouts of each prompt.
        paint_steps: steps of the painter.
        paint_batch: images in a batch.
        planner: arguments of the planner network.
        painter: arguments of the painter network.
    """

    plan_steps: int
    plan_batch: int
    group: int
    layouts: int
    paint_steps: int
    paint_batch: int
    planner: dict[str, Any]
    painter: dict[str, Any]


FULL = Schedule(6_000, 512, 4, 12, 12_000, 256, {}, {})
SMALL = Schedule(150, 16, 2, 2, 60, 4, {"size": 64, "layers": (1, 2)}, {"size": 64, "layers": 2})


class StoppedError(Exception):
    """The time is over; what was learned is in a checkpoint."""


class Mirror:
    """Mirrors prompts and their layouts across and upside down at random, which keeps true what is true."""

    def __init__(self, tokenizer: Tokenizer, device: torch.device) -> None:
        self._tables = [torch.arange(len(tokenizer)), torch.arange(len(tokenizer))]
        for table, pairs in zip(self._tables, (X_WORDS, Y_WORDS), strict=True):
            for words in pairs:
                one, other = map(tokenizer.number, words)
                table[one], table[other] = other, one
        self._tables = [table.to(device) for table in self._tables]

    def __call__(self, tokens: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor]:
        """Return tokens of prompts, and boxes of some layouts of each (the canvas is 2 wide)."""
        for axis, table in enumerate(self._tables):
            flip = torch.rand(len(tokens), device=tokens.device) < 0.5
            tokens = torch.where(flip[:, None], table[tokens], tokens)
            flipped = boxes.clone()
            flipped[..., axis], flipped[..., axis + 2] = -boxes[..., axis + 2], -boxes[..., axis]
            boxes = torch.where(flip[:, None, None, None], flipped, boxes)
        return tokens, boxes


class PlanData:
    """Instructions with layouts; each batch is mirrored and recoloured at random."""

    def __init__(self, path: Path, device: torch.device, layouts: int) -> None:
        with np.load(path) as file:
            self.words, self.classes, self.colors = (
                [str(word) for word in file[name]] for name in ("words", "class_names", "color_names")
            )
            names = ("tokens", "anchors", "classes", "colors", "facts")
            arrays = {name: torch.from_numpy(file[name].astype(np.int16)) for name in names}
            self.aspects = torch.from_numpy(file["aspects"]).to(device)
            self.unseen = torch.from_numpy(file["unseen_colors"]).to(device)
        length = int((arrays["tokens"] != 0).sum(1).max())
        arrays["tokens"] = arrays["tokens"][:, : 8 * math.ceil(length / 8)]
        slots = int((arrays["classes"] >= 0).sum(1).max())
        arrays |= {name: arrays[name][:, :slots] for name in ("anchors", "classes", "colors")}
        order = torch.randperm(len(arrays["tokens"]), generator=torch.Generator().manual_seed(1))
        held = max(50, min(1000, len(order) // 50))
        self.check = {name: array[order[:held]].to(device).long() for name, array in arrays.items()}
        self.train = {name: array[order[held:]].to(device) for name, array in arrays.items()}
        started = time.perf_counter()
        self.layouts, self.found = make_layouts(
            self.train["classes"], self.train["facts"], self.aspects, layouts, 1 << 15
        )
        self.solved = self.found.nonzero()[:, 0]
        print(
            f"{int(self.found.sum()):,} layouts of {len(self.solved):,} of {len(order) - held:,} instructions, "
            f"{time.perf_counter() - started:.0f} s",
            flush=True,
        )
        tokenizer = Tokenizer(self.words)
        self._mirror = Mirror(tokenizer, device)
        self._color_tokens = torch.tensor([tokenizer.number(color) for color in self.colors], device=device)
        self.vocabulary = len(tokenizer)

    def batch(self, prompts: int, group: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return tokens, anchors, classes, colours of random prompts, and boxes of layouts (the canvas is 2 wide)."""
        device = self.layouts.device
        number = self.solved[torch.randint(len(self.solved), (prompts,), device=device)]
        tokens, anchors, classes, colors = (
            self.train[name][number].long() for name in ("tokens", "anchors", "classes", "colors")
        )
        chosen = (torch.rand(prompts, group, device=device) * self.found[number, None]).long()
        boxes = self.layouts[number[:, None], chosen].float() * 2 - 1
        tokens, boxes = self._mirror(tokens, boxes)
        tokens, colors = self._recolor(tokens, classes, colors)
        return tokens, anchors, classes, colors, boxes.flatten(0, 1)

    def _recolor(self, tokens: Tensor, classes: Tensor, colors: Tensor) -> tuple[Tensor, Tensor]:
        """Permute the colours of each instruction, unless a held-out pair comes of it; choose those not said."""
        count, hues = len(tokens), len(self.colors)
        shuffle = torch.rand(count, hues, device=tokens.device).argsort(1)
        label = classes.clamp(min=0)
        said = colors >= 0
        moved = shuffle.gather(1, colors.clamp(min=0))
        bad = (self.unseen[label, moved] & said).any(1)
        shuffle = torch.where(bad[:, None], torch.arange(hues, device=tokens.device), shuffle)
        moved = shuffle.gather(1, colors.clamp(min=0))
        table = torch.arange(self.vocabulary, device=tokens.device).repeat(count, 1)
        table[:, self._color_tokens] = self._color_tokens[shuffle]
        free = torch.rand(*label.shape, hues, device=tokens.device).masked_fill(self.unseen[label], -1).argmax(-1)
        return table.gather(1, tokens), torch.where(said, moved, free)


def plan_loss(
    planner: Planner,
    forward: Callable[..., tuple[Tensor, Tensor, Tensor]],
    batch: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
) -> Tensor:
    """Return the loss of a batch: boxes by their distance, tags of tokens by their likelihood."""
    tokens, anchors, classes, colors, boxes = batch
    moment = torch.rand(len(boxes), device=boxes.device)
    now = moment[:, None, None]
    noisy = now * boxes + (1 - now) * torch.randn_like(boxes)
    predicted, class_scores, color_scores = forward(noisy, moment, tokens, anchors)
    there = anchors >= 0
    group = len(boxes) // len(tokens)
    # Late moments count more: there the small steps are made that settle a relation.
    weight = (1 / (1 - moment).clamp(min=0.1)).square() / there.sum(1).repeat_interleave(group, 0) / len(boxes)
    miss = ((predicted.float() - boxes).square().sum(-1) * there.repeat_interleave(group, 0)).sum(1)
    tags = torch.where(tokens != 0, planner.classes, -100)
    prompt, obj = there.nonzero(as_tuple=True)
    tags[prompt, anchors[prompt, obj]] = classes[prompt, obj]
    named = functional.cross_entropy(class_scores.float().flatten(0, 1), tags.flatten())
    colored = functional.cross_entropy(color_scores.float()[prompt, anchors[prompt, obj]], colors[prompt, obj])
    return (weight * miss).sum() + named + 0.2 * colored


@torch.no_grad()
def sample_boxes(
    planner: Planner, tokens: Tensor, anchors: Tensor, group: int, generator: torch.Generator | None = None
) -> Tensor:
    """Return the boxes that the planner makes of prompts: so many layouts of each, one after the other."""
    features = planner.encode(tokens)
    shape = (len(tokens) * group, anchors.shape[1], 4)
    boxes = torch.randn(shape, device=tokens.device, generator=generator)
    for step in range(PLAN_STEPS):
        moment = torch.full((len(boxes),), step / PLAN_STEPS, device=tokens.device)
        goal = planner.predict(boxes, moment, features, tokens, anchors)
        boxes = boxes + (goal.float() - boxes) / (PLAN_STEPS - step)
    return boxes


@torch.no_grad()
def check_planner(planner: Planner, data: PlanData) -> dict[int, float]:
    """Return by level how often the tags of a prompt are right and all facts of a layout hold."""
    check = data.check
    tokens, anchors = check["tokens"], check["anchors"]
    class_scores, color_scores = planner.tag(planner.encode(tokens))
    there = anchors >= 0
    tags = torch.where(tokens != 0, planner.classes, -1)
    prompt, obj = there.nonzero(as_tuple=True)
    tags[prompt, anchors[prompt, obj]] = check["classes"][prompt, obj]
    right = ((class_scores.argmax(-1) == tags) | (tokens == 0)).all(1)
    hues = color_scores.argmax(-1).gather(1, anchors.clamp(min=0))
    right &= ((check["colors"] < 0) | (check["colors"] == hues)).all(1)
    boxes = sample_boxes(planner, tokens, anchors, 1)
    passed = right & facts_hold((boxes + 1) / 2, check["facts"])
    level = there.sum(1)
    return {k: round(passed[level == k].float().mean().item(), 3) for k in sorted(set(level.tolist()))}


class PaintData:
    """Drawn scenes."""

    def __init__(self, path: Path, device: torch.device) -> None:
        with np.load(path) as file:
            self.images = torch.from_numpy(file["images"]).to(device)
            self.boxes = torch.from_numpy(file["boxes"]).to(device)
            self.classes, self.colors = (torch.from_numpy(file[name]).to(device) for name in ("classes", "colors"))

    def batch(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return patches of random images, and boxes, classes and colours of what they show."""
        number = torch.randint(len(self.images), (count,), device=self.images.device)
        return (
            to_patches(self.images[number].float() / 127.5 - 1),
            self.boxes[number],
            self.classes[number].long(),
            self.colors[number].long().clamp(min=0),
        )


def to_patches(images: Tensor) -> Tensor:
    """Cut images into patches, row by row."""
    return (
        images.unflatten(1, (GRID, PATCH))
        .unflatten(3, (GRID, PATCH))
        .permute(0, 1, 3, 2, 4, 5)
        .flatten(3)
        .flatten(1, 2)
    )


def paint_loss(
    painter: Painter, forward: Callable[..., Tensor], batch: tuple[Tensor, Tensor, Tensor, Tensor]
) -> Tensor:
    """Return the loss of a batch: how far the predicted pixels are off."""
    patches, boxes, classes, colors = batch
    count = len(patches)
    moment = torch.rand(count, device=patches.device)
    moment[: count // 4] = 0  # the first step decides most
    now = moment[:, None, None]
    noisy = now * patches + (1 - now) * torch.randn_like(patches)
    missed = forward(noisy, moment, painter.place(boxes, classes, colors)).float() - patches
    return missed.square().mean() + 0.2 * missed.abs().mean()


@torch.no_grad()
def paint(painter: Painter, boxes: Tensor, classes: Tensor, colors: Tensor) -> Tensor:
    """Return the patches of painted images; colours of pixels are from -1 to 1."""
    places = painter.place(boxes, classes, colors)
    patches = torch.randn(len(boxes), GRID * GRID, 3 * PATCH * PATCH, device=boxes.device)
    for step in range(PAINT_STEPS):
        moment = torch.full((len(boxes),), step / PAINT_STEPS, device=boxes.device)
        patches = patches + (painter(patches, moment, places).float() - patches) / (PAINT_STEPS - step)
    return patches


def check_painter(painter: Painter, data: PaintData) -> float:
    """Return by how many levels of 255 painted images are off on average."""
    patches, *layout = data.batch(64)
    return ((paint(painter, *layout) - patches).abs().mean() * 127.5).item()


def learning_rate(step: int, steps: int, peak: float) -> float:
    """Rise for a short time, then fall to zero along a cosine."""
    warm = min(1.0, (step + 1) / (0.02 * steps + 1))
    return peak * warm * 0.5 * (1 + math.cos(math.pi * step / steps))


def train(
    name: str,
    network: nn.Module,
    loss_of: Callable[[], Tensor],
    report: Callable[[nn.Module], object],
    steps: int,
    folder: Path,
    deadline: float,
    seed: int,
    peak: float = 1e-3,
) -> nn.Module:
    """Train a network, from its checkpoint if there is one, and return its averaged weights.

    Raises:
        StoppedError: if the deadline came first.
    """
    path = folder / f"{name}-{seed}.pt"
    average = torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=_average)
    device = next(network.parameters()).device
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=peak, betas=(0.9, 0.98), weight_decay=0.01, fused=device.type == "cuda"
    )
    first, used = 0, 0.0
    if path.exists():
        kept = torch.load(path, map_location=device, weights_only=True)
        network.load_state_dict(kept["network"])
        average.load_state_dict(kept["average"])
        optimizer.load_state_dict(kept["optimizer"])
        first, used = kept["step"], kept["seconds"]
    torch.manual_seed(1000 * seed + first)
    started = time.perf_counter()

    def keep(step: int) -> None:
        seconds = used + time.perf_counter() - started
        states = {"network": network.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**states, "step": step, "seconds": seconds}, path)

    for step in range(first, steps):
        loss = take_step(network, average, optimizer, loss_of, learning_rate(step, steps, peak))
        if (step + 1) % max(1, steps // 20) == 0 or step == 200:
            seconds = used + time.perf_counter() - started
            found = report(average.module)
            print(
                f"{name} step {step + 1:,} of {steps:,}, {seconds:.0f} s, loss {loss.item():.4f}, {found}", flush=True
            )
        if step % 50 == 0 and time.perf_counter() > deadline:
            keep(step + 1)
            raise StoppedError(f"{name}: {step + 1:,} of {steps:,} steps")
    keep(steps)
    return average.module


def take_step(
    network: nn.Module,
    average: torch.optim.swa_utils.AveragedModel,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[], Tensor],
    rate: float,
) -> Tensor:
    """Take one step of training with this learning rate, and return its loss."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    device = next(network.parameters()).device
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        loss = loss_of()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    average.update_parameters(network)
    return loss


@torch.no_grad()
def _average(averages: Sequence[Tensor], weights: Sequence[Tensor], count: Tensor | int) -> None:
    """Move the averages towards the weights: faster in the beginning, so that the first weights are soon forgotten."""
    torch._foreach_lerp_(list(averages), list(weights), max(1 - AVERAGE, 1 / (1 + int(count) / 10)))


def export(out: Path, networks: Mapping[str, nn.Module], words: Mapping[str, np.ndarray]) -> None:
    """Write the weights of networks, each with a prefix, with half precision, and the words that go with them."""
    arrays = {
        f"{prefix}{key}": value.detach().cpu().numpy().astype(np.float16)
        for prefix, network in networks.items()
        for key, value in network.state_dict().items()
    }
    with out.open("wb") as file:
        np.savez_compressed(file, **words, **arrays)
    print(f"{out}: {sum(array.size for array in arrays.values()):,} weights, {out.stat().st_size / 2**20:.1f} MiB")


def compiled(network: nn.Module) -> Callable[..., Any]:
    """Return the forward pass of a network, compiled where there is a GPU."""
    on_gpu = next(network.parameters()).device.type == "cuda"
    return torch.compile(network.forward) if on_gpu else network.forward


def train_painter(args: argparse.Namespace, device: torch.device, schedule: Schedule, deadline: float) -> nn.Module:
    """Train the painter on drawn scenes."""
    with np.load(args.folder / "instructions.npz") as file:
        painter = Painter(len(file["class_names"]), len(file["color_names"]), **schedule.painter).to(device)
    data = PaintData(args.folder / "drawings.npz", device)
    forward = compiled(painter)
    return train(
        "painter",
        painter,
        lambda: paint_loss(painter, forward, data.batch(schedule.paint_batch)),
        lambda network: f"off by {check_painter(network, data):.2f} levels",
        args.paint_steps or schedule.paint_steps,
        args.folder,
        deadline,
        args.seed,
    )


def train_planner(args: argparse.Namespace, device: torch.device, schedule: Schedule, deadline: float) -> nn.Module:
    """Train the planner on instructions with layouts."""
    data = PlanData(args.folder / "instructions.npz", device, schedule.layouts)
    planner = Planner(data.vocabulary, len(data.classes), len(data.colors), **schedule.planner).to(device)
    forward = compiled(planner)
    return train(
        "planner",
        planner,
        lambda: plan_loss(planner, forward, data.batch(schedule.plan_batch, schedule.group)),
        lambda network: check_planner(network, data),
        args.plan_steps or schedule.plan_steps,
        args.folder,
        deadline,
        args.seed,
    )


def main() -> None:
    """Train both networks and write the weights."""
    parser = argparse.ArgumentParser(description="Train builtin/tiny.")
    parser.add_argument("folder", type=Path, help="where data.py wrote its files; checkpoints are kept there")
    parser.add_argument("--out", type=Path, required=True, help="the file of weights to write")
    parser.add_argument("--small", action="store_true", help="a smaller network and a short training, for a CPU")
    parser.add_argument("--stop-after", type=float, default=math.inf, metavar="SECONDS")
    parser.add_argument("--plan-steps", type=int, default=0)
    parser.add_argument("--paint-steps", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    schedule = SMALL if args.small else FULL
    deadline = time.perf_counter() + args.stop_after
    try:
        painter = train_painter(args, device, schedule, deadline)
        planner = train_planner(args, device, schedule, deadline)
    except StoppedError as stopped:
        raise SystemExit(f"stopped at {stopped}: start again to resume") from None
    with np.load(args.folder / "instructions.npz") as file:
        words = {"words": file["words"], "classes": file["class_names"], "colors": file["color_names"]}
    export(args.out, {"planner.": planner, "painter.": painter}, words)


if __name__ == "__main__":
    main()
