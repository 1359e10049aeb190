"""Scatter: an image model that knows objects and colours, and puts them anywhere. It marks the level of chance."""

from __future__ import annotations

from random import Random

import numpy as np

from formalimg.baselines.mentions import Cast, Cue, Mention, Noticed, notice
from formalimg.baselines.placement import SCALES, spots
from formalimg.scenes import Box, Scene


def imagine(prompt: str, seed: int = 0) -> Scene:
    """The objects that a prompt names, each once, in any size and place; empty if it names nothing that can be drawn.

    Colours are those that stand with a noun ("a red cup", "the cup is red"). All other words are passed over.
    """
    chance = Random(f"{seed} {prompt}")
    cast = Cast()
    for noticed in notice(prompt):
        _meet(noticed, cast)
    boxes: dict[int, Box] = {}
    for obj, name in cast:
        box = _any_spot(name.label, boxes, chance)
        if box is not None:
            boxes[obj] = box
    return cast.scene(boxes, chance)


def _meet(noticed: list[Noticed], cast: Cast) -> None:
    """Add the objects of a sentence to the cast."""
    for place, seen in enumerate(noticed):
        if isinstance(seen, Mention):
            unit = cast.called(seen)
            match noticed[place + 1 : place + 3]:
                case [Cue("verb"), Cue("color", (color,))]:
                    cast.paint(unit, color)


def _any_spot(label: str, boxes: dict[int, Box], chance: Random) -> Box | None:
    """Any free spot of any size; of the sizes for which there is room, if there is none for the first choice."""
    around = spots(label)
    free = around.free(boxes.values())
    wanted = free & (around.scale == chance.randrange(len(SCALES)))
    choice = np.flatnonzero(wanted if wanted.any() else free)
    return around.box(int(choice[chance.randrange(len(choice))])) if len(choice) else None
