"""From the words of an instruction to a scene: sentence by sentence, and with a short memory."""

from __future__ import annotations

from collections import deque
from random import Random

from formalimg.baselines.cast import Cast
from formalimg.baselines.noticing import notice
from formalimg.baselines.reader.layout import Layout
from formalimg.baselines.reader.sentence import read_sentence
from formalimg.scenes import Scene

MEMORY = 12
"""How many facts are kept in mind. It does for most instructions up to K = 3, and not for long ones."""

_SEVERAL = 2
"""How many are drawn of "every fork"."""


def imagine(prompt: str, seed: int = 0, *, memory: int = MEMORY) -> Scene:
    """The scene that a hasty reader makes of a prompt; empty if the prompt names nothing that can be drawn.

    Each sentence is read once and laid out at once. What was read last is kept in mind, the rest is forgotten, so that
    objects are later placed and moved without regard to it.
    """
    chance = Random(f"{seed} {prompt}")
    cast = Cast(several=_SEVERAL)
    layout = Layout(deque(maxlen=memory), chance)
    for noticed in notice(prompt):
        facts = read_sentence(noticed, cast)
        layout.labels.update((obj, name.label) for obj, name in cast)
        layout.take_in(facts)
    for obj in layout.labels:
        layout.place(obj)
    return cast.scene(layout.boxes, chance)
