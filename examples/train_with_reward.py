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
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from formalimg import load, verify
from formalimg.baselines.tiny import IMAGE_SIZE, WEIGHTS, load_tiny
from formalimg.baselines.tiny.model import MAX_OBJECTS, fit_boxes
from formalimg.baselines.tiny.tokenizer import MAX_TOKENS
from formalimg.judges import Grounding, ground_icons
from formalimg.logic import Formula, best_binding
from formalimg.rewards import Scorer
from formalimg.scenes import CANVAS, Box, Scene, SceneObject
from formalimg.stats import Observation, PairedDifference, compare_paired

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
from data import CLASSES, COLORS, Instruction, draw_prompt, read_instruction
from model import GRID, PATCH, Painter, Planner
from train import Mirror, export, paint, plan_loss, sample_boxes, to_patches
from train_detector import Detector

BANDS = {"Easy": (1, 2, 3), "Medium": (4, 5, 6), "Hard": (7, 8, 9, 10)}
SHARES = (0.02, 0.06, 0.12, *[0.8 / 7] * 7)
"""How much of the prompts is of each level from 1 on."""

AVERAGE = 0.99
"""Images are made with weights that are averaged over the last hundred steps or so."""

BATCH = 1024
"""Images in a batch of painting."""

WARM_UP = 100
"""Steps in which the learning rate rises."""

REMEMBERED = 8
"""From the layouts of so many rounds is learned."""

SHARED_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


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
    """Layouts: tokens that name the objects, their classes and colours, and boxes, where the image is 2 wide.

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
    def anchors(self, tokens: Tensor) -> Tensor:
        """Return for each prompt the tokens that name objects; -1 in empty places."""
        planner = self.policy
        scores = torch.cat([planner.tag(planner.encode(part))[0] for part in tokens.split(BATCH)])
        named = (scores.argmax(-1) < planner.classes) & (tokens != 0)
        places = [row.nonzero()[:MAX_OBJECTS, 0] for row in named]
        return nn.utils.rnn.pad_sequence(places, batch_first=True, padding_value=-1)

    @torch.no_grad()
    def sample(
        self, tokens: Tensor, anchors: Tensor, group: int, left_out: float, generator: torch.Generator
    ) -> Sample:
        """Return groups of layouts, one group after the other."""
        planner = self.policy
        class_scores, color_scores = planner.tag(planner.encode(tokens))
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
    """The images of one prompt, to be read and scored; they are these rows of the arrays in two files.

    Files are much quicker than a pipe for so many images, of which all but the main process read only a few.
    """

    reward: str
    formula: Formula
    pixels: Path
    predicted: Path
    rows: slice


def score_group(job: Job) -> list[Score]:
    """Read and score the images of one prompt; runs in a process of its own."""
    pixels, predicted = (np.load(path, mmap_mode="r")[job.rows] for path in (job.pixels, job.predicted))
    read = [ground_icons(Image.fromarray(one), found) for one, found in zip(pixels, predicted, strict=True)]
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
    anchors = networks.anchors(tokens)
    per_batch = max(1, BATCH // group)
    samples, scores = [], []
    with TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        for start in range(0, len(tasks), per_batch):
            part = slice(start, start + per_batch)
            samples.append(networks.sample(tokens[part], anchors[part], group, left_out, generator))
            paths = [Path(folder, f"{name}{start}.npy") for name in ("pixels", "predicted")]
            for path, array in zip(paths, networks.paint(samples[-1]), strict=True):
                np.save(path, array)
            jobs = [
                Job(reward, task.formula, *paths, slice(place * group, (place + 1) * group))
                for place, task in enumerate(tasks[part])
            ]
            # The processes read these images while the GPU makes the next ones.
            scores.append(pool.map(score_group, jobs))
        found = [group_scores for part_scores in scores for group_scores in part_scores]
    whole = Sample(*(torch.cat(parts) for parts in zip(*samples, strict=True)))
    return Round(tasks, tokens, whole, found)


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
        self.memory: deque[tuple[Tensor, Sample]] = deque(maxlen=REMEMBERED)
        self.step = 0

    def remember(self, played: Round, keep: int) -> None:
        """Keep the best layouts of a round."""
        group = len(played.scores[0])
        chosen = [
            number * group + place for number, scores in enumerate(played.scores) for place in best_of(scores, keep)
        ]
        rows = torch.tensor(chosen, dtype=torch.long, device=self.networks.device)
        rows = rows[(played.sample.anchors[rows] >= 0).any(1)]
        tokens = nn.functional.pad(played.tokens, (0, MAX_TOKENS - played.tokens.shape[1]))
        layouts = (_pad(array[rows], MAX_OBJECTS) for array in played.sample)
        self.memory.append((tokens[rows // group], Sample(*layouts)))

    def learn(self, steps: int, rate: float) -> float:
        """Take so many steps with this learning rate, and return the mean loss."""
        tokens = torch.cat([one for one, _ in self.memory])
        sample = Sample(*(torch.cat(parts) for parts in zip(*(layouts for _, layouts in self.memory), strict=True)))
        if not len(tokens):
            raise SystemExit("no image is better than others of its prompt: train the model longer")
        tokens = tokens[:, : int((tokens != 0).sum(1).max())]
        sample = Sample(*(array[:, : int((sample.anchors >= 0).nonzero()[:, 1].max()) + 1] for array in sample))
        planner, device = self.networks.planner, self.networks.device
        total = 0.0
        for _ in range(steps):
            for part in self.optimizer.param_groups:
                part["lr"] = rate * min(1.0, (self.step + 1) / WARM_UP)
            rows = torch.randint(len(tokens), (min(self.batch, len(tokens)),), device=device)
            anchors, classes, colors, boxes = (array[rows] for array in sample)
            prompts, mirrored = self.mirror(tokens[rows], boxes[:, None])
            batch = (prompts, anchors, classes, colors.clamp(min=0), mirrored[:, 0])
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = plan_loss(planner, planner, batch)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(planner.parameters(), 1.0)
            self.optimizer.step()
            self.networks.averaged.update_parameters(planner)
            self.step += 1
            total += loss.item()
        return total / steps


def _pad(objects: Tensor, slots: int) -> Tensor:
    missing = objects.new_full((len(objects), slots - objects.shape[1], *objects.shape[2:]), -1)
    return torch.cat([objects, missing], dim=1)


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
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop learning after this time at the latest")
    parser.add_argument("--levels", type=int, nargs="+", default=list(range(1, 11)), metavar="K")
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
    suite = load("knolling")
    tests = read_tasks(
        item for level in args.levels for item in [one for one in suite if one.level == level][: args.measure]
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
            played = play(networks, tasks, args.group, args.reward, pool, number, args.left_out)
            learner.remember(played, args.keep)
            loss = learner.learn(args.steps, args.rate * (1 + math.cos(math.pi * done)) / 2)
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
