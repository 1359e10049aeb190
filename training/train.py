"""Train `builtin/tiny` from scratch, and write its weights.

    python training/data.py training/build
    python training/train.py training/build --out src/formalimg/baselines/tiny/weights.npz

With `--small`, a smaller network is trained for a short time, to try it on a CPU. A training that was stopped goes on
where its last checkpoint was; `--stop-after` ends it after so many seconds, with a checkpoint.
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
from layouts import facts_hold, make_scenes
from model import GRID, PATCH, SLOTS, Painter, Planner
from torch import Tensor, nn
from torch.nn import functional

from formalimg.baselines.tiny.model import PAINT_STEPS, PLAN_STEPS, WORD_SCALE
from formalimg.baselines.tiny.tokenizer import Tokenizer

X_WORDS = (("left", "right"),)
Y_WORDS = (("above", "below"), ("top", "bottom"), ("upper", "lower"))
"""Words that change places in the mirror."""

AVERAGE = 0.999
"""Weights are averaged over the last thousand steps or so."""


class Plan(NamedTuple):
    """How long and how wide to train."""

    plan_steps: int
    paint_steps: int
    plan_batch: int
    paint_batch: int
    rounds: int
    planner: dict[str, Any]
    painter: dict[str, Any]


FULL = Plan(26_000, 30_000, 2048, 256, 16, {}, {})
SMALL = Plan(150, 60, 64, 16, 1, {"size": 64, "layers": (1, 2)}, {"size": 64, "layers": 2})


class StoppedError(Exception):
    """The time is over; what was learned is in a checkpoint."""


class PlanData:
    """Instructions with layouts; each batch is mirrored and recoloured at random."""

    def __init__(self, path: Path, device: torch.device, rounds: int) -> None:
        with np.load(path) as file:
            self.words, self.classes, self.colors = (
                [str(word) for word in file[name]] for name in ("words", "class_names", "color_names")
            )
            arrays = {
                name: torch.from_numpy(file[name].astype(np.int16)) for name in ("tokens", "classes", "colors", "facts")
            }
            self.aspects = torch.from_numpy(file["aspects"]).to(device)
            self.unseen = torch.from_numpy(file["unseen_colors"]).to(device)
        order = torch.randperm(len(arrays["tokens"]), generator=torch.Generator().manual_seed(1))
        held = max(50, len(order) // 50)
        self.check = {name: array[order[:held]].to(device).long() for name, array in arrays.items()}
        self.train = {name: array[order[held:]].to(device) for name, array in arrays.items()}
        started = time.perf_counter()
        self.numbers, self.boxes = make_scenes(
            self.train["classes"], self.train["facts"], self.aspects, rounds, 1 << 15
        )
        print(
            f"{len(self.numbers):,} scenes of {len(order) - held:,} instructions, {time.perf_counter() - started:.0f} s"
        )
        tokenizer = Tokenizer(self.words)
        self._mirrors = [self._swaps(tokenizer, words, device) for words in (X_WORDS, Y_WORDS)]
        self._color_tokens = torch.tensor([tokenizer.number(color) for color in self.colors], device=device)
        self.vocabulary = len(tokenizer)

    @staticmethod
    def _swaps(tokenizer: Tokenizer, pairs: tuple[tuple[str, str], ...], device: torch.device) -> Tensor:
        table = torch.arange(len(tokenizer))
        for one, other in pairs:
            a, b = tokenizer.number(one), tokenizer.number(other)
            table[a], table[b] = b, a
        return table.to(device)

    def batch(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return tokens, boxes (the canvas is 2 wide), classes and colours of random scenes."""
        device = self.numbers.device
        scene = torch.randint(len(self.numbers), (count,), device=device)
        number = self.numbers[scene]
        tokens, classes, colors = (self.train[name][number].long() for name in ("tokens", "classes", "colors"))
        tokens = tokens[:, : int((tokens != 0).sum(1).max())]
        boxes = self.boxes[scene].float() * 2 - 1
        for axis, table in enumerate(self._mirrors):
            flip = torch.rand(count, device=device) < 0.5
            tokens = torch.where(flip[:, None], table[tokens], tokens)
            flipped = boxes.clone()
            flipped[..., axis], flipped[..., axis + 2] = -boxes[..., axis + 2], -boxes[..., axis]
            boxes = torch.where(flip[:, None, None], flipped, boxes)
        tokens, colors = self._recolor(tokens, classes, colors)
        return tokens, boxes, classes, colors

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


