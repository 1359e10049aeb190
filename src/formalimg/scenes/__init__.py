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
    from formalimg.scenes.drawn.brief import BriefError, BriefObject, BriefRelation, SceneBrief
    from formalimg.scenes.drawn.catalog import CatalogError, DrawnCatalog, drawn_catalog, read_catalog
    from formalimg.scenes.drawn.drawability import why_not_drawable
    from formalimg.scenes.drawn.layout import NoDrawing, solve_drawn
    from formalimg.scenes.drawn.render import draw_scene
    from formalimg.scenes.drawn.scene import DrawnScene
    from formalimg.scenes.drawn.signed_png import NotDrawnError, read_signed_png, signed_png
    from formalimg.scenes.drawn.space import material_word
    from formalimg.scenes.drawn.truth import (
        PLAIN_STYLE,
        DrawnConcept,
        brief_concepts,
        concept_holds,
        drawn_world,
        verify_drawn,
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
        "drawn.brief": ["BriefError", "BriefObject", "BriefRelation", "SceneBrief"],
        "drawn.catalog": ["CatalogError", "DrawnCatalog", "drawn_catalog", "read_catalog"],
        "drawn.drawability": ["why_not_drawable"],
        "drawn.layout": ["NoDrawing", "solve_drawn"],
        "drawn.render": ["draw_scene"],
        "drawn.scene": ["DrawnScene"],
        "drawn.signed_png": ["NotDrawnError", "read_signed_png", "signed_png"],
        "drawn.space": ["material_word"],
        "drawn.truth": [
            "PLAIN_STYLE",
            "DrawnConcept",
            "brief_concepts",
            "concept_holds",
            "drawn_world",
            "verify_drawn",
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
    "PLAIN_STYLE",
    "RECORDED_PREDICATES",
    "UNARY_RULES",
    "Between",
    "BinaryRule",
    "Box",
    "BriefError",
    "BriefObject",
    "BriefRelation",
    "CatalogError",
    "DrawingError",
    "DrawnCatalog",
    "DrawnConcept",
    "DrawnScene",
    "FailedLayoutError",
    "Greater",
    "Less",
    "Measure",
    "Near",
    "NoDrawing",
    "NotDrawnError",
    "Scene",
    "SceneBrief",
    "SceneError",
    "SceneObject",
    "SceneRelation",
    "SolverLimitError",
    "Unsatisfiable",
    "Witness",
    "axiom_violations",
    "brief_concepts",
    "concept_holds",
    "contact_sheet",
    "draw",
    "draw_scene",
    "drawable_classes",
    "drawn_catalog",
    "drawn_world",
    "failed_layout_png",
    "is_natural_witness",
    "keeps_margin",
    "layout_image",
    "layout_png",
    "material_word",
    "natural_aspect",
    "read_catalog",
    "read_layout",
    "read_signed_png",
    "read_written_layout",
    "signed_png",
    "solve",
    "solve_drawn",
    "solve_natural",
    "verify_drawn",
    "why_not_drawable",
    "written_layout_png",
]
