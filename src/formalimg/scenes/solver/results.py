"""Results of the solver: a witness scene or a proof of unsatisfiability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Formula
from formalimg.scenes.scene import Scene


class SolverLimitError(FormalimgError):
    """Raised if a formula can be neither satisfied nor refuted within the limits of the solver."""


@dataclass(frozen=True)
class Witness:
    """A scene that satisfies a formula."""

    scene: Scene  # objects with classes, colours and boxes that do not overlap
    formula: Formula
    margin: int  # how far the relations are from flipping: on the canvas, and half as many per cent in area
    instances: int  # how many objects (at least) meet the condition of each `forall` that must hold
    bindings: Mapping[str, int]  # the object of each variable that an outermost `exists` binds, by number
    style: str | None = None  # the style the image must have, if the formula mentions style

    def __str__(self) -> str:
        count = len(self.scene)
        objects = "an empty scene" if not count else f"{count} object{'s' * (count != 1)}"
        style = f", style {self.style}" if self.style else ""
        named = {slot: f" ?{name}" for name, slot in reversed(list(self.bindings.items()))}
        lines = [f"{objects}, margin {self.margin}{style}"]
        for number, obj in enumerate(self.scene.objects):
            lines.append(f"  #{number} {obj.describe()} {obj.box}{named.get(number, '')}")
        relations = sorted(self.scene.relations or ())
        lines += [f"  {name} #{first} #{second}" for name, first, second in relations]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Return the witness as JSON-serializable data, with the scene in the published grounding format."""
        return {
            "satisfiable": True,
            "formula": str(self.formula),
            "margin": self.margin,
            "instances": self.instances,
            "style": self.style,
            "bindings": dict(self.bindings),
            "scene": self.scene.to_json(),
        }


@dataclass(frozen=True)
class Unsatisfiable:
    """A proof that no scene satisfies a formula. Falsy in a boolean context.

    It covers scenes whose boxes lie on integer coordinates of the canvas, do not overlap, and have sides of at least
    `MIN_SIDE`, and whose objects have one class and one colour each.
    """

    formula: Formula  # the formula
    max_objects: int | None  # the proof covers scenes of up to this many objects; None if it covers any number
    # conjuncts of the formula that cannot be true together, each with its position in the text. One that is the
    # condition of a `forall` stands for "some object meets this condition"
    conflict: tuple[Formula, ...]

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        if self.max_objects is None:
            lines = ["unsatisfiable with any number of objects; these cannot be true together:"]
        else:
            lines = [
                f"no scene of up to {self.max_objects} objects satisfies it; larger ones were not tried",
                "so far, these cannot be true together:",
            ]
        lines += [f"  line {piece.span.line}, column {piece.span.column}: {piece}" for piece in self.conflict]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Return the result as JSON-serializable data."""
        return {
            "satisfiable": False,
            "formula": str(self.formula),
            "most_things": self.max_objects,
            "conflict": [
                {"formula": str(piece), "line": piece.span.line, "column": piece.span.column} for piece in self.conflict
            ],
        }
