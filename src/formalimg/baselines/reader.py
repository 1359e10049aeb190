"""Front."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random

from formalimg.baselines.mentions import Cast, notice
from formalimg.baselines.placement import Fact, best_spot, holds
from formalimg.baselines.sentence_parser import read_sentence
from formalimg.scenes import Box, Scene


@dataclass
class Layout:
    """Objects that lie on the board. Nothing is ever taken back from the board or laid out anew as a whole.

    Attributes:
        mind: the facts that were read last. Older ones are forgotten: nobody takes care of them any more.
        chance: decides between spots that are equally good.
        labels: the classes of all objects.
        boxes: where those lie that have been placed.
    """

    mind: deque[Fact]
    chance: Random
    labels: dict[int, str] = field(default_factory=dict)
    boxes: dict[int, Box] = field(default_factory=dict)

    def take_in(self, facts: list[Fact]) -> None:
        """Give a place to the objects of a sentence that have none, then mend what does not hold."""
        self.mind.extend(facts)
        for fact in facts:
            for obj in fact.objects:
                self.place(obj)
        for fact in facts:
            if fact in self.mind and self._fails(fact):
                self._mend(fact)

    def place(self, obj: int) -> None:
        """Lay an object where most of what is in mind holds; leave it away if there is no room."""
        if obj in self.boxes:
            return
        box = best_spot(self.labels[obj], obj, self._about(obj), self.boxes, self.chance)
        if box is not None:
            self.boxes[obj] = box

    def _mend(self, fact: Fact) -> None:
        """Move one of the fact's objects so that it holds, and then, once, the neighbours that this has disturbed."""
        for obj in fact.objects:
            disturbed = self._move(obj, fact)
            if disturbed is not None:
                for other in disturbed:
                    self._mend_again(other)
                return

    def _mend_again(self, fact: Fact) -> None:
        """Move one of the fact's objects so that it holds, if that disturbs less than it mends."""
        for obj in fact.objects:
            if self._fails(fact):
                self._move(obj, fact, gain=1)

    def _move(self, obj: int, fact: Fact, gain: int = 0) -> list[Fact] | None:
        """Move an object so that a fact holds and, of the facts in mind about it, fewer fail by the gain.

        Returns the facts that fail then, or None if the object stays where it is.
        """
        about = self._about(obj)
        before = sum(map(self._fails, about))
        stood = self.boxes[obj]
        box = best_spot(self.labels[obj], obj, [*about, fact], self.boxes, self.chance)
        if box is None:
            return None
        self.boxes[obj] = box
        failing = [other for other in about if self._fails(other)]
        if self._fails(fact) or len(failing) > before - gain:
            self.boxes[obj] = stood
            return None
        return failing

    def _about(self, obj: int) -> list[Fact]:
        """What is in mind of an object and of others that have their place."""
        return [
            fact
            for fact in self.mind
            if obj in fact.objects and all(other in self.boxes for other in fact.objects if other != obj)
        ]

    def _fails(self, fact: Fact) -> bool:
        return all(obj in self.boxes for obj in fact.objects) and not holds(fact, self.boxes)


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
