"""Improve a text-to-image model with the dense reward: reinforcement learning of `builtin/tiny`, on one GPU.

    python examples/train_with_reward.py --out tuned.npz

In each round the model makes a group of images of each of many prompts, which are new in every round; `formalimg` reads
and scores them; and the planner learns to make more layouts like those that are better than others of their group,
and fewer like those that are worse. The default suite is only used to measure, before and after.

`--reward vacuous` learns from a reward that can be gamed instead: the share of clauses that hold, where "every cup is
on the left" holds if there is no cup. To give both rewards the same chance, an object is left out now and then.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from formalimg import load, verify
from formalimg.baselines.tiny import IMAGE_SIZE, WEIGHTS, load_tiny
from formalimg.baselines.tiny.model import MAX_OBJECTS, fit_boxes
from formalimg.judges import Grounding, ground_icons
from formalimg.logic import Formula, best_binding
from formalimg.rewards import Scorer
from formalimg.scenes import CANVAS, Box, Scene, SceneObject
from formalimg.stats import Observation, PairedDifference, compare_paired

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from data import CLASSES, COLORS, Instruction, draw_prompt, read_instruction
from model import GRID, PATCH, Painter, Planner
from train import add_noise, box_loss, export, learning_rate, paint, sample_boxes, tag_loss, to_patches
from train_detector import Detector

BANDS = {"Easy": (1, 2, 3), "Medium": (4, 5, 6), "Hard": (7, 8, 9, 10)}
SHARES = (0.02, 0.06, 0.12, *[0.8 / 7] * 7)
"""How much of the prompts is of each level from 1 on."""

LEFT_OUT = 0.02
"""How often an object is left out of an image while learning."""

AVERAGE = 0.98
"""Images are made with weights that are averaged over the last fifty steps or so."""

BATCH = 1024
"""Layouts in a batch of training, and images in a batch of painting."""


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
    """Layouts: anchors, classes and colours of objects, and boxes, where the image is 2 wide.

    Objects that are left out, and empty places, have -1 as anchor and class.
    """

    anchors: Tensor
    classes: Tensor
    colors: Tensor
    boxes: Tensor


def draw_task(level: int, seed: str) -> Task:
    """Draw a prompt that no item of the default suite repeats."""
    found = next(filter(None, (draw_prompt(level, f"{seed} {number}", held_out=True) for number in count())))
    return Task(seed, level, *found)


def read_tasks(items: Iterable[Any]) -> list[Task]:
    """Return the items with what their prompts say."""
    read = [(item, read_instruction(item.spec.formula, item.prompt)) for item in items]
    return [Task(item.id, item.level, item.spec.formula, found) for item, found in read if found is not None]


class Networks:
    """Planner and painter of a model on a device, and the detector that reads its images."""

    def __init__(self, path: Path, device: torch.device) -> None:
        tiny = load_tiny(path)
        self.tokenizer, self.device = tiny.tokenizer, device
        self.words = {"words": tiny.tokenizer.words, "classes": tiny.classes, "colors": tiny.colors}
        nouns, hues = len(tiny.classes), len(tiny.colors)
        planner, painter = read_weights(path, "planner."), read_weights(path, "painter.")
        layers = (_layers(planner, "encoder"), _layers(planner, "decoder"))
        self.planner = Planner(len(tiny.tokenizer), nouns, hues, planner["box.bias"].shape[0], layers).to(device)
        self.painter = Painter(nouns, hues, painter["patch.bias"].shape[0], _layers(painter, "layers")).to(device)
        self.planner.load_state_dict(planner)
        self.painter.load_state_dict(painter)
        self.averaged = torch.optim.swa_utils.AveragedModel(
            self.planner, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(AVERAGE)
        )
        self.detector = Detector(len(CLASSES), len(COLORS)).to(device)
        self.detector.load_state_dict(read_weights(SMALL_ICONS, ""))

    @property
    def policy(self) -> Planner:
        """The planner with averaged weights, which makes the layouts."""
        module = self.averaged.module
        assert isinstance(module, Planner)
        return module

    def tokens(self, tasks: Sequence[Task]) -> Tensor:
        """Return the tokens of prompts, padded to the same length."""
        encoded = [torch.from_numpy(self.tokenizer.encode(task.instruction.prompt)) for task in tasks]
        return nn.utils.rnn.pad_sequence(encoded, batch_first=True).to(self.device)

    @torch.no_grad()
    def sample(self, tokens: Tensor, group: int, left_out: float, generator: torch.Generator) -> Sample:
        """Return groups of layouts, one group after the other."""
        planner = self.policy
        class_scores, color_scores = planner.tag(planner.encode(tokens))
        named = (class_scores.argmax(-1) < planner.classes) & (tokens != 0)
        places = [row.nonzero()[:MAX_OBJECTS, 0] for row in named]
        anchors = nn.utils.rnn.pad_sequence(places, batch_first=True, padding_value=-1)
        index = anchors.clamp(min=0)
        rows = torch.arange(len(tokens), device=self.device)[:, None]
        classes = torch.where(anchors >= 0, class_scores[rows, index].argmax(-1), -1).repeat_interleave(group, 0)
        chances = color_scores[rows, index].softmax(-1).repeat_interleave(group, 0)
        colors = torch.multinomial(chances.flatten(0, 1), 1, generator=generator).view(classes.shape)
        boxes = sample_boxes(planner, tokens, anchors, group, generator)
        dropped = torch.rand(classes.shape, device=self.device, generator=generator) < left_out
        kept = torch.where(dropped, -1, anchors.repeat_interleave(group, 0))
        return Sample(kept, torch.where(dropped, -1, classes), colors, boxes)

    @torch.no_grad()
    def paint(self, sample: Sample) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return the images of layouts, and what the detector predicts for their patches."""
        boxes = torch.from_numpy(whole_boxes(sample) / np.float32(CANVAS)).to(self.device)
        patches = paint(self.painter, boxes, sample.classes, sample.colors)
        pixels = patches.reshape(-1, GRID, GRID, PATCH, PATCH, 3).permute(0, 1, 3, 2, 4, 5)
        pixels = pixels.reshape(-1, IMAGE_SIZE, IMAGE_SIZE, 3)
        levels = ((pixels + 1) * 127.5).round().clamp(0, 255)
        predicted = self.detector(to_patches(levels / 127.5 - 1))
        return levels.to(torch.uint8).cpu().numpy(), predicted.cpu().numpy()


