"""The reader baseline: an image model that understands simple instructions and loses the thread of long ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random

from formalimg.baselines.mentions import EntityTracker, find_tokens
from formalimg.baselines.placement import PlacementFact, best_box, fact_holds
from formalimg.baselines.sentence_parser import parse_sentence
from formalimg.scenes import Box, Scene

DEFAULT_MEMORY = 12
"""How many facts are kept. It does for most instructions up to K = 3, and not for long ones."""

_SEVERAL = 2
"""How many objects are drawn for "every fork"."""


def compose_scene(prompt: str, seed: int = 0, *, memory: int = DEFAULT_MEMORY) -> Scene:
    """Return the scene that a hasty reader makes of a prompt; empty if it names nothing that can be drawn.

    Each sentence is parsed once and laid out at once. Only the latest facts are kept, so that objects are later placed
    and moved without regard to earlier ones.
    """
    rng = Random(f"{seed} {prompt}")
    entities = EntityTracker(several=_SEVERAL)
    layout = ReaderLayout(deque(maxlen=memory), rng)
    for sentence in find_tokens(prompt):
        facts = parse_sentence(sentence, entities)
        layout.labels.update((obj, entity.label) for obj, entity in entities)
        layout.add(facts)
    for obj in layout.labels:
        layout.place(obj)
    return entities.scene(layout.boxes, rng)


@dataclass
class ReaderLayout:
    """A layout in progress. Objects are never removed, and the layout is never restarted.

    Attributes:
        memory: the latest facts; older ones are forgotten, and no longer taken into account.
        rng: decides between equally good boxes.
        labels: the classes of all objects.
        boxes: the boxes of the objects that have been placed.
    """

    memory: deque[PlacementFact]
    rng: Random
    labels: dict[int, str] = field(default_factory=dict)
    boxes: dict[int, Box] = field(default_factory=dict)

    def add(self, facts: list[PlacementFact]) -> None:
        """Place the new objects of a sentence, then repair the facts that do not hold."""
        self.memory.extend(facts)
        for fact in facts:
            for obj in fact.objects:
                self.place(obj)
        for fact in facts:
            if fact in self.memory and self._fails(fact):
                self._repair(fact)

    def place(self, obj: int) -> None:
        """Place an object where most facts in memory hold; leave it out if there is no room."""
        if obj in self.boxes:
            return
        box = best_box(self.labels[obj], obj, self._facts_about(obj), self.boxes, self.rng)
        if box is not None:
            self.boxes[obj] = box

    def _repair(self, fact: PlacementFact) -> None:
        """Move one of the fact's objects so that it holds, and then, once, the neighbours that this has disturbed."""
        for obj in fact.objects:
            disturbed = self._move(obj, fact)
            if disturbed is not None:
                for other in disturbed:
                    self._repair_neighbour(other)
                return

    def _repair_neighbour(self, fact: PlacementFact) -> None:
        """Move one of the fact's objects so that it holds, if that disturbs less than it repairs."""
        for obj in fact.objects:
            if self._fails(fact):
                self._move(obj, fact, gain=1)

    def _move(self, obj: int, fact: PlacementFact, gain: int = 0) -> list[PlacementFact] | None:
        """Move an object so that a fact holds and, of the facts in memory about it, fewer fail by the gain.

        Returns the facts that fail then, or None if the object stays where it is.
        """
        about = self._facts_about(obj)
        before = sum(map(self._fails, about))
        previous = self.boxes[obj]
        box = best_box(self.labels[obj], obj, [*about, fact], self.boxes, self.rng)
        if box is None:
            return None
        self.boxes[obj] = box
        failing = [other for other in about if self._fails(other)]
        if self._fails(fact) or len(failing) > before - gain:
            self.boxes[obj] = previous
            return None
        return failing

    def _facts_about(self, obj: int) -> list[PlacementFact]:
        """Return the facts in memory about an object and others that have been placed."""
        return [
            fact
            for fact in self.memory
            if obj in fact.objects and all(other in self.boxes for other in fact.objects if other != obj)
        ]

    def _fails(self, fact: PlacementFact) -> bool:
        return all(obj in self.boxes for obj in fact.objects) and not fact_holds(fact, self.boxes)