def planner_state(boxes: Tensor, classes: Tensor, colors: Tensor, nouns: int, hues: int) -> Tensor:
    """Return finished layouts as states; empty slots have the class after the last, and boxes of size 0."""
    empty = classes < 0
    label = torch.where(empty, nouns, classes)
    words = [functional.one_hot(label, nouns + 1), functional.one_hot(colors, hues) * ~empty[..., None]]
    return torch.cat([boxes * ~empty[..., None], *(WORD_SCALE * word.float() for word in words)], dim=-1)


def plan_loss(planner: Planner, data: PlanData, count: int) -> Tensor:
    """Return the loss of a random batch: boxes by their distance, classes and colours by their likelihood."""
    tokens, boxes, classes, colors = data.batch(count)
    state = planner_state(boxes, classes, colors, planner.classes, planner.colors)
    moment = torch.rand(count, device=boxes.device)
    now = moment[:, None, None]
    noisy = now * state + (1 - now) * torch.randn_like(state)
    predicted = planner(noisy, moment, tokens).float()
    place, nouns, hues = predicted.split([4, planner.classes + 1, planner.colors], dim=-1)
    there = classes >= 0
    # Late moments count more: there the small steps are made that settle a relation.
    weight = (1 / (1 - moment).clamp(min=0.15)).square() * there.sum(1).reciprocal() / count
    miss = ((place - boxes).square().sum(-1) * there).sum(1)
    label = torch.where(there, classes, planner.classes)
    named = functional.cross_entropy(nouns.flatten(0, 1), label.flatten())
    colored = functional.cross_entropy(hues[there], colors[there])
    return (weight * miss).sum() + 0.5 * named + 0.2 * colored


