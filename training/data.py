"""Training data of `builtin/tiny`: instructions of Knolling as tokens and facts, and drawn scenes.

    python training/data.py training/build --instructions 100000 --drawings 100000

The instructions come from the synthesis of the package, with its sentences. Left out are those with a combination that
is held out (`formalimg.models.builtin.tiny.model`) and those that state the same as an item of the default suite, be
it mirrored or in other colours; only of a single object there is too little to say for that. Layouts are not made here:
`layouts.py` finds them on the GPU.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from formalimg import load
from formalimg.benchmarks.formal.synthesis.knolling import draw_knolling
from formalimg.drawing.icon_scene import draw, natural_aspect
from formalimg.language.lexicon import WordingError
from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula, Value, atoms
from formalimg.logic.variables import rename_apart
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.builtin.mentions import prompt_lexicon
from formalimg.models.builtin.tiny.model import (
    IMAGE_SIZE,
    MAX_TOKENS,
    MAX_TRAINED_LEVEL,
    Tokenizer,
    is_unseen_color,
    split_words,
    unseen_in,
)
from formalimg.scenes.objects import CANVAS, Box, SceneObject
from formalimg.scenes.rules import BINARY_RULES, UNARY_RULES
from formalimg.scenes.scene import Scene

SLOTS = 10
"""The most objects of an instruction or a drawing that is trained on."""

MAX_FACTS = 24
"""The most geometric facts of an instruction that is trained on."""

MIN_SIDE = 48
"""Objects are at least so wide and high, on a canvas of 1000: six pixels of the painter's images."""

UNARY, BINARY = tuple(UNARY_RULES), tuple(BINARY_RULES)
PREDICATES = (*UNARY, *BINARY)
MIRRORED = (
    {"OnLeftSide": "OnRightSide", "LeftOf": "RightOf"},
    {"OnTopSide": "OnBottomSide", "Above": "Below"},
)
"""Predicates that change places when an image is mirrored across, and upside down."""

CLASSES, COLORS = vocabulary("knolling").words["class"], vocabulary("knolling").words["color"]
SHARES = (0.06, 0.14, 0.2, 0.2, 0.2, 0.2)
"""How much of the instructions is of each level from 1 on."""


class Instruction(NamedTuple):
    """A prompt, and what it says of its objects, which are in the order in which they are first named.

    Attributes:
        prompt: the sentences.
        anchors: the token that names each object first: the last word of its noun.
        classes: the class of each object.
        colors: the colour of each; -1 if none is said.
        facts: index in `PREDICATES`, and objects; the predicates of one object have -1 as second.
    """

    prompt: str
    anchors: tuple[int, ...]
    classes: tuple[int, ...]
    colors: tuple[int, ...]
    facts: tuple[tuple[int, int, int], ...]


def draw_instruction(level: int, seed: str) -> Instruction | None:
    """Draw an instruction; None if it is rejected, or if a part of it is held out."""
    found = draw_prompt(level, seed, held_out=False)
    return None if found is None else found[1]


def draw_prompt(level: int, seed: str, *, held_out: bool) -> tuple[Formula, Instruction] | None:
    """Draw a formula and its prompt; None if it is rejected, or if an item of the default suite states the same.

    Args:
        level: of the formula.
        seed: of its choices.
        held_out: whether it may have a part that is held out of the training.
    """
    rng = random.Random(seed)
    formula = draw_knolling(level, rng)
    if formula is None or (not held_out and unseen_in(formula, level)):
        return None
    formula = parse(str(rename_apart(formula)))
    try:
        prompt = realize(formula, "knolling", seed=rng.randrange(2**31))
    except WordingError:
        return None
    found = read_instruction(formula, prompt)
    if found is None or (level > 1 and signature(found) in _default_signatures()):
        return None
    return formula, found


