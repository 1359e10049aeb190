"""The oracle baseline: an image model that sees the formula and draws a solution of it. It marks the ceiling."""

from __future__ import annotations

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite
from formalimg.drawing.icon_scene import drawable_classes
from formalimg.logic.errors import FormulaError
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable
from formalimg.scenes.solver.search import solve

_ADVICE = "builtin/oracle draws only knolling: use folder/… or a real model for other suites"


def compose_solution(request: ImageRequest) -> Scene | Refused | Failed:
    """Return a scene that satisfies the formula: its witness for the first sample, other solutions for further ones."""
    spec = request.spec
    if spec is None:
        return Failed("builtin/oracle needs the formula: the request has no spec")
    arranged = suite(request.suite).arrange(request) if request.suite else None
    if arranged is not None:
        return arranged
    if not isinstance(spec, FormulaSpec) or spec.style is not None:
        return Failed(_ADVICE)
    if spec.unreadable is not None:
        return Failed(f"builtin/oracle needs the formula: {spec.unreadable_because}")
    undrawn = sorted(set(spec.object_classes) - set(drawable_classes()))
    if undrawn:
        return Failed(f"{_ADVICE}; there is no drawing of a {undrawn[0]}")
    if spec.witness is not None and request.sample == 0:
        return spec.witness
    try:
        found = solve(spec.formula, seed=request.seed)
    except FormulaError as error:
        return Failed(f"{_ADVICE}; {error.problems[0].message}")
    except SolverLimitError as error:
        return Failed(f"builtin/oracle found no scene: {error}")
    if isinstance(found, Unsatisfiable):
        if found.max_objects is not None:
            return Failed(
                f"builtin/oracle found no scene of up to {found.max_objects} objects, and tries no larger ones"
            )
        pieces = " and ".join(str(piece) for piece in found.conflict)
        return Refused(f"no image can show this: {pieces} cannot be true together")
    return found.scene
