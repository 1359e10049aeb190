"""Improve a text-to-image model with the dense reward: best-of-n distillation of `builtin/tiny`, on one GPU.

    formalimg synth knolling --levels 3-10 --per-level 300 --seed 10000 --out prompts
    python examples/train_with_reward.py --items prompts/items.jsonl --out tuned.npz

In each round the model makes a group of images of each prompt, `formalimg` scores them, and the planner learns from the
best of each group. The prompts are new ones; the default suite is only used to measure, before and after.

`--reward vacuous` learns from a reward that can be gamed instead: the share of clauses that hold, where "every cup is
on the left" holds if there is no cup. To give both rewards the same chance, an object is left out now and then.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from formalimg import load, verify
from formalimg.baselines.tiny import IMAGE_SIZE, WEIGHTS, load_tiny
from formalimg.baselines.tiny.model import fit_boxes
from formalimg.judges.grounders.icons import ground_icons
from formalimg.logic import Formula, best_binding
from formalimg.rewards import Scorer
from formalimg.scenes import CANVAS
from formalimg.stats import Observation, PairedDifference, compare_paired

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from data import Instruction, read_instruction
from model import GRID, PATCH, Painter, Planner
from train import export, paint, plan_loss, sample_boxes

BANDS = {"Easy": (1, 2, 3), "Medium": (4, 5, 6), "Hard": (7, 8, 9, 10)}
LEFT_OUT = 0.02
"""How often an object is left out of an image while learning."""


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


class Sample(NamedTuple):
    """The layouts of a group of images: anchors, classes and colours, and boxes, where the image is 2 wide.

    Objects that are left out have -1 as anchor and class.
    """

    anchors: Tensor
    classes: Tensor
    colors: Tensor
    boxes: Tensor


def read_tasks(items: Sequence[Any]) -> list[Task]:
    """Return the items with what their prompts say."""
    read = [(item, read_instruction(item.spec.formula, item.prompt)) for item in items]
    return [Task(item.id, item.level, item.spec.formula, found) for item, found in read if found is not None]


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
        size = states[0]["box.bias"].shape[0]
        layers = (_layers(states[0], "encoder"), _layers(states[0], "decoder"))
        self.planner = Planner(len(tiny.tokenizer), nouns, hues, size, layers).to(device)
        self.painter = Painter(nouns, hues, states[1]["patch.bias"].shape[0], _layers(states[1], "layers")).to(device)
        self.planner.load_state_dict(states[0])
        self.painter.load_state_dict(states[1])

    def tokens(self, tasks: Sequence[Task]) -> Tensor:
        """Return the tokens of prompts, padded to the same length."""
        encoded = [torch.from_numpy(self.tokenizer.encode(task.instruction.prompt)) for task in tasks]
        return torch.nn.utils.rnn.pad_sequence(encoded, batch_first=True).to(self.device)

    @torch.no_grad()
    def sample(self, tasks: Sequence[Task], group: int, left_out: float, generator: torch.Generator) -> Sample:
        """Return groups of layouts, one group after the other."""
        tokens = self.tokens(tasks)
        class_scores, color_scores = self.planner.tag(self.planner.encode(tokens))
        named = (class_scores.argmax(-1) < self.planner.classes) & (tokens != 0)
        anchors = torch.nn.utils.rnn.pad_sequence(
            [row.nonzero()[:, 0] for row in named], batch_first=True, padding_value=-1
        )
        index = anchors.clamp(min=0)
        rows = torch.arange(len(tokens), device=self.device)[:, None]
        classes = torch.where(anchors >= 0, class_scores[rows, index].argmax(-1), -1).repeat_interleave(group, 0)
        chances = color_scores[rows, index].softmax(-1).repeat_interleave(group, 0)
        colors = torch.multinomial(chances.flatten(0, 1), 1, generator=generator).view(classes.shape)
        boxes = sample_boxes(self.planner, tokens, anchors, group, generator)
        dropped = torch.rand(classes.shape, device=self.device, generator=generator) < left_out
        kept = torch.where(dropped, -1, anchors.repeat_interleave(group, 0))
        return Sample(kept, torch.where(dropped, -1, classes), colors, boxes)

    def paint(self, sample: Sample) -> NDArray[np.uint8]:
        """Return the images of layouts."""
        fitted = fit_boxes(sample.boxes.cpu().numpy()).reshape(sample.boxes.shape)
        boxes = torch.from_numpy((fitted * CANVAS).round() / CANVAS).to(self.device)
        patches = paint(self.painter, boxes, sample.classes, sample.colors)
        pixels = patches.reshape(-1, GRID, GRID, PATCH, PATCH, 3).permute(0, 1, 3, 2, 4, 5)
        pixels = pixels.reshape(-1, IMAGE_SIZE, IMAGE_SIZE, 3)
        found: NDArray[np.uint8] = ((pixels + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).cpu().numpy()
        return found


def _layers(state: dict[str, Tensor], name: str) -> int:
    return len({key.split(".")[1] for key in state if key.startswith(f"{name}.")})


_scorer: list[Scorer] = []


def score_group(job: tuple[str, Formula, NDArray[np.uint8]]) -> list[Score]:
    """Score the images of one prompt; runs in a process of its own."""
    reward, formula, pixels = job
    if not _scorer:
        _scorer.append(Scorer())
    images = [Image.fromarray(one) for one in pixels]
    if reward == "formalimg":
        found = _scorer[0].score_all([(image, formula) for image in images], parts=False)
        return [Score(one.score, one.passed) for one in found]
    scores = []
    for image in images:
        scene = getattr(ground_icons(image), "scene", None)
        if scene is None:
            scores.append(Score(None, None))
            continue
        share = best_binding(formula, scene, semantics="classical").share
        scores.append(Score(share, verify(formula, scene).passed))
    return scores


class Group(NamedTuple):
    """A task, the layouts of its images, and their scores."""

    task: Task
    sample: Sample
    scores: list[Score]


def sample_and_score(
    networks: Networks,
    tasks: Sequence[Task],
    group: int,
    reward: str,
    pool: ProcessPoolExecutor,
    seed: int,
    left_out: float = 0.0,
) -> Iterator[Group]:
    """Yield for each task the layouts of its group, and the scores of their images."""
    generator = torch.Generator(networks.device).manual_seed(seed)
    torch.manual_seed(seed)
    per_batch = max(1, 2048 // group)
    for start in range(0, len(tasks), per_batch):
        part = tasks[start : start + per_batch]
        sample = networks.sample(part, group, left_out, generator)
        images = networks.paint(sample).reshape(len(part), group, IMAGE_SIZE, IMAGE_SIZE, 3)
        jobs = [(reward, task.formula, pixels) for task, pixels in zip(part, images, strict=True)]
        layouts = (Sample(*one) for one in zip(*(array.cpu().split(group) for array in sample), strict=True))
        for task, layout, scores in zip(part, layouts, pool.map(score_group, jobs, chunksize=4), strict=True):
            yield Group(task, layout, scores)


def measure(networks: Networks, tasks: Sequence[Task], pool: ProcessPoolExecutor) -> list[Observation]:
    """Return the verdicts on one image of each task."""
    groups = sample_and_score(networks, tasks, 1, "formalimg", pool, seed=1)
    return [Observation(group.task.id, group.task.level, group.scores[0].passed) for group in groups]


def learn(networks: Networks, best: Sequence[tuple[Task, Sample]], steps: int, rate: float) -> float:
    """Train the planner on layouts whose images were the best of their groups, and return the mean loss."""
    planner = networks.planner
    optimizer = torch.optim.AdamW(planner.parameters(), lr=rate, betas=(0.9, 0.98))
    tokens = networks.tokens([task for task, _ in best])
    slots = max(len(sample.anchors) for _, sample in best)
    anchors, classes, colors, boxes = (
        torch.stack([_pad(sample[part], slots) for _, sample in best]).to(networks.device) for part in range(4)
    )
    total = 0.0
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 20, 2 * (1 - step / steps))
        chosen = torch.randint(len(best), (min(512, len(best)),), device=networks.device)
        batch = (tokens[chosen], anchors[chosen], classes[chosen], colors[chosen].clamp(min=0), boxes[chosen])
        with torch.autocast(networks.device.type, torch.bfloat16, enabled=networks.device.type == "cuda"):
            loss = plan_loss(planner, planner, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(planner.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / steps


def _pad(objects: Tensor, slots: int) -> Tensor:
    missing = torch.full((slots - len(objects), *objects.shape[1:]), -1, dtype=objects.dtype)
    return torch.cat([objects, missing])


def report(before: Sequence[Observation], after: Sequence[Observation]) -> None:
    """Print pass rates before and after, and their difference with its interval, item by item.

    An image that cannot be read counts as a failure: the model is asked for one that can.
    """
    print(f"{'K':8} {'before':>7} {'after':>7}  difference (95 % interval)")
    levels = sorted({one.level for one in before})
    for name, chosen in [*((str(k), (k,)) for k in levels), *BANDS.items(), ("Overall", tuple(levels))]:
        old, new = ([one for one in observations if one.level in chosen] for observations in (before, after))
        rates = " ".join(f"{100 * sum(bool(one.passed) for one in side) / len(side):7.1f}" for side in (old, new))
        print(f"{name:8} {rates}  {_difference(compare_paired(new, old, missing='fail'))}")
    print(f"where both images are read: {_difference(compare_paired(after, before))}")
    unread = [sum(one.passed is None for one in observations) for observations in (before, after)]
    print(f"not read: {unread[0]} of {len(before)} before, {unread[1]} after")


def _difference(found: PairedDifference) -> str:
    if found.estimate is None or found.interval is None:
        return "none"
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * number for number in (found.estimate, *found.interval)))


def choose(group: Group, keep: int) -> tuple[list[tuple[Task, Sample]], float | None]:
    """Return the best layouts of a group, if they are better than its mean, and the mean reward of what was read."""
    rewards = np.array([-1.0 if score.reward is None else score.reward for score in group.scores])
    known = rewards[rewards >= 0]
    if not len(known):
        return [], None
    best = np.argsort(-rewards, kind="stable")[:keep]
    # A group whose images are all alike teaches nothing, unless some could not be read.
    mean = float(known.sum() / len(rewards))
    chosen = [place for place in best if rewards[place] > mean and bool((group.sample.anchors[place] >= 0).any())]
    return [(group.task, Sample(*(array[place] for array in group.sample))) for place in chosen], float(known.mean())


def main() -> None:
    """Measure, learn round by round, measure again, and write the weights."""
    parser = argparse.ArgumentParser(description="Improve builtin/tiny with a reward.")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="where to begin; default: those of builtin/tiny")
    parser.add_argument("--items", required=True, help="items to learn from, as `formalimg synth` writes them")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reward", choices=["formalimg", "vacuous"], default="formalimg")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--prompts", type=int, default=480, help="prompts in each round")
    parser.add_argument("--group", type=int, default=10, help="images of each prompt")
    parser.add_argument("--keep", type=int, default=2, help="of these, how many to learn from")
    parser.add_argument("--steps", type=int, default=200, help="steps of training in each round")
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate")
    parser.add_argument("--measure", type=int, default=200, help="items of each level to measure with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that score images")
    parser.add_argument("--log", type=Path, help="a CSV file for the numbers of each round")
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    networks = Networks(args.weights, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    tasks = read_tasks(load("knolling", args.items))
    suite = load("knolling")
    tests = read_tasks(
        [item for level in range(1, 11) for item in [one for one in suite if one.level == level][: args.measure]]
    )
    rng = np.random.default_rng(1)
    rows: list[dict[str, float]] = []
    started = time.perf_counter()
    with ProcessPoolExecutor(args.jobs) as pool:
        before = measure(networks, tests, pool)
        print(f"measured {len(tests)} items, {time.perf_counter() - started:.0f} s", flush=True)
        best: list[tuple[Task, Sample]] = []
        for number in range(args.rounds):
            chosen = [tasks[place] for place in rng.choice(len(tasks), min(args.prompts, len(tasks)), replace=False)]
            means, passes, unread, objects = [], [], 0, []
            fresh: list[tuple[Task, Sample]] = []
            for group in sample_and_score(networks, chosen, args.group, args.reward, pool, number, LEFT_OUT):
                layouts, mean = choose(group, args.keep)
                fresh += layouts
                if mean is not None:
                    means.append(mean)
                passes += [bool(score.passed) for score in group.scores]
                unread += sum(score.reward is None for score in group.scores)
                objects.append(
                    float((group.sample.classes >= 0).float().sum(1).mean()) / len(group.task.instruction.classes)
                )
            if not fresh:
                raise SystemExit("no image is better than others of its prompt: train the model longer")
            best = (best + fresh)[-3 * args.prompts * args.keep :]
            loss = learn(networks, best, args.steps, args.rate)
            row = {
                "round": number + 1, "reward": float(np.mean(means)), "passed": float(np.mean(passes)),
                "unread": unread / len(passes), "objects": float(np.mean(objects)), "loss": loss,
                "seconds": time.perf_counter() - started,
            }  # fmt: skip
            rows.append(row)
            print(", ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
        after = measure(networks, tests, pool)
        report(before, after)
    if args.log:
        with args.log.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    words = {name: np.array(words) for name, words in networks.words.items()}
    export(args.out, {"planner.": networks.planner, "painter.": networks.painter}, words)


if __name__ == "__main__":
    main()
