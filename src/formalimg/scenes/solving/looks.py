"""Words for what the formula leaves open: pleasant and varied, by seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from formalimg.logic import vocabulary
from formalimg.scenes.box import Box
from formalimg.scenes.scene_object import SceneObject
from formalimg.scenes.solving.places import OTHER


def dressed(
    boxes: Sequence[Box],
    words: Sequence[Mapping[str, str]],
    mentioned: Mapping[str, Sequence[str]],
    seed: int,
) -> list[SceneObject]:
    """Objects with these boxes and words; words that do not matter are drawn, each before any of them comes twice."""
    chance = random.Random(f"looks {seed}")
    known = vocabulary("knolling").words
    chosen: dict[str, list[str]] = {}
    for kind in ("class", "color"):
        unmentioned = [word for word in known[kind] if word not in mentioned[kind]]
        drawn = _Drawing(list(known[kind]), chance)
        others = _Drawing(unmentioned, chance)
        chosen[kind] = []
        for found in words:
            word = found.get(kind)
            if word is None:  # free: even a word that the formula mentions elsewhere would do
                word = drawn.next()
            chosen[kind].append(others.next() if word == OTHER else word)
    looks = zip(boxes, chosen["class"], chosen["color"], strict=True)
    return [SceneObject(label, box, color) for box, label, color in looks]


def other_style(mentioned: Sequence[str]) -> str:
    """A style that the formula does not mention."""
    return next((style for style in vocabulary("natural").words["style"] if style not in mentioned), "plain")


class _Drawing:
    """Draws words, none twice before all have come."""

    def __init__(self, words: list[str], chance: random.Random) -> None:
        self.words = words
        self.chance = chance
        self.left: list[str] = []

    def next(self) -> str:
        if not self.left:
            self.left = self.chance.sample(self.words, len(self.words)) if self.words else ["thing"]
        return self.left.pop()