def read_instruction(formula: Formula, prompt: str) -> Instruction | None:
    """Return what a formula says, with its objects in the order of the prompt; None if it does not fit the model."""
    stated = list(atoms(formula))
    label_of = {atom.variables[0]: _word(atom.arguments[1]) for atom in stated if atom.predicate == "Is"}
    anchors = first_mentions(prompt)
    if len(label_of) > SLOTS or set(label_of.values()) != set(anchors) or len(anchors) < len(label_of):
        return None
    order = sorted(label_of, key=lambda name: anchors[label_of[name]])
    slot = {name: number for number, name in enumerate(order)}
    colors = [-1] * len(order)
    facts = []
    for atom in stated:
        places = [slot[name] for name in atom.variables]
        if atom.predicate == "Has":
            colors[places[0]] = COLORS.index(_word(atom.arguments[1]))
        elif atom.predicate in PREDICATES:
            facts.append((PREDICATES.index(atom.predicate), places[0], places[1] if len(places) > 1 else -1))
    if len(facts) > MAX_FACTS:
        return None
    labels = [label_of[name] for name in order]
    return Instruction(
        prompt,
        tuple(anchors[label] for label in labels),
        tuple(map(CLASSES.index, labels)),
        tuple(colors),
        tuple(facts),
    )


def first_mentions(prompt: str) -> dict[str, int]:
    """Return the token at which each class is first named."""
    words, nouns = split_words(prompt)[:MAX_TOKENS], prompt_lexicon().nouns
    found: dict[str, int] = {}
    index = 0
    while index < len(words):
        noun = nouns.longest_at(words, index)
        length = 1 if noun is None else noun[1]
        if noun is not None:
            found.setdefault(noun[0].label, index + length - 1)
        index += length
    return found


Signature: TypeAlias = tuple[tuple[str, ...], ...]


def signature(instruction: Instruction) -> Signature:
    """Return what is stated, the same for all mirror images and choices of colours."""
    names = [CLASSES[label] for label in instruction.classes]
    colored = [("colored", name) for name, color in zip(names, instruction.colors, strict=True) if color >= 0]
    variants = []
    for across, down in product((False, True), repeat=2):
        swaps = {
            a: b for chosen, pairs in zip((across, down), MIRRORED, strict=True) if chosen for a, b in pairs.items()
        }
        swaps |= {b: a for a, b in swaps.items()}
        facts = [
            (swaps.get(PREDICATES[fact], PREDICATES[fact]), *(names[place] for place in places if place >= 0))
            for fact, *places in instruction.facts
        ]
        variants.append(tuple(sorted([*facts, *colored, *((name,) for name in names)])))
    return min(variants)


@cache
def _default_signatures() -> frozenset[Signature]:
    read = (read_instruction(item.spec.formula, item.prompt) for item in load("knolling"))
    return frozenset(signature(one) for one in read if one is not None)


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
    """Return instructions as arrays: tokens, anchors, classes, colours, facts; what is not there is 0 or -1."""
    count = len(found)
    tokens = np.zeros((count, MAX_TOKENS), dtype=np.uint8 if len(tokenizer) < 256 else np.uint16)
    classes, colors = np.full((2, count, SLOTS), -1, dtype=np.int8)
    anchors = np.full((count, SLOTS), -1, dtype=np.int16)
    facts = np.full((count, MAX_FACTS, 3), -1, dtype=np.int8)
    for number, one in enumerate(found):
        encoded = tokenizer.encode(one.prompt)
        tokens[number, : len(encoded)] = encoded
        anchors[number, : len(one.anchors)] = one.anchors
        classes[number, : len(one.classes)] = one.classes
        colors[number, : len(one.colors)] = one.colors
        if one.facts:
            facts[number, : len(one.facts)] = one.facts
    return {"tokens": tokens, "anchors": anchors, "classes": classes, "colors": colors, "facts": facts}


@cache
def _seen_colors(label: int) -> tuple[int, ...]:
    return tuple(n for n, color in enumerate(COLORS) if not is_unseen_color(CLASSES[label], color))


