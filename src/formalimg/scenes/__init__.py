"""Scenes of objects on a canvas, with geometric rules, a solver and rendering."""

from formalimg._util.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from formalimg.scenes.objects import Box, SceneError, SceneObject
    from formalimg.scenes.scene import Scene
    from formalimg.scenes.solver.search import solve
    from formalimg.scenes.solver.spatial import solve_natural

__all__ = [
    "Box",
    "Scene",
    "SceneError",
    "SceneObject",
    "solve",
    "solve_natural",
]

__getattr__, __dir__ = lazy_exports(__name__)
