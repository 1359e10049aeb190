"""Drawn worlds: scenes with materials, states, depth, contact and style that can be solved, rendered and evaluated."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.drawing.icon_scene import contact_sheet, draw, drawable_classes, layout_image
    from formalimg.drawing.layout import solve_drawn
    from formalimg.drawing.render import draw_scene
    from formalimg.drawing.scene import DrawnScene, SceneBrief
    from formalimg.drawing.truth import verify_drawn

__all__ = [
    "DrawnScene",
    "SceneBrief",
    "contact_sheet",
    "draw",
    "draw_scene",
    "drawable_classes",
    "layout_image",
    "solve_drawn",
    "verify_drawn",
]

__getattr__, __dir__ = lazy_exports(__name__)
