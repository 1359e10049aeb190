"""Scenes: what is in a picture and where, and the rules that decide the geometry."""

from formalimg.scenes.box import CANVAS, Box
from formalimg.scenes.drawing import (
    DrawingError,
    contact_sheet,
    draw,
    drawable_classes,
    layout_image,
    natural_aspect,
)
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
from formalimg.scenes.thing import Thing

__all__ = [
    "ALIGNMENT",
    "CANVAS",
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
    "Thing",
    "contact_sheet",
    "draw",
    "drawable_classes",
    "layout_image",
    "natural_aspect",
]
