"""Objects of a scene: bounding boxes on the canvas, classes and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

CANVAS = 1000
"""Width and height of the canvas; x points right, y points down, the origin is the top left corner."""


class Box(NamedTuple):
    """A bounding box on the canvas."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    @property
    def center_x(self) -> float:
        """The x coordinate of the centre."""
        return (self.xmin + self.xmax) / 2

    @property
    def center_y(self) -> float:
        """The y coordinate of the centre."""
        return (self.ymin + self.ymax) / 2

    @property
    def area(self) -> float:
        """Width times height."""
        return (self.xmax - self.xmin) * (self.ymax - self.ymin)

    def __str__(self) -> str:
        return "[" + " ".join(f"{number:g}" for number in self) + "]"


NO_WORD = "other"
"""The word of detectors where no word of the vocabulary fits."""


ATTRIBUTE_PREDICATES = {"HasColor": "color", "HasMaterial": "material", "HasShape": "shape", "HasState": "state"}
"""The kind of attribute of each attribute predicate."""

ATTRIBUTE_KINDS = tuple(ATTRIBUTE_PREDICATES.values())
"""The kinds of attributes, in display order."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object of a scene: its class, its box and its attributes.

    A colour (material, shape) that is None or "other" is none of the vocabulary's.
    """

    label: str
    box: Box
    color: str | None = None
    material: str | None = None
    shape: str | None = None
    states: tuple[str, ...] = ()

    def attributes(self) -> list[tuple[str, str]]:
        """Return all attribute words, each with its kind: `color`, `material`, `shape` or `state`."""
        found = [] if self.color is None else [("color", self.color)]
        if self.material is not None:
            found.append(("material", self.material))
        if self.shape is not None:
            found.append(("shape", self.shape))
        if self.states:
            found.extend(("state", state) for state in self.states)
        return found

    def values(self, kind: str) -> list[str]:
        """Return the attribute words of one kind."""
        return [word for other, word in self.attributes() if other == kind]

    def describe(self) -> str:
        """Return the attributes and the class as text, such as "red cup"."""
        words = [self.color, self.material, self.shape, *self.states]
        return " ".join([*[word for word in words if word is not None and word != NO_WORD], self.label])
