"""A layout in the making: where things lie, and what is still in mind of what was read."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random

from formalimg.baselines.reader.facts import Fact
from formalimg.baselines.reader.placing import best_spot, holds
from formalimg.scenes import Box


@dataclass
class Layout:
    """Things that lie on the board. Nothing is ever taken back from the board or laid out anew as a whole.

    Attributes:
        mind: the facts that were read last. Older ones are forgotten: nobody takes care of them any more.
        chance: decides between spots that are equally good.
        labels: the classes of all things.
        boxes: where those lie that have been placed.
    """

    mind: deque[Fact]
    chance: Random
    labels: dict[int, str] = field(default_factory=dict)
    boxes: dict[int, Box] = field(default_factory=dict)

    def take_in(self, facts: list[Fact]) -> None:
        """Give a place to the things of a sentence that have none, then mend what does not hold."""
        self.mind.extend(facts)
        for fact in facts:
            for thing in fact.things:
                self.place(thing)
        for fact in facts:
            if fact in self.mind and self._fails(fact):
                self._mend(fact)

    def place(self, thing: int) -> None:
        """Lay a thing where most of what is in mind holds; leave it away if there is no room."""
        if thing in self.boxes:
            return
        box = best_spot(self.labels[thing], thing, self._about(thing), self.boxes, self.chance)
        if box is not None:
            self.boxes[thing] = box

    def _mend(self, fact: Fact) -> None:
        """Move one of the fact's things so that it holds, and then, once, the neighbours that this has disturbed."""
        for thing in fact.things:
            disturbed = self._move(thing, fact)
            if disturbed is not None:
                for other in disturbed:
                    self._mend_again(other)
                return

    def _mend_again(self, fact: Fact) -> None:
        """Move one of the fact's things so that it holds, if that disturbs less than it mends."""
        for thing in fact.things:
            if self._fails(fact):
                self._move(thing, fact, gain=1)

    def _move(self, thing: int, fact: Fact, gain: int = 0) -> list[Fact] | None:
        """Move a thing so that a fact holds and, of the facts in mind about it, fewer fail by the gain.

        Returns the facts that fail then, or None if the thing stays where it is.
        """
        about = self._about(thing)
        before = sum(map(self._fails, about))
        stood = self.boxes[thing]
        box = best_spot(self.labels[thing], thing, [*about, fact], self.boxes, self.chance)
        if box is None:
            return None
        self.boxes[thing] = box
        failing = [other for other in about if self._fails(other)]
        if self._fails(fact) or len(failing) > before - gain:
            self.boxes[thing] = stood
            return None
        return failing

    def _about(self, thing: int) -> list[Fact]:
        """What is in mind of a thing and of others that have their place."""
        return [
            fact
            for fact in self.mind
            if thing in fact.things and all(other in self.boxes for other in fact.things if other != thing)
        ]

    def _fails(self, fact: Fact) -> bool:
        return all(thing in self.boxes for thing in fact.things) and not holds(fact, self.boxes)
