"""A layout in the making: where objects lie, and what is still in mind of what was read."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random

from formalimg.baselines.reader.facts import Fact
from formalimg.baselines.reader.placing import best_spot, holds
from formalimg.scenes import Box


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
