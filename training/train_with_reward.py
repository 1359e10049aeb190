"""Improve a text-to-image model with the dense reward: best-of-n distillation of `builtin/tiny`, on one GPU.

    make train-tiny
    python training/train_with_reward.py training/build/weights.npz --out training/build/tuned.npz

In each round the model makes a group of images of each prompt, formalimg scores them, and the planner learns from the
best of each group. The prompts are new ones; the default suite is only used to measure, before and after.
`--reward vacuous` learns from a reward that can be gamed instead: the share of clauses that hold, where "every cup is
red" holds if there is no cup.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from data import Instruction, read_instruction
from model import GRID, PATCH, Painter, Planner
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.nn import functional
from train import export, planner_state, sample_layouts

from formalimg import load, verify
from formalimg.baselines.tiny import IMAGE_SIZE, load_tiny
from formalimg.baselines.tiny.model import PAINT_STEPS, enlarge
from formalimg.judges.grounders.icons import ground_icons
from formalimg.logic import Formula, best_binding
from formalimg.rewards import Scorer
from formalimg.stats import Observation, compare_paired
from formalimg.suites import Recipe, make_items

READ_SIZE = 512
BANDS = {"Easy": (1, 2, 3), "Medium": (4, 5, 6), "Hard": (7, 8, 9, 10)}


class Task(NamedTuple):
    """A prompt, and what an image of it has to show."""

    id: str
    level: int
    formula: Formula
    instruction: Instruction


class Score(NamedTuple):
    """The reward of an image, and whether it passes; None where it cannot be read."""

    reward: float | None
    passed: bool | None


def read_tasks(items: Sequence[Any]) -> list[Task]:
    """Return the items that the model has slots for."""
    read = [(item, read_instruction(item.spec.formula, item.prompt)) for item in items]
    return [Task(item.id, item.level, item.spec.formula, told) for item, told in read if told is not None]


class Networks:
    """Planner and painter on a device, with their words."""

    def __init__(self, path: Path, device: torch.device) -> None:
        tiny = load_tiny(path)
        self.tokenizer, self.device = tiny.tokenizer, device
        self.words = {"words": tiny.tokenizer.words, "classes": tiny.classes, "colors": tiny.colors}
        with np.load(path) as file:
            states = [
                {name[8:]: torch.from_numpy(file[name].astype(np.float32)) for name in file.files if name[:8] == part}
                for part in ("planner.", "painter.")
            ]
        nouns, hues = len(tiny.classes), len(tiny.colors)
        size, layers = states[0]["slot"].shape[1], tuple(_layers(states[0], name) for name in ("encoder", "decoder"))
        self.planner = Planner(len(tiny.tokenizer), nouns, hues, size, layers).to(device)  # type: ignore[arg-type]
        self.painter = Painter(nouns, hues, states[1]["patch.bias"].shape[0], _layers(states[1], "layers")).to(device)
        self.planner.load_state_dict(states[0])
        self.painter.load_state_dict(states[1])

    def tokens(self, tasks: Sequence[Task]) -> Tensor:
        """Return the tokens of prompts, padded to the same length."""
        encoded = [torch.from_numpy(self.tokenizer.encode(task.instruction.prompt)) for task in tasks]
        return torch.nn.utils.rnn.pad_sequence(encoded, batch_first=True).to(self.device)

    @torch.no_grad()
    def paint(self, state: Tensor) -> NDArray[np.uint8]:
        """Return images of finished layouts."""
        edges = ((state[..., :4] + 1) / 2).clamp(0, 1)
        low, high = torch.minimum(edges[..., :2], edges[..., 2:]), torch.maximum(edges[..., :2], edges[..., 2:])
        low = low.clamp(max=0.98)
        boxes = (torch.cat([low, torch.maximum(high, low + 0.02)], dim=-1) * 1000).round() / 1000
        _, nouns, hues = state.split([4, self.planner.classes + 1, self.planner.colors], dim=-1)
        classes = nouns.argmax(-1)
        classes = torch.where(classes == self.planner.classes, -1, classes)
        places = self.painter.place(boxes, classes, hues.argmax(-1))
        patches = torch.randn(len(state), GRID * GRID, 3 * PATCH * PATCH, device=self.device)
        for step in range(PAINT_STEPS):
            moment = torch.full((len(state),), step / PAINT_STEPS, device=self.device)
            patches = patches + (self.painter.predict(patches, moment, places) - patches) / (PAINT_STEPS - step)
        pixels = patches.reshape(-1, GRID, GRID, PATCH, PATCH, 3).permute(0, 1, 3, 2, 4, 5)
        pixels = pixels.reshape(-1, IMAGE_SIZE, IMAGE_SIZE, 3)
        found: NDArray[np.uint8] = ((pixels + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).cpu().numpy()
        return found


def _layers(state: dict[str, Tensor], name: str) -> int:
    return len({key.split(".")[1] for key in state if key.startswith(f"{name}.")})


_scorer: list[Scorer] = []


def score_group(order: tuple[str, Formula, NDArray[np.uint8]]) -> list[Score]:
    """Score the images of one prompt; runs in a process of its own."""
    reward, formula, pixels = order
    if not _scorer:
        _scorer.append(Scorer())
    images = [enlarge(Image.fromarray(one), READ_SIZE) for one in pixels]
    if reward == "formalimg":
        found = _scorer[0].score_all([(image, formula) for image in images], parts=False)
        return [Score(one.score, one.passed) for one in found]
    scores = []
    for image in images:
        seen = ground_icons(image)
        scene = getattr(seen, "scene", None)
        if scene is None:
            scores.append(Score(None, None))
            continue
        share = best_binding(formula, scene, semantics="classical").share
        scores.append(Score(share, verify(formula, scene).passed))
    return scores


def sample_and_score(
    networks: Networks, tasks: Sequence[Task], group: int, reward: str, pool: ProcessPoolExecutor, seed: int
) -> Iterator[tuple[Task, Tensor, list[Score]]]:
    """Yield for each task the layouts of its group, and the scores of their images."""
    generator = torch.Generator(networks.device).manual_seed(seed)
    torch.manual_seed(seed)
    per_batch = max(1, 2048 // group)
    for start in range(0, len(tasks), per_batch):
        part = tasks[start : start + per_batch]
        state = sample_layouts(networks.planner, networks.tokens(part).repeat_interleave(group, 0), generator)
        images = networks.paint(state).reshape(len(part), group, IMAGE_SIZE, IMAGE_SIZE, 3)
        orders = [(reward, task.formula, pixels) for task, pixels in zip(part, images, strict=True)]
        scores = pool.map(score_group, orders, chunksize=4)
        yield from zip(part, state.unflatten(0, (len(part), group)).cpu(), scores, strict=True)


def measure(networks: Networks, tasks: Sequence[Task], pool: ProcessPoolExecutor) -> list[Observation]:
    """Return the verdicts on one image of each task."""
    found = sample_and_score(networks, tasks, 1, "formalimg", pool, seed=1)
    return [Observation(task.id, task.level, scores[0].passed) for task, _, scores in found]


def learn(networks: Networks, best: Sequence[tuple[Task, Tensor]], steps: int, rate: float) -> float:
    """Train the planner on layouts whose images were the best of their groups, and return the mean loss."""
    planner = networks.planner
    optimizer = torch.optim.AdamW(planner.parameters(), lr=rate, betas=(0.9, 0.98))
    tokens = networks.tokens([task for task, _ in best])
    states = torch.stack([state for _, state in best]).to(networks.device)
    boxes, nouns, hues = states.split([4, planner.classes + 1, planner.colors], dim=-1)
    classes = nouns.argmax(-1)
    empty = classes == planner.classes
    goal = planner_state(boxes, torch.where(empty, -1, classes), hues.argmax(-1), planner.classes, planner.colors)
    total = 0.0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20, 2 * (1 - step / steps))
        chosen = torch.randint(len(best), (min(512, len(best)),), device=networks.device)
        moment = torch.rand(len(chosen), device=networks.device)
        now = moment[:, None, None]
        noisy = now * goal[chosen] + (1 - now) * torch.randn_like(goal[chosen])
        place, named, colored = planner(noisy, moment, tokens[chosen]).split(
            [4, planner.classes + 1, planner.colors], dim=-1
        )
        there = ~empty[chosen]
        weight = (1 / (1 - moment).clamp(min=0.15)).square()[:, None] * there / there.sum(1, keepdim=True).clamp(min=1)
        loss = (weight * (place - boxes[chosen]).square().sum(-1)).sum(1).mean()
        loss = loss + 0.5 * functional.cross_entropy(named.flatten(0, 1), classes[chosen].flatten())
        loss = loss + 0.2 * functional.cross_entropy(colored[there], hues.argmax(-1)[chosen][there])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(planner.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / steps


def report(before: Sequence[Observation], after: Sequence[Observation]) -> None:
    """Print pass rates before and after, and their difference with its interval, item by item."""
    print(f"{'K':8} {'before':>7} {'after':>7}  difference (95 % interval)")
    levels = sorted({one.level for one in before})
    for name, chosen in [*((str(k), (k,)) for k in levels), *BANDS.items(), ("Overall", tuple(levels))]:
        rates = [rate for rate in (_rate(seen, chosen) for seen in (before, after)) if rate is not None]
        if len(rates) < 2:
            continue
        sides = [[one for one in observations if one.level in chosen] for observations in (after, before)]
        found = compare_paired(*sides)
        low, high = found.interval or (float("nan"), float("nan"))
        numbers = [*rates, found.difference, low, high]
        print("{:8} {:7.1f} {:7.1f}  {:+.1f} ({:+.1f} to {:+.1f})".format(name, *(100 * one for one in numbers)))


def _rate(observations: Sequence[Observation], levels: Sequence[int]) -> float | None:
    rates = []
    for level in levels:
        passed = [one.passed for one in observations if one.level == level and one.passed is not None]
        if passed:
            rates.append(sum(passed) / len(passed))
    return sum(rates) / len(rates) if rates else None


def main() -> None:
    """Measure, learn round by round, measure again, and write the weights."""
    parser = argparse.ArgumentParser(description="Improve builtin/tiny with a reward.")
    parser.add_argument("weights", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reward", choices=["formalimg", "vacuous"], default="formalimg")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--per-level", type=int, default=200, help="new prompts of each level in each round")
    parser.add_argument("--levels", type=int, nargs="+", default=list(range(3, 11)))
    parser.add_argument("--group", type=int, default=16, help="images of each prompt")
    parser.add_argument("--keep", type=int, default=2, help="of these, how many to learn from")
    parser.add_argument("--steps", type=int, default=300, help="steps of training in each round")
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate")
    parser.add_argument("--measure", type=int, default=200, help="items of each level to measure with")
    told = parser.parse_args()
    networks = Networks(told.weights, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    held_out: list[Any] = []
    for level in range(1, 11):
        held_out += [item for item in load("knolling") if item.level == level][: told.measure]
    tests = read_tasks(held_out)
    jobs = os.cpu_count() or 1
    with ProcessPoolExecutor(jobs) as pool:
        before = measure(networks, tests, pool)
        for number in range(told.rounds):
            recipe = Recipe("knolling", tuple(told.levels), told.per_level, seed=10_000 + number)
            tasks = read_tasks(make_items(recipe, jobs=jobs).items)
            best: list[tuple[Task, Tensor]] = []
            means, passes = [], []
            for task, states, scores in sample_and_score(networks, tasks, told.group, told.reward, pool, seed=number):
                rewards = np.array([-1.0 if one.reward is None else one.reward for one in scores])
                known = rewards[rewards >= 0]
                if not len(known):
                    continue
                means.append(known.mean())
                passes += [one.passed for one in scores if one.passed is not None]
                order = np.argsort(-rewards, kind="stable")[: told.keep]
                # A group whose images are all alike teaches nothing.
                best += [(task, states[place]) for place in order if rewards[place] > known.mean()]
            loss = learn(networks, best, told.steps, told.rate) if best else float("nan")
            if not means:
                raise SystemExit("no image could be read: train the model longer")
            print(
                f"round {number + 1}: {len(tasks)} prompts, mean reward {np.mean(means):.3f}, "
                f"passed {np.mean(passes):.3f}, learned from {len(best)}, loss {loss:.4f}",
                flush=True,
            )
        report(before, measure(networks, tests, pool))
    export(
        told.out, networks.planner, networks.painter, {name: np.array(words) for name, words in networks.words.items()}
    )


if __name__ == "__main__":
    main()
