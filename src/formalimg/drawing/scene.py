"""Drawn scenes: a scene together with its painting order and style."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

_KEYS = ("scene", "style", "depth")


@dataclass(frozen=True)
class DrawnScene:
    """A scene with all the data needed to render it.

    Attributes:
        scene: the objects, and the relations that are recorded: what is drawn as on, in or held by something.
        style: the style of the whole image; None for a plain drawing.
        depth: the numbers of the objects in the order of painting, from back to front; empty: as they are listed.
    """

    scene: Scene
    style: str | None = None
    depth: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check that the painting order contains each object once."""
        if self.depth and sorted(self.depth) != list(range(len(self.scene))):
            raise SceneError([f"depth must name each of the {len(self.scene)} objects once"])

    @property
    def order(self) -> tuple[int, ...]:
        """The indices of all objects, from back to front."""
        return self.depth or tuple(range(len(self.scene)))

    def to_json(self) -> dict[str, object]:
        """Return the scene as plain data."""
        return {"scene": self.scene.to_json(), "style": self.style, "depth": list(self.order)}

    @classmethod
    def from_json(cls, data: object) -> DrawnScene:
        """Parse a drawn scene.

        Raises:
            SceneError: listing what is wrong with the data.
        """
        if not isinstance(data, Mapping) or set(data) != set(_KEYS):
            raise SceneError([f"a drawn scene has exactly {', '.join(_KEYS)}"])
        style, depth = data["style"], data["depth"]
        if not (style is None or (isinstance(style, str) and style)):
            raise SceneError(["the style of a drawn scene must be a word or null"])
        if not isinstance(depth, list) or not all(type(number) is int for number in depth):
            raise SceneError(["the depth of a drawn scene must be a list of numbers of objects"])
        scene = Scene.from_json(data["scene"])
        if scene.relations is None:
            raise SceneError(["a drawn scene records its relations, also if there are none"])
        if len(depth) != len(scene):
            raise SceneError([f"depth must name each of the {len(scene)} objects once"])
        return cls(scene, style, tuple(depth))
