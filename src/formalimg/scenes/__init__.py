"""Scenes: objects on a canvas, the rules that decide geometry, the solver, and rendering."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.scenes.grounding import SceneError
from formalimg.scenes.measures import Measure
from formalimg.scenes.objects import ATTRIBUTE_KINDS, ATTRIBUTE_PREDICATES, CANVAS, Box, SceneObject
from formalimg.scenes.rules import ALIGNMENT, BINARY_RULES, UNARY_RULES, Between, BinaryRule, Greater, Less, Near
from formalimg.scenes.scene import RECORDED_PREDICATES, Scene, SceneRelation

if TYPE_CHECKING:
    from formalimg.scenes.drawing import (
        DrawingError,
        FailedLayoutError,
        contact_sheet,
        draw,
        drawable_classes,
        failed_layout_png,
        layout_image,
        layout_png,
        natural_aspect,
        read_layout,
        read_written_layout,
        written_layout_png,
    )
    from formalimg.scenes.solver import (
        DEFAULT_MARGIN,
        MIN_SIDE,
        SolverLimitError,
        Unsatisfiable,
        Witness,
        keeps_margin,
        solve,
        solve_natural,
    )
    from formalimg.scenes.spatial_axioms import axiom_violations, is_natural_witness

# Lazy, so that a program that only verifies starts quickly.
__getattr__ = lazy_exports(
    "formalimg.scenes",
    {
        "drawing": [
            "DrawingError",
            "FailedLayoutError",
            "contact_sheet",
            "draw",
            "drawable_classes",
            "failed_layout_png",
            "layout_png",
            "layout_image",
            "natural_aspect",
            "read_layout",
            "read_written_layout",
            "written_layout_png",
        ],
        "solver": [
            "DEFAULT_MARGIN",
            "MIN_SIDE",
            "SolverLimitError",
            "Unsatisfiable",
            "Witness",
            "keeps_margin",
            "solve",
            "solve_natural",
        ],
        "spatial_axioms": ["axiom_violations", "is_natural_witness"],
    },
)

__all__ = [
    "ALIGNMENT",
    "ATTRIBUTE_KINDS",
    "ATTRIBUTE_PREDICATES",
    "BINARY_RULES",
    "CANVAS",
    "DEFAULT_MARGIN",
    "MIN_SIDE",
    "RECORDED_PREDICATES",
    "UNARY_RULES",
    "Between",
    "BinaryRule",
    "Box",
    "DrawingError",
    "FailedLayoutError",
    "Greater",
    "Less",
    "Measure",
    "Near",
    "Scene",
    "SceneError",
    "SceneObject",
    "SceneRelation",
    "SolverLimitError",
    "Unsatisfiable",
    "Witness",
    "axiom_violations",
    "contact_sheet",
    "draw",
    "drawable_classes",
    "failed_layout_png",
    "is_natural_witness",
    "keeps_margin",
    "layout_image",
    "layout_png",
    "natural_aspect",
    "read_layout",
    "read_written_layout",
    "solve",
    "solve_natural",
    "written_layout_png",
]
