"""Scenes: what is in a picture and where, the rules that decide the geometry, solving and drawing."""

from importlib import import_module
from typing import TYPE_CHECKING

from formalimg.scenes.box import CANVAS, Box
from formalimg.scenes.grounding import SceneError
from formalimg.scenes.rules import (
    ALIGNMENT,
    RULES_OF_ONE,
    RULES_OF_TWO,
    Between,
    Greater,
    Less,
    Measure,
    Near,
    PairRule,
)
from formalimg.scenes.scene import Relation, Scene
from formalimg.scenes.thing import ATTRIBUTE_KINDS, ATTRIBUTE_PREDICATES, Thing

if TYPE_CHECKING:
    from formalimg.scenes.drawing import (
        DrawingError,
        contact_sheet,
        draw,
        drawable_classes,
        layout_image,
        natural_aspect,
    )
    from formalimg.scenes.solving import (
        DEFAULT_MARGIN,
        LEAST_SIDE,
        SolverLimitError,
        Unsatisfiable,
        Witness,
        keeps_margin,
        solve,
    )

# Loaded when first asked for, so that a program that only verifies starts at once.
_LATER = {
    **dict.fromkeys(
        ["DrawingError", "contact_sheet", "draw", "drawable_classes", "layout_image", "natural_aspect"], "drawing"
    ),
    **dict.fromkeys(
        ["DEFAULT_MARGIN", "LEAST_SIDE", "SolverLimitError", "Unsatisfiable", "Witness", "keeps_margin", "solve"],
        "solving",
    ),
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f"formalimg.scenes.{_LATER[name]}"), name)
    raise AttributeError(f"module 'formalimg.scenes' has no attribute {name!r}")


__all__ = [
    "ALIGNMENT",
    "ATTRIBUTE_KINDS",
    "ATTRIBUTE_PREDICATES",
    "CANVAS",
    "DEFAULT_MARGIN",
    "LEAST_SIDE",
    "RULES_OF_ONE",
    "RULES_OF_TWO",
    "Between",
    "Box",
    "DrawingError",
    "Greater",
    "Less",
    "Measure",
    "Near",
    "PairRule",
    "Relation",
    "Scene",
    "SceneError",
    "SolverLimitError",
    "Thing",
    "Unsatisfiable",
    "Witness",
    "contact_sheet",
    "draw",
    "drawable_classes",
    "keeps_margin",
    "layout_image",
    "natural_aspect",
    "solve",
]
