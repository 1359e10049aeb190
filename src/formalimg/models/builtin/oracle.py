"""The oracle: an image model that reads the item's formula and draws a solution, as an upper bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite
from formalimg.drawing.icon_scene import drawable_classes
from formalimg.logic.errors import FormulaError
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable
from formalimg.scenes.solver.search import solve

if TYPE_CHECKING:
    from formalimg.drawing.scene import DrawnScene

_ADVICE = "builtin/oracle draws only knolling: use folder/… or a real model for other suites"


def compose_solution(request: ImageRequest) -> Scene | Refused | Failed:
    """Return a scene that satisfies the formula: its witness for the first sample, else another solution."""
    spec = request.spec
    if spec is None:
        return Failed("builtin/oracle needs the formula: the request has no spec")
    arrangement = suite(request.suite).arrange(request) if request.suite else None
    if arrangement is not None:
        return arrangement
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
        solution = solve(spec.formula, seed=request.seed)
    except FormulaError as error:
        return Failed(f"{_ADVICE}; {error.problems[0].message}")
    except SolverLimitError as error:
        return Failed(f"builtin/oracle found no scene: {error}")
    if not isinstance(solution, Unsatisfiable):
        return solution.scene
    if solution.max_objects is not None:
        limit = solution.max_objects
        return Failed(f"builtin/oracle found no scene of up to {limit} objects, and tries no larger ones")
    return Refused(f"no image can show this: {' and '.join(map(str, solution.conflict))} cannot be true together")


def compose_drawn_solution(request: ImageRequest) -> DrawnScene | Refused | Failed:
    """Return a scene that satisfies the item, or a refusal with the reason why it cannot be drawn."""
    # Imported here, because most runs are of Knolling, which needs none of it.
    from formalimg.benchmarks.formal.spec import NothingToDrawError, drawn_request
    from formalimg.drawing.layout import solve_drawn
    from formalimg.drawing.scene import DrawnScene

    if request.spec is None:
        return Failed("builtin/oracle needs to know what is asked for: the request has no spec")
    try:
        solution = solve_drawn(drawn_request(request.spec), seed=request.seed)
    except NothingToDrawError as error:
        return Refused(f"cannot be drawn: {error}")
    except SolverLimitError as error:
        return Failed(f"builtin/oracle found no scene: {error}")
    return solution if isinstance(solution, DrawnScene) else Refused(f"cannot be drawn: {solution.reason}")