SMALL_ICONS = Path(sys.modules["formalimg.judges"].__path__[0]) / "grounders" / "small_icons.npz"


def read_weights(path: Path, prefix: str) -> dict[str, Tensor]:
    """Return the weights of a network in a file."""
    with np.load(path) as file:
        return {
            name.removeprefix(prefix): torch.from_numpy(file[name].astype(np.float32))
            for name in file.files
            if name.startswith(prefix) and file[name].dtype == np.float16
        }


def _layers(state: dict[str, Tensor], name: str) -> int:
    return len({key.split(".")[1] for key in state if key.startswith(f"{name}.")})


def whole_boxes(sample: Sample) -> NDArray[np.float32]:
    """Return the boxes of layouts in whole coordinates of the canvas, as the model rounds them."""
    fitted = fit_boxes(sample.boxes.cpu().numpy()).reshape(sample.boxes.shape)
    rounded: NDArray[np.float32] = np.round(fitted * np.float32(CANVAS))
    return rounded


_scorer: list[Scorer] = []


class Job(NamedTuple):
    """The images of one prompt, to be read and scored."""

    reward: str
    formula: Formula
    pixels: NDArray[np.uint8]
    predicted: NDArray[np.float32]


def score_group(job: Job) -> list[Score]:
    """Read and score the images of one prompt; runs in a process of its own."""
    read = [ground_icons(Image.fromarray(one), found) for one, found in zip(job.pixels, job.predicted, strict=True)]
    scenes = [one.scene if isinstance(one, Grounding) else None for one in read]
    if job.reward == "vacuous":
        return [
            Score(None, None)
            if scene is None
            else Score(best_binding(job.formula, scene, semantics="classical").share, verify(job.formula, scene).passed)
            for scene in scenes
        ]
    if not _scorer:
        _scorer.append(Scorer())
    scored = iter(_scorer[0].score_all([(scene, job.formula) for scene in scenes if scene is not None], parts=False))
    return [Score(None, None) if scene is None else Score((one := next(scored)).score, one.passed) for scene in scenes]


