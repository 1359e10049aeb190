"""Training data of `builtin/tiny`: instructions of Knolling as tokens and facts, and drawn scenes for the painter.

    python training/data.py training/build --instructions 100000 --drawings 100000

The instructions come from the synthesis of the package, with its sentences. Those with a combination that is held out
(`formalimg.baselines.tiny.unseen`) are left out, and so are the items of the default suite. Layouts are not made here:
`layouts.py` finds them on the GPU, new ones in every epoch.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from formalimg.baselines.mentions import ObjectMention, find_tokens
from formalimg.baselines.tiny.networks import IMAGE_SIZE, SLOTS
from formalimg.baselines.tiny.tokenizer import MAX_TOKENS, Tokenizer
from formalimg.baselines.tiny.unseen import MAX_TRAINED_LEVEL, is_unseen_color, unseen_in
from formalimg.logic import Formula, Value, atoms, parse, rename_apart, vocabulary
from formalimg.scenes import BINARY_RULES, CANVAS, UNARY_RULES, Box, Scene, SceneObject, draw, natural_aspect
from formalimg.suites.formula.synthesis.knolling import draw_knolling
from formalimg.suites.formula.wording import WordingError, realize

MAX_FACTS = 24
"""The most geometric facts of an instruction that is trained on."""

MIN_SIDE = 48
"""Objects are at least so wide and high, on a canvas of 1000: six pixels of the painter's images."""

UNARY, BINARY = tuple(UNARY_RULES), tuple(BINARY_RULES)
CLASSES, COLORS = vocabulary("knolling").words["class"], vocabulary("knolling").words["color"]
SHARES = (0.06, 0.14, 0.2, 0.2, 0.2, 0.2)
"""How much of the instructions is of each level from 1 on."""


class Instruction(NamedTuple):
    """A prompt, and what it says of its objects, which are in the order in which they are first named.

    Attributes:
        prompt: the sentences.
        classes: the class of each object.
        colors: the colour of each; -1 if none is said.
        facts: predicate and objects; the predicates of one object come first, and have -1 as second.
    """

    prompt: str
    classes: tuple[int, ...]
    colors: tuple[int, ...]
    facts: tuple[tuple[int, int, int], ...]


def draw_instruction(level: int, seed: str) -> Instruction | None:
    """Draw an instruction; None if it is rejected, or if a part of it is held out."""
    rng = random.Random(seed)
    formula = draw_knolling(level, rng)
    if formula is None or unseen_in(formula, level):
        return None
    formula = parse(str(rename_apart(formula)))
    try:
        prompt = realize(formula, "knolling", seed=rng.randrange(2**31))
    except WordingError:
        return None
    return read_instruction(formula, prompt)


def read_instruction(formula: Formula, prompt: str) -> Instruction | None:
    """Return what a formula says, with its objects in the order of the prompt; None if it does not fit the model."""
    told = list(atoms(formula))
    label_of = {atom.variables[0]: _word(atom.arguments[1]) for atom in told if atom.predicate == "Is"}
    named = [token.label for sentence in find_tokens(prompt) for token in sentence if isinstance(token, ObjectMention)]
    if len(label_of) > SLOTS or set(label_of.values()) != set(named) or len(set(label_of.values())) < len(label_of):
        return None
    order = sorted(label_of, key=lambda name: named.index(label_of[name]))
    slot = {name: number for number, name in enumerate(order)}
    colors = [-1] * len(order)
    facts = []
    for atom in told:
        places = [slot[name] for name in atom.variables]
        if atom.predicate == "Has":
            colors[places[0]] = COLORS.index(_word(atom.arguments[1]))
        elif atom.predicate in UNARY:
            facts.append((UNARY.index(atom.predicate), places[0], -1))
        elif atom.predicate in BINARY:
            facts.append((len(UNARY) + BINARY.index(atom.predicate), places[0], places[1]))
    if len(facts) > MAX_FACTS:
        return None
    return Instruction(prompt, tuple(CLASSES.index(label_of[name]) for name in order), tuple(colors), tuple(facts))


def _word(argument: object) -> str:
    assert isinstance(argument, Value)
    return argument.text


def draw_level(level: int, start: int, count: int) -> list[Instruction]:
    """Draw so many instructions of a level."""

    def attempts() -> Iterator[Instruction]:
        number = 0
        while True:
            found = draw_instruction(level, f"tiny {level} {start} {number}")
            number += 1
            if found is not None:
                yield found

    return list(islice(attempts(), count))


