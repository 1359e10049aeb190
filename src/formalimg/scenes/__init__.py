"""Scenes: what is in a picture and where, and the rules that decide the geometry."""

from formalimg.scenes.box import CANVAS, Box
from formalimg.scenes.grounding import SceneError
from formalimg.scenes.rules import ALIGNMENT, RULES_OF_ONE, RULES_OF_TWO
from formalimg.scenes.scene import Relation, Scene
from formalimg.scenes.thing import Thing

__all__ = [
    "ALIGNMENT",
    "CANVAS",
    "RULES_OF_ONE",
    "RULES_OF_TWO",
    "Box",
    "Relation",
    "Scene",
    "SceneError",
    "Thing",
]