def random_scene(rng: random.Random, crowded: bool) -> tuple[Scene, np.ndarray, np.ndarray, np.ndarray]:
    """Return a scene of objects at random places, and its boxes, classes and colours.

    Objects hardly overlap, except in crowded scenes, where any classes and colours go together.
    """
    boxes = np.zeros((SLOTS, 4), dtype=np.float32)
    classes, colors = np.full((2, SLOTS), -1, dtype=np.int8)
    objects: list[SceneObject] = []
    overlap = rng.choice((0.03, 0.3, 0.6)) if crowded else 0.03
    for _ in range(rng.randint(1 if crowded else 4, 24)):
        label = rng.randrange(len(CLASSES))
        area = 15_000 * 2 ** rng.uniform(-2.2, 2.2)
        shape = natural_aspect(CLASSES[label]) * 2 ** rng.uniform(-0.5, 0.5)
        if rng.random() < 0.15:
            shape = 1 / shape
        width, height = (min(max(side, MIN_SIDE), 480) for side in ((area * shape) ** 0.5, (area / shape) ** 0.5))
        left, top = rng.uniform(0, CANVAS - width), rng.uniform(0, CANVAS - height)
        box = Box(left, top, left + width, top + height)
        hidden = max((_shared_part(box, other.box) for other in objects), default=0.0)
        if hidden > 0 and (rng.random() > overlap or (crowded and hidden > 0.5)):
            continue
        color = rng.randrange(len(COLORS)) if crowded else rng.choice(_seen_colors(label))
        boxes[len(objects)] = np.array(box) / CANVAS
        classes[len(objects)], colors[len(objects)] = label, color
        objects.append(SceneObject(CLASSES[label], box, COLORS[color]))
        if len(objects) == SLOTS:
            break
    return Scene.of(objects), boxes, classes, colors


def _shared_part(one: Box, other: Box) -> float:
    """Return how much of the smaller of two boxes lies in the other."""
    across = min(one.xmax, other.xmax) - max(one.xmin, other.xmin)
    down = min(one.ymax, other.ymax) - max(one.ymin, other.ymin)
    areas = [(box.xmax - box.xmin) * (box.ymax - box.ymin) for box in (one, other)]
    return max(across, 0) * max(down, 0) / min(areas)


def draw_scenes(start: int, count: int, crowded: bool) -> dict[str, np.ndarray]:
    """Draw random scenes, as the painter is to paint them, or crowded ones for the detector."""
    images = np.zeros((count, IMAGE_SIZE, IMAGE_SIZE, 3), dtype=np.uint8)
    boxes = np.zeros((count, SLOTS, 4), dtype=np.float32)
    classes, colors = np.full((2, count, SLOTS), -1, dtype=np.int8)
    for number in range(count):
        rng = random.Random(f"tiny {'crowded ' if crowded else ''}drawing {start + number}")
        scene, boxes[number], classes[number], colors[number] = random_scene(rng, crowded)
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
    np.savez_compressed(
        folder / "instructions.npz", words=tokenizer.words, class_names=CLASSES, color_names=COLORS, aspects=aspects(),
        unseen_colors=np.array([[is_unseen_color(a, b) for b in COLORS] for a in CLASSES]), **arrays,
    )  # fmt: skip
    print(f"{len(unique):,} instructions of {len(tokenizer)} words, {sum(one.prompt.count(' ') for one in unique):,}")


def write_drawings(path: Path, count: int, jobs: int, crowded: bool) -> None:
    """Write a file of drawings."""
    chunk = 500
    with ProcessPoolExecutor(jobs) as pool:
        starts = range(0, count, chunk)
        parts = list(pool.map(partial(_draw_chunk, count, chunk, crowded), starts))
    np.savez(path, **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    print(f"{count:,} drawings in {path.name}")


def _draw_chunk(count: int, chunk: int, crowded: bool, start: int) -> dict[str, np.ndarray]:
    return draw_scenes(start, min(chunk, count - start), crowded)


def main() -> None:
    """Write the files that are asked for."""
    parser = argparse.ArgumentParser(description="Make the training data of builtin/tiny.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true", help="a fiftieth of the data, for a CPU")
    parser.add_argument("--instructions", type=int, metavar="N")
    parser.add_argument("--drawings", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    usual = 2_000 if args.small else 100_000
    write_instructions(args.folder, args.instructions or usual, args.jobs)
    drawings = args.drawings or usual
    write_drawings(args.folder / "drawings.npz", drawings, args.jobs, crowded=False)
    write_drawings(args.folder / "crowded.npz", 3 * drawings // 5, args.jobs, crowded=True)


if __name__ == "__main__":
    main()
