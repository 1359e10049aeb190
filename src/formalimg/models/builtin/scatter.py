"""The scatter baseline: an image model that draws the named objects at random places. It marks chance level."""

from __future__ import annotations

from random import Random

import numpy as np

from formalimg.models.builtin.mentions import EntityTracker, ObjectMention, PromptToken, TextCue, find_tokens
from formalimg.models.builtin.placement import SCALES, candidate_boxes
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene


def compose_scattered(prompt: str, seed: int = 0) -> Scene:
    """Return the objects that a prompt names, each in a random size and place; empty if none of them can be drawn.

    Colours are those that stand with a noun ("a red cup", "the cup is red"). All other words are ignored.
    """
    rng = Random(f"{seed} {prompt}")
    entities = EntityTracker()
    for sentence in find_tokens(prompt):
        _track(sentence, entities)
    boxes: dict[int, Box] = {}
    for obj, entity in entities:
        box = _random_box(entity.label, boxes, rng)
        if box is not None:
            boxes[obj] = box
    return entities.scene(boxes, rng)


def _track(sentence: list[PromptToken], entities: EntityTracker) -> None:
    """Add the objects of a sentence, with their colours."""
    for index, token in enumerate(sentence):
        if isinstance(token, ObjectMention):
            group = entities.resolve(token)
            match sentence[index + 1 : index + 3]:
                case [TextCue("verb"), TextCue("color", (color,))]:
                    entities.paint(group, color)


def _random_box(label: str, boxes: dict[int, Box], rng: Random) -> Box | None:
    """Return a random free box of a random size; of any size that fits, if there is none of that size."""
    candidates = candidate_boxes(label)
    free = candidates.free(boxes.values())
    of_size = free & (candidates.scale == rng.randrange(len(SCALES)))
    choices = np.flatnonzero(of_size if of_size.any() else free)
    return candidates.box(int(choices[rng.randrange(len(choices))])) if len(choices) else None