def instruction_arrays(found: list[Instruction], tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """Return instructions as arrays: tokens, classes, colours, facts; what is not there is 0 or -1."""
    count = len(found)
    tokens = np.zeros((count, MAX_TOKENS), dtype=np.uint8 if len(tokenizer) < 256 else np.uint16)
    classes, colors = np.full((2, count, SLOTS), -1, dtype=np.int8)
    facts = np.full((count, MAX_FACTS, 3), -1, dtype=np.int8)
    for number, one in enumerate(found):
        encoded = tokenizer.encode(one.prompt)
        tokens[number, : len(encoded)] = encoded
        classes[number, : len(one.classes)] = one.classes
        colors[number, : len(one.colors)] = one.colors
        if one.facts:
            facts[number, : len(one.facts)] = one.facts
    return {"tokens": tokens, "classes": classes, "colors": colors, "facts": facts}


@cache
def _seen_colors(label: int) -> tuple[int, ...]:
    return tuple(n for n, color in enumerate(COLORS) if not is_unseen_color(CLASSES[label], color))


def random_scene(rng: random.Random) -> tuple[Scene, np.ndarray, np.ndarray, np.ndarray]:
    """Return a scene of objects at random places, which hardly overlap, and its boxes, classes and colours."""
    boxes = np.zeros((SLOTS, 4), dtype=np.float32)
    classes, colors = np.full((2, SLOTS), -1, dtype=np.int8)
    objects: list[SceneObject] = []
    for _ in range(rng.randint(4, 24)):
        label = rng.randrange(len(CLASSES))
        area = 15_000 * 2 ** rng.uniform(-2.2, 2.2)
        shape = natural_aspect(CLASSES[label]) * 2 ** rng.uniform(-0.5, 0.5)
        if rng.random() < 0.15:
            shape = 1 / shape
        width, height = (min(max(side, MIN_SIDE), 480) for side in ((area * shape) ** 0.5, (area / shape) ** 0.5))
        left, top = rng.uniform(0, CANVAS - width), rng.uniform(0, CANVAS - height)
        box = Box(left, top, left + width, top + height)
        apart = all(
            box.xmax < other.box.xmin or other.box.xmax < box.xmin or box.ymax < other.box.ymin
            or other.box.ymax < box.ymin
            for other in objects
        )  # fmt: skip
        if not apart and rng.random() > 0.03:
            continue
        color = rng.choice(_seen_colors(label))
        boxes[len(objects)] = np.array(box) / CANVAS
        classes[len(objects)], colors[len(objects)] = label, color
        objects.append(SceneObject(CLASSES[label], box, COLORS[color]))
        if len(objects) == SLOTS:
            break
    return Scene.of(objects), boxes, classes, colors


def draw_scenes(start: int, count: int) -> dict[str, np.ndarray]:
    """Draw random scenes, as the painter is to paint them."""
    images = np.zeros((count, IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    boxes = np.zeros((count, SLOTS, 4), dtype=np.float32)
    classes, colors = np.full((2, count, SLOTS), -1, dtype=np.int8)
    for number in range(count):
        rng = random.Random(f"tiny drawing {start + number}")
        scene, boxes[number], classes[number], colors[number] = random_scene(rng)
        images[number] = np.asarray(draw(scene, IMAGE_SIZE))
    return {"images": images, "boxes": boxes, "classes": classes, "colors": colors}


def aspects() -> np.ndarray:
    """Return the natural width by height of each class."""
    return np.array([natural_aspect(label) for label in CLASSES], dtype=np.float32)


def write_instructions(folder: Path, count: int, jobs: int) -> None:
    """Write `instructions.npz`."""
    sizes = [round(count * share) for share in SHARES[:MAX_TRAINED_LEVEL]]
    chunk = max(1, count // 400)
    orders = [
        (level, start, min(chunk, size - start))
        for level, size in reversed(list(enumerate(sizes, start=1)))
        for start in range(0, size, chunk)
    ]
    with ProcessPoolExecutor(jobs) as pool:
        found = [one for part in pool.map(draw_level, *zip(*orders, strict=True)) for one in part]
    unique = list({one.prompt: one for one in found}.values())
    tokenizer = Tokenizer.of_prompts(one.prompt for one in unique)
    arrays = instruction_arrays(unique, tokenizer)
    np.savez(
        folder / "instructions.npz", words=tokenizer.words, class_names=CLASSES, color_names=COLORS, aspects=aspects(),
        unseen_colors=np.array([[is_unseen_color(a, b) for b in COLORS] for a in CLASSES]), **arrays,
    )  # fmt: skip
    print(f"{len(unique):,} instructions of {len(tokenizer)} words, {sum(one.prompt.count(' ') for one in unique):,}")


def write_drawings(folder: Path, count: int, jobs: int) -> None:
    """Write `drawings.npz`."""
    chunk = 500
    with ProcessPoolExecutor(jobs) as pool:
        starts = range(0, count, chunk)
        parts = list(pool.map(partial(_draw_chunk, count, chunk), starts))
    np.savez(folder / "drawings.npz", **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    print(f"{count:,} drawings")


def _draw_chunk(count: int, chunk: int, start: int) -> dict[str, np.ndarray]:
    return draw_scenes(start, min(chunk, count - start))


def main() -> None:
    """Write the files that are asked for."""
    parser = argparse.ArgumentParser(description="Make the training data of builtin/tiny.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true", help="a fiftieth of the data, for a CPU")
    parser.add_argument("--instructions", type=int, metavar="N")
    parser.add_argument("--drawings", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    told = parser.parse_args()
    told.folder.mkdir(parents=True, exist_ok=True)
    usual = 2_000 if told.small else 100_000
    write_instructions(told.folder, told.instructions or usual, told.jobs)
    write_drawings(told.folder, told.drawings or usual, told.jobs)


if __name__ == "__main__":
    main()