@torch.no_grad()
def sample_layouts(planner: Planner, tokens: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Return the states of layouts that the planner makes of prompts."""
    text = planner.encode(tokens)
    size = 4 + planner.classes + 1 + planner.colors
    state = torch.randn(len(tokens), SLOTS, size, device=tokens.device, generator=generator)
    for step in range(PLAN_STEPS):
        moment = torch.full((len(tokens),), step / PLAN_STEPS, device=tokens.device)
        goal = planner.expected_state(planner.predict(state, moment, text), WORD_SCALE)
        state = state + (goal - state) / (PLAN_STEPS - step)
    return state


def check_planner(planner: Planner, data: PlanData) -> dict[int, float]:
    """Return by level how often a layout has the right classes and colours, and all facts hold."""
    check = data.check
    state = sample_layouts(planner, check["tokens"])
    boxes, nouns, hues = state.split([4, planner.classes + 1, planner.colors], dim=-1)
    right = torch.where(check["classes"] < 0, planner.classes, check["classes"]) == nouns.argmax(-1)
    colored = (check["colors"] < 0) | (check["colors"] == hues.argmax(-1))
    passed = right.all(1) & colored.all(1) & facts_hold((boxes + 1) / 2, check["facts"])
    level = (check["classes"] >= 0).sum(1)
    return {k: round(passed[level == k].float().mean().item(), 3) for k in sorted(set(level.tolist()))}


class PaintData:
    """Drawn scenes."""

    def __init__(self, path: Path, device: torch.device) -> None:
        with np.load(path) as file:
            self.images = torch.from_numpy(file["images"]).to(device)
            self.boxes = torch.from_numpy(file["boxes"]).to(device)
            self.classes, self.colors = (torch.from_numpy(file[name]).to(device) for name in ("classes", "colors"))

    def batch(self, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return squares of random images, and boxes, classes and colours of what they show."""
        number = torch.randint(len(self.images), (count,), device=self.images.device)
        return (
            to_patches(self.images[number].float() / 127.5 - 1),
            self.boxes[number],
            self.classes[number].long(),
            self.colors[number].long().clamp(min=0),
        )


def to_patches(images: Tensor) -> Tensor:
    """Cut images into squares, row by row."""
    return (
        images.unflatten(1, (GRID, PATCH))
        .unflatten(3, (GRID, PATCH))
        .permute(0, 1, 3, 2, 4, 5)
        .flatten(3)
        .flatten(1, 2)
    )


def paint_loss(painter: Painter, data: PaintData, count: int) -> Tensor:
    """Return the loss of a random batch: how far the predicted pixels are off."""
    patches, boxes, classes, colors = data.batch(count)
    moment = torch.rand(count, device=patches.device)
    moment[: count // 4] = 0  # the first step decides most
    now = moment[:, None, None]
    noisy = now * patches + (1 - now) * torch.randn_like(patches)
    predicted = painter.predict(noisy, moment, painter.place(boxes, classes, colors)).float()
    missed = predicted - patches
    return missed.square().mean() + 0.2 * missed.abs().mean()


@torch.no_grad()
def check_painter(painter: Painter, data: PaintData) -> float:
    """Return by how many levels of 255 painted images are off on average."""
    patches, boxes, classes, colors = data.batch(64)
    places = painter.place(boxes, classes, colors)
    state = torch.randn_like(patches)
    for step in range(PAINT_STEPS):
        moment = torch.full((64,), step / PAINT_STEPS, device=patches.device)
        state = state + (painter.predict(state, moment, places).float() - state) / (PAINT_STEPS - step)
    return ((state - patches).abs().mean() * 127.5).item()


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
    peak: float = 1e-3,
) -> nn.Module:
    """Train a network, from its checkpoint if there is one, and return its averaged weights.

    Raises:
        StoppedError: if the deadline came first.
    """
    path = folder / f"{name}.pt"
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
    torch.manual_seed(1000 + first)
    started = time.perf_counter()

    def keep(step: int) -> None:
        seconds = used + time.perf_counter() - started
        states = {"network": network.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**states, "step": step, "seconds": seconds}, path)

    for step in range(first, steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, peak)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        average.update_parameters(network)
        if (step + 1) % max(1, steps // 20) == 0:
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


@torch.no_grad()
def _average(averages: Sequence[Tensor], weights: Sequence[Tensor], count: Tensor | int) -> None:
    """Move the averages towards the weights: faster in the beginning, so that the first weights are soon forgotten."""
    torch._foreach_lerp_(list(averages), list(weights), max(1 - AVERAGE, 1 / (1 + int(count) / 10)))


def export(out: Path, planner: nn.Module, painter: nn.Module, words: Mapping[str, np.ndarray]) -> None:
    """Write the weights with half precision, and the words that go with them."""
    arrays = {
        f"{name}.{key}": value.detach().cpu().numpy().astype(np.float16)
        for name, network in (("planner", planner), ("painter", painter))
        for key, value in network.state_dict().items()
    }
    with out.open("wb") as file:
        np.savez_compressed(file, **words, **arrays)
    print(f"{out}: {sum(array.size for array in arrays.values()):,} weights, {out.stat().st_size / 2**20:.1f} MiB")


def train_painter(told: argparse.Namespace, device: torch.device, plan: Plan, deadline: float) -> nn.Module:
    """Train the painter on drawn scenes."""
    with np.load(told.folder / "instructions.npz") as file:
        painter = Painter(len(file["class_names"]), len(file["color_names"]), **plan.painter).to(device)
    data = PaintData(told.folder / "drawings.npz", device)
    return train(
        "painter",
        painter,
        lambda: paint_loss(painter, data, plan.paint_batch),
        lambda network: f"off by {check_painter(network, data):.2f} levels",
        told.paint_steps or plan.paint_steps,
        told.folder,
        deadline,
    )


def train_planner(told: argparse.Namespace, device: torch.device, plan: Plan, deadline: float) -> nn.Module:
    """Train the planner on instructions with layouts."""
    data = PlanData(told.folder / "instructions.npz", device, plan.rounds)
    planner = Planner(data.vocabulary, len(data.classes), len(data.colors), **plan.planner).to(device)
    return train(
        "planner",
        planner,
        lambda: plan_loss(planner, data, plan.plan_batch),
        lambda network: check_planner(network, data),
        told.plan_steps or plan.plan_steps,
        told.folder,
        deadline,
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
    told = parser.parse_args()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plan = SMALL if told.small else FULL
    deadline = time.perf_counter() + told.stop_after
    try:
        painter = train_painter(told, device, plan, deadline)
        planner = train_planner(told, device, plan, deadline)
    except StoppedError as stopped:
        raise SystemExit(f"stopped at {stopped}: start again to go on") from None
    with np.load(told.folder / "instructions.npz") as file:
        words = {"words": file["words"], "classes": file["class_names"], "colors": file["color_names"]}
    export(told.out, planner, painter, words)


if __name__ == "__main__":
    main()
