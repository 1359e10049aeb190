"""Rollouts of `builtin/tiny` for reinforcement learning: prompts to layouts, images, and scores of these.

A GPU makes the layouts, paints the images and runs the detector on them; processes read and score them meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from data import CLASSES, COLORS, Instruction, draw_prompt, read_instruction
from model import GRID, PATCH, Painter, Planner
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from train import paint, sample_boxes
from train_detector import Detector

import formalimg.judges.grounders
from formalimg import verify
from formalimg.judges.base import Grounding
from formalimg.judges.grounders.icons import ground_icons
from formalimg.logic.soft_score.best_binding import best_binding
from formalimg.logic.syntax import Formula
from formalimg.models.builtin.tiny.model import IMAGE_SIZE, MAX_OBJECTS, fit_boxes, load_tiny
from formalimg.rewards.scorer import Scorer
from formalimg.scenes.objects import CANVAS

AVERAGE = 0.99
"""Images are made with weights that are averaged over the last hundred steps or so."""

BATCH = 1024
"""Images in a batch of painting."""

DETECTOR_WEIGHTS = Path(formalimg.judges.grounders.__file__).with_name("small_icons.npz")

SHARED_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where files are in memory; None where there is no such place."""


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


class Tags(NamedTuple):
    """What is taken for objects in prompts: the tokens that name them, their classes, and how likely each colour is.

    Empty places have -1 as anchor and class.
    """

    anchors: Tensor
    classes: Tensor
    chances: Tensor


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
        self.detector.load_state_dict(read_weights(DETECTOR_WEIGHTS, ""))

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
    def tag(self, tokens: Tensor) -> Tags:
        """Return what the policy takes for objects in prompts."""
        planner = self.policy
        scores = [planner.tag(planner.encode(part)) for part in tokens.split(BATCH)]
        class_scores, color_scores = (torch.cat(parts) for parts in zip(*scores, strict=True))
        labels = class_scores.argmax(-1)
        named = (labels < planner.classes) & (tokens != 0)
        places = [row.nonzero()[:MAX_OBJECTS, 0] for row in named]
        anchors = nn.utils.rnn.pad_sequence(places, batch_first=True, padding_value=-1)
        index = anchors.clamp(min=0)
        rows = torch.arange(len(tokens), device=self.device)[:, None]
        return Tags(anchors, torch.where(anchors >= 0, labels[rows, index], -1), color_scores[rows, index].softmax(-1))

    @torch.no_grad()
    def sample(self, tokens: Tensor, tags: Tags, group: int, left_out: float, generator: torch.Generator) -> Sample:
        """Return groups of layouts, one group after the other."""
        anchors, classes, chances = (array.repeat_interleave(group, 0) for array in tags)
        colors = torch.multinomial(chances.flatten(0, 1), 1, generator=generator).view(classes.shape)
        boxes = sample_boxes(self.policy, tokens, tags.anchors, group, generator)
        dropped = torch.rand(classes.shape, device=self.device, generator=generator) < left_out
        return Sample(torch.where(dropped, -1, anchors), torch.where(dropped, -1, classes), colors, boxes)

    @torch.no_grad()
    def paint(self, sample: Sample) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return the images of layouts, and what the detector predicts for their patches."""
        boxes = torch.from_numpy(whole_boxes(sample) / np.float32(CANVAS)).to(self.device)
        patches = paint(self.painter, boxes, sample.classes, sample.colors)
        levels = ((patches + 1) * 127.5).round().clamp(0, 255)
        predicted = self.detector(levels / 127.5 - 1)
        pixels = levels.to(torch.uint8).reshape(-1, GRID, GRID, PATCH, PATCH, 3).permute(0, 1, 3, 2, 4, 5)
        return pixels.reshape(-1, IMAGE_SIZE, IMAGE_SIZE, 3).cpu().numpy(), predicted.cpu().numpy()


def read_weights(path: Path, prefix: str) -> dict[str, Tensor]:
    """Return the weights of a network in a file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name.startswith(prefix)}
    return {
        name.removeprefix(prefix): torch.from_numpy(array.astype(np.float32))
        for name, array in arrays.items()
        if array.dtype == np.float16  # words are in the file too
    }


def _layers(state: dict[str, Tensor], name: str) -> int:
    return len({key.split(".")[1] for key in state if key.startswith(f"{name}.")})


def whole_boxes(sample: Sample) -> NDArray[np.float32]:
    """Return the boxes of layouts in whole coordinates of the canvas, as the model rounds them."""
    fitted = fit_boxes(sample.boxes.cpu().numpy()).reshape(sample.boxes.shape)
    rounded: NDArray[np.float32] = np.round(fitted * np.float32(CANVAS))
    return rounded


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
    scenes = {place: one.scene for place, one in enumerate(read) if isinstance(one, Grounding)}
    scores = [Score(None, None)] * len(read)
    if job.reward == "vacuous":
        for place, scene in scenes.items():
            share = best_binding(job.formula, scene, semantics="classical").share
            scores[place] = Score(share, verify(job.formula, scene).passed)
    else:
        scored = _scorer().score_all([(scene, job.formula) for scene in scenes.values()], parts=False)
        for place, one in zip(scenes, scored, strict=True):
            scores[place] = Score(one.score, one.passed)
    return scores


@cache
def _scorer() -> Scorer:
    return Scorer()


class Rollout(NamedTuple):
    """Tasks with their tokens, the layouts that were made of them, group by group, and scores of their images."""

    tasks: list[Task]
    tokens: Tensor
    sample: Sample
    scores: list[list[Score]]


def roll_out(
    networks: Networks,
    tasks: list[Task],
    group: int,
    reward: str,
    pool: ProcessPoolExecutor,
    seed: int,
    left_out: float = 0.0,
) -> Rollout:
    """Make a group of images of each task, and score them."""
    generator = torch.Generator(networks.device).manual_seed(seed)
    torch.manual_seed(seed)
    tokens = networks.tokens(tasks)
    tags = networks.tag(tokens)
    per_batch = max(1, BATCH // group)
    samples, scores = [], []
    with TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        for start in range(0, len(tasks), per_batch):
            part = slice(start, start + per_batch)
            samples.append(
                networks.sample(tokens[part], Tags(*(array[part] for array in tags)), group, left_out, generator)
            )
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
    return Rollout(tasks, tokens, whole, found)