class Round(NamedTuple):
    """Tasks with their tokens, the layouts that were made of them, group by group, and scores of their images."""

    tasks: list[Task]
    tokens: Tensor
    sample: Sample
    scores: list[list[Score]]


def play(
    networks: Networks,
    tasks: list[Task],
    group: int,
    reward: str,
    pool: ProcessPoolExecutor,
    seed: int,
    left_out: float = 0.0,
) -> Round:
    """Make a group of images of each task, and score them."""
    generator = torch.Generator(networks.device).manual_seed(seed)
    torch.manual_seed(seed)
    tokens = networks.tokens(tasks)
    per_batch = max(1, BATCH // group)
    samples, pending = [], []
    for start in range(0, len(tasks), per_batch):
        part = tasks[start : start + per_batch]
        sample = networks.sample(tokens[start : start + per_batch], group, left_out, generator)
        images = (array.reshape(len(part), group, *array.shape[1:]) for array in networks.paint(sample))
        jobs = [Job(reward, task.formula, *both) for task, *both in zip(part, *images, strict=True)]
        samples.append(sample)
        # The processes read these images while the GPU makes the next ones.
        pending.append(pool.map(score_group, jobs, chunksize=4))
    slots = max(sample.anchors.shape[1] for sample in samples)
    whole = Sample(*(torch.cat([_pad(part, slots) for part in parts]) for parts in zip(*samples, strict=True)))
    return Round(tasks, tokens, whole, [scores for part in pending for scores in part])


def _pad(objects: Tensor, slots: int) -> Tensor:
    missing = objects.new_full((len(objects), slots - objects.shape[1], *objects.shape[2:]), -1)
    return torch.cat([objects, missing], dim=1)


def advantages(scores: Sequence[Score]) -> NDArray[np.float32]:
    """Return how much better each image of a group is than the others: from -1 to 1.

    An image that cannot be read counts as much as the worst of its group.
    """
    known = [one.reward for one in scores if one.reward is not None]
    worst = min(known, default=0.0)
    rewards = np.array([worst if one.reward is None else one.reward for one in scores], dtype=np.float32)
    if len(known) < len(scores) and rewards.std() == 0 and known:
        rewards[[one.reward is None for one in scores]] -= 1  # all that were read are alike
    return np.clip((rewards - rewards.mean()) / (2 * rewards.std() + 1e-4), -1, 1)


class Learner:
    """Trains the planner of networks with the advantages of its layouts."""

    def __init__(self, networks: Networks, steps: int, rate: float, strength: float) -> None:
        self.networks, self.steps, self.rate, self.strength = networks, steps, rate, strength
        self.optimizer = torch.optim.AdamW(networks.planner.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
        self.step = 0

    def learn(self, played: Round, steps: int) -> float:
        """Take so many steps, and return the mean loss."""
        networks = self.networks
        better = torch.from_numpy(np.concatenate([advantages(scores) for scores in played.scores])).to(networks.device)
        group = len(played.scores[0])
        useful = ((better != 0) & (played.sample.anchors >= 0).any(1)).nonzero()[:, 0]
        if not len(useful):
            raise SystemExit("no image is better than others of its prompt: train the model longer")
        total = 0.0
        for _ in range(steps):
            for part in self.optimizer.param_groups:
                part["lr"] = learning_rate(self.step, self.steps, self.rate)
            chosen = useful[torch.randint(len(useful), (min(BATCH, len(useful)),), device=networks.device)]
            sample = Sample(*(array[chosen] for array in played.sample))
            with torch.autocast(networks.device.type, torch.bfloat16, enabled=networks.device.type == "cuda"):
                loss = self.loss(played.tokens[chosen // group], sample, better[chosen])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(networks.planner.parameters(), 1.0)
            self.optimizer.step()
            networks.averaged.update_parameters(networks.planner)
            self.step += 1
            total += loss.item()
        return total / steps

    def loss(self, tokens: Tensor, sample: Sample, better: Tensor) -> Tensor:
        """Return the loss of a batch.

        What the policy predicts for a noisy layout is the mean of all layouts it may come from. The target is that
        prediction, moved towards the layout if its image was better than others, and away from it if it was worse.
        """
        noisy, moment = add_noise(sample.boxes)
        policy = self.networks.policy
        with torch.no_grad():
            before = policy.predict(noisy, moment, policy.encode(tokens), tokens, sample.anchors).float()
        target = before + self.strength * better[:, None, None] * (sample.boxes - before)
        predicted, *scores = self.networks.planner(noisy, moment, tokens, sample.anchors)
        there = sample.anchors >= 0
        tags = tag_loss(
            (scores[0], scores[1]), tokens, sample.anchors, sample.classes, sample.colors, better.clamp(min=0)
        )
        return box_loss(predicted, target, moment, there) + tags


class Measurement(NamedTuple):
    """Verdicts on one image of each task: as read from the image, and of the layout from which it was painted."""

    images: list[Observation]
    layouts: list[Observation]


def measure(networks: Networks, tasks: list[Task], pool: ProcessPoolExecutor) -> Measurement:
    """Make one image of each task, and return the verdicts."""
    played = play(networks, tasks, 1, "formalimg", pool, seed=1)
    images, layouts = [], []
    columns = (whole_boxes(played.sample), played.sample.classes.cpu().numpy(), played.sample.colors.cpu().numpy())
    for task, scores, boxes, classes, colors in zip(tasks, played.scores, *columns, strict=True):
        scene = Scene.of(
            SceneObject(CLASSES[label], Box(*map(int, box)), COLORS[color])
            for box, label, color in zip(boxes, classes, colors, strict=True)
            if label >= 0
        )
        images.append(Observation(task.id, task.level, scores[0].passed))
        layouts.append(Observation(task.id, task.level, verify(task.formula, scene).passed))
    return Measurement(images, layouts)


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


def _compare(name: str, old: list[Observation], new: list[Observation]) -> None:
    rates = " ".join(f"{100 * sum(bool(one.passed) for one in side) / len(side):7.1f}" for side in (old, new))
    print(f"{name:8} {rates}  {_difference(compare_paired(new, old, missing='fail'))}")


def _difference(found: PairedDifference) -> str:
    if found.estimate is None or found.interval is None:
        return "none"
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * number for number in (found.estimate, *found.interval)))


def summary(played: Round) -> dict[str, float]:
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
    parser.add_argument("--prompts", type=int, default=640, help="prompts in each round")
    parser.add_argument("--group", type=int, default=16, help="images of each prompt")
    parser.add_argument("--steps", type=int, default=60, help="steps of training in each round")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate")
    parser.add_argument("--strength", type=float, default=1.0, help="how far a layout moves the prediction")
    parser.add_argument("--measure", type=int, default=200, help="items of each level to measure with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that score images")
    parser.add_argument("--log", type=Path, help="a CSV file for the numbers of each round")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    networks = Networks(args.weights, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    learner = Learner(networks, args.rounds * args.steps, args.rate, args.strength)
    suite = load("knolling")
    tests = read_tasks(
        item for level in range(1, 11) for item in [one for one in suite if one.level == level][: args.measure]
    )
    rng = np.random.default_rng(args.seed)
    rows: list[dict[str, float]] = []
    started = time.perf_counter()
    with ProcessPoolExecutor(args.jobs) as pool:
        before = measure(networks, tests, pool)
        print(f"measured {len(tests)} items, {time.perf_counter() - started:.0f} s", flush=True)
        for number in range(args.rounds):
            levels = sorted(rng.choice(np.arange(1, 11), args.prompts, p=SHARES).tolist())
            seeds = [f"reward {args.seed} {number} {place}" for place in range(args.prompts)]
            tasks = list(pool.map(draw_task, levels, seeds, chunksize=8))
            played = play(networks, tasks, args.group, args.reward, pool, number, LEFT_OUT)
            loss = learner.learn(played, args.steps)
            seconds = time.perf_counter() - started
            rows.append({"round": number + 1, **summary(played), "loss": loss, "seconds": seconds})
            print(", ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()), flush=True)
        report(before, measure(networks, tests, pool))
    if args.log:
        with args.log.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    words = {name: np.array(words) for name, words in networks.words.items()}
    export(args.out, {"planner.": networks.policy, "painter.": networks.painter}, words)


if __name__ == "__main__":
    main()
