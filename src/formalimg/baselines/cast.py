"""The objects that a text has named so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from formalimg.baselines.noticing import Mention
from formalimg.logic import vocabulary
from formalimg.scenes import Box, Scene, SceneObject

MAX_OBJECTS = 40
"""No more objects are taken in: the canvas has no room for more."""

Unit: TypeAlias = tuple[int, ...]
"""The numbers of objects that are spoken of together, such as two cups. Mostly it is one object."""


@dataclass
class Name:
    """What objects are called, and their numbers."""

    label: str
    color: str | None
    mark: str | None
    unit: Unit


@dataclass
class Cast:
    """Keeps in mind which objects have been named. `several` is how many "every cup" or "cups" are taken to be."""

    several: int = 1
    names: list[Name] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, Name]]:
        return ((obj, name) for name in self.names for obj in name.unit)

    def called(self, mention: Mention) -> Unit:
        """The objects that a mention means: those that were named so before, or else new ones.

        "A cup" and "the cup" are the same cup: where an instruction speaks of two, a colour or "first" and "second"
        tell them apart.
        """
        name = self._answering(mention)
        if name:
            name.color = name.color or mention.color
            return name.unit
        first = sum(len(name.unit) for name in self.names)
        wanted = self.several if mention.several else mention.number
        unit = tuple(range(first, min(first + wanted, MAX_OBJECTS)))
        self.names.append(Name(mention.label, mention.color, mention.mark, unit))
        return unit

    def _answering(self, mention: Mention) -> Name | None:
        """The latest name that fits; one with a mark also answers without it, but is not meant by "every"."""
        fitting = [name for name in self.names if name.label == mention.label and _may_be(name.color, mention.color)]
        same = [name for name in fitting if name.mark == mention.mark]
        if not same and mention.mark is None and not mention.several:
            same = fitting
        return same[-1] if same else None

    def paint(self, unit: Unit, color: str) -> None:
        """Objects get the colour that is said of them, unless they have one."""
        for name in self.names:
            if name.unit == unit:
                name.color = name.color or color

    def scene(self, boxes: Mapping[int, Box], chance: Random) -> Scene:
        """The scene of all objects that have a box; those of no colour get any."""
        colors = vocabulary("knolling").words["color"]
        painted = [(name, name.color or chance.choice(colors)) for name in self.names]
        return Scene.of(
            SceneObject(name.label, boxes[obj], color) for name, color in painted for obj in name.unit if obj in boxes
        )


def _may_be(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
