"""Improve a text-to-image model with the dense reward: best-of-n distillation of `builtin/tiny`, on one GPU.

    python examples/train_with_reward.py --out tuned.npz

In each round the model makes a group of images of each of many prompts, which are new in every round; `formalimg` reads
and scores them; and the planner learns from the best of each group, of this round and the last ones. The default suite
is only used to measure, before and after.

`--reward vacuous` learns from a reward that can be gamed instead: the share of clauses that hold, where "every cup is
on the left" holds if there is no cup. To give both rewards the same chance, an object is left out now and then.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from formalimg import load, verify
from formalimg.benchmarks import suite
from formalimg.logic import Forall, Value, atoms, subformulas
from formalimg.models.builtin.tiny.model import MAX_OBJECTS, MAX_TOKENS, WEIGHTS
from formalimg.scenes import Box, Scene, SceneObject
from formalimg.stats import Observation, PairedDifference, compare_paired

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from data import CLASSES, COLORS
from rollout import Networks, Rollout, Sample, Score, Task, draw_task, read_tasks, roll_out, whole_boxes
from train import Mirror, export, plan_loss, take_step

BANDS = {name: levels for name, levels in suite("knolling").bands.items() if name != "Overall"}
SHARES = (0.02, 0.06, 0.12, *[0.8 / 7] * 7)
"""How much of the prompts is of each level from 1 on."""

WARM_UP = 100
"""Steps in which the learning rate rises."""

REPLAYED = 8
"""From the layouts of so many rounds is learned."""


def best_of(scores: Sequence[Score], keep: int) -> list[int]:
    """Return which images of a group to learn from: so many that pass, or if none does, the best of them.

    A group in which all images are read and score the same teaches nothing.
    """
    passing = [place for place, one in enumerate(scores) if one.reward == 1]
    if len(passing) == len(scores):
        return []
    known = [one.reward for one in scores if one.reward is not None]
    if passing or not known or min(known) == max(known):
        return passing[:keep]
    return [max(range(len(scores)), key=lambda place: scores[place].reward or 0.0)]


class Learner:
    """Trains the planner with the best layouts of the last rounds."""

    def __init__(self, networks: Networks, batch: int) -> None:
        self.networks, self.batch = networks, batch
        self.mirror = Mirror(networks.tokenizer, networks.device)
        self.optimizer = torch.optim.AdamW(networks.planner.parameters(), betas=(0.9, 0.98))
        self.replay: deque[tuple[Tensor, Sample]] = deque(maxlen=REPLAYED)
        self.step = 0

    def add(self, played: Rollout, keep: int) -> None:
        """Keep the best layouts of a round."""
        group = len(played.scores[0])
        chosen = [
            number * group + place for number, scores in enumerate(played.scores) for place in best_of(scores, keep)
        ]
        rows = torch.tensor(chosen, dtype=torch.long, device=self.networks.device)
        rows = rows[(played.sample.anchors[rows] >= 0).any(1)]
        tokens = nn.functional.pad(played.tokens, (0, MAX_TOKENS - played.tokens.shape[1]))
        layouts = (_pad(array[rows], MAX_OBJECTS) for array in played.sample)
        self.replay.append((tokens[rows // group], Sample(*layouts)))

    def learn(self, steps: int, rate: float) -> float:
        """Take so many steps with this learning rate, and return the mean loss."""
        tokens = torch.cat([one for one, _ in self.replay])
        sample = Sample(*(torch.cat(parts) for parts in zip(*(layouts for _, layouts in self.replay), strict=True)))
        if not len(tokens):
            raise SystemExit("no image is better than others of its prompt: train the model longer")
        tokens = tokens[:, : int((tokens != 0).sum(1).max())]
        sample = Sample(*(array[:, : int((sample.anchors >= 0).nonzero()[:, 1].max()) + 1] for array in sample))
        planner, total = self.networks.planner, 0.0

        def loss_of() -> Tensor:
            rows = torch.randint(len(tokens), (min(self.batch, len(tokens)),), device=self.networks.device)
            anchors, classes, colors, boxes = (array[rows] for array in sample)
            prompts, mirrored = self.mirror(tokens[rows], boxes[:, None])
            return plan_loss(planner, planner, (prompts, anchors, classes, colors.clamp(min=0), mirrored[:, 0]))

        for _ in range(steps):
            self.step += 1
            warm = min(1.0, self.step / WARM_UP)
            total += take_step(planner, self.networks.averaged, self.optimizer, loss_of, rate * warm).item()
        return total / steps


def _pad(objects: Tensor, slots: int) -> Tensor:
    missing = objects.new_full((len(objects), slots - objects.shape[1], *objects.shape[2:]), -1)
    return torch.cat([objects, missing], dim=1)


class Measurement(NamedTuple):
    """What came of one image of each task.

    Attributes:
        images: the verdicts, as read from the images.
        layouts: the verdicts on the layouts from which they were painted.
        left_out: for each object of a prompt whether its layout lacks it: of those said of all ("every cup"), and of
            the others.
    """

    images: list[Observation]
    layouts: list[Observation]
    left_out: dict[str, list[bool]]


def measure(networks: Networks, tasks: list[Task], pool: ProcessPoolExecutor) -> Measurement:
    """Make one image of each task, and return the verdicts."""
    played = roll_out(networks, tasks, 1, "formalimg", pool, seed=1)
    found = Measurement([], [], {"every": [], "other": []})
    columns = (whole_boxes(played.sample), played.sample.classes.cpu().numpy(), played.sample.colors.cpu().numpy())
    for task, scores, boxes, classes, colors in zip(tasks, played.scores, *columns, strict=True):
        scene = Scene.of(
            SceneObject(CLASSES[label], Box(*map(int, box)), COLORS[color])
            for box, label, color in zip(boxes, classes, colors, strict=True)
            if label >= 0
        )
        found.images.append(Observation(task.id, task.level, scores[0].passed))
        found.layouts.append(Observation(task.id, task.level, verify(task.formula, scene).passed))
        labels = {obj.label for obj in scene.objects}
        every = {part.variable.name for part in subformulas(task.formula) if isinstance(part, Forall)}
        for atom in atoms(task.formula):
            if atom.predicate == "Is" and isinstance(noun := atom.arguments[1], Value):
                kind = "every" if atom.variables[0] in every else "other"
                found.left_out[kind].append(noun.text not in labels)
    return found


def report(before: Measurement, after: Measurement) -> None:
    """Print pass rates before and after, and their difference with its interval, item by item.

    An image that cannot be read counts as a failure: the model is asked for one that can.
    """
    print(f"{'K':8} {'before':>7} {'after':>7}  difference (95 % interval)")
    levels = sorted({one.level for one in before.images})
    bands = [(name, tuple(k for k in band if k in levels)) for name, band in BANDS.items()]
    for name, chosen in [*((str(k), (k,)) for k in levels), *bands, ("Overall", tuple(levels))]:
        if chosen:
            _compare(name, *([one for one in both.images if one.level in chosen] for both in (before, after)))
    _compare("Layouts", before.layouts, after.layouts)
    print(f"where both images are read: {_difference(compare_paired(after.images, before.images))}")
    unread = [sum(one.passed is None for one in both.images) for both in (before, after)]
    print(f"not read: {unread[0]} of {len(before.images)} before, {unread[1]} after")
    for kind, lacking in before.left_out.items():
        print(f"left out of {len(lacking)} objects ({kind}): {sum(lacking)} before, {sum(after.left_out[kind])} after")


def _compare(name: str, old: list[Observation], new: list[Observation]) -> None:
    rates = " ".join(f"{100 * sum(bool(one.passed) for one in side) / len(side):7.1f}" for side in (old, new))
    print(f"{name:8} {rates}  {_difference(compare_paired(new, old, missing='fail'))}")


def _difference(found: PairedDifference) -> str:
    if found.estimate is None or found.interval is None:
        return "none"
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * number for number in (found.estimate, *found.interval)))


def summary(played: Rollout) -> dict[str, float]:
    """Return the numbers of a round: of its images, and of those of each band that pass."""
    flat = [(task, score) for task, scores in zip(played.tasks, played.scores, strict=True) for score in scores]
    rewards = [score.reward for _, score in flat if score.reward is not None]
    asked = sum(len(task.instruction.classes) for task, _ in flat)
    found = {
        "reward": float(np.mean(rewards)) if rewards else float("nan"),
        "passed": float(np.mean([bool(score.passed) for _, score in flat])),
        "unread": 1 - len(rewards) / len(flat),
        "objects": float((played.sample.classes >= 0).sum()) / asked,
    }
    for name, levels in BANDS.items():
        band = [bool(score.passed) for task, score in flat if task.level in levels]
        found[name] = float(np.mean(band)) if band else float("nan")
    return found


def main() -> None:
    """Measure, learn round by round, measure again, and write the weights."""
    parser = argparse.ArgumentParser(description="Improve builtin/tiny with a reward.")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="where to begin; default: those of builtin/tiny")
    parser.add_argument("--out", type=Path, required=True, help="the file of weights to write")
    parser.add_argument("--reward", choices=["formalimg", "vacuous"], default="formalimg")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop learning after this time at the latest")
    parser.add_argument("--levels", type=int, nargs="+", default=list(range(1, 11)), choices=range(1, 11), metavar="K")
    parser.add_argument("--left-out", type=float, default=0.02, help="how often an object is left out while learning")
    parser.add_argument("--prompts", type=int, default=640, help="prompts in each round")
    parser.add_argument("--group", type=int, default=16, help="images of each prompt")
    parser.add_argument("--keep", type=int, default=4, help="of these, how many to learn from at most")
    parser.add_argument("--steps", type=int, default=50, help="steps of training in each round")
    parser.add_argument("--batch", type=int, default=384, help="layouts in a step of training")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate")
    parser.add_argument("--measure", type=int, default=200, help="items of each level to measure with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that score images")
    parser.add_argument("--log", type=Path, help="a CSV file for the numbers of each round")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    networks = Networks(args.weights, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    learner = Learner(networks, args.batch)
    items = load("knolling")
    tests = read_tasks(
        item for level in args.levels for item in [one for one in items if one.level == level][: args.measure]
    )
    shares = np.array([SHARES[level - 1] for level in args.levels])
    rng = np.random.default_rng(args.seed)
    rows: list[dict[str, float]] = []
    started = time.perf_counter()
    with ProcessPoolExecutor(args.jobs) as pool:
        before = measure(networks, tests, pool)
        print(f"measured {len(tests)} items, {time.perf_counter() - started:.0f} s", flush=True)
        for number in range(args.rounds):
            done = max(number / args.rounds, (time.perf_counter() - started) / (60 * args.minutes))
            if done >= 1:
                break
            levels = sorted(rng.choice(args.levels, args.prompts, p=shares / shares.sum()).tolist())
            seeds = [f"reward {args.seed} {number} {place}" for place in range(args.prompts)]
            tasks = list(pool.map(draw_task, levels, seeds, chunksize=8))
            played = roll_out(networks, tasks, args.group, args.reward, pool, number, args.left_out)
            learner.add(played, args.keep)
            loss = learner.learn(args.steps, args.rate * (1 + math.cos(math.pi * done)) / 2)
            seconds = time.perf_counter() - started
            rows.append({"round": number + 1, **summary(played), "loss": loss, "seconds": seconds})
            print(", ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()), flush=True)
        report(before, measure(networks, tests, pool))
    if args.log and rows:
        with args.log.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    words = {name: np.array(words) for name, words in networks.words.items()}
    export(args.out, {"planner.": networks.policy, "painter.": networks.painter}, words)


if __name__ == "__main__":
    main()
