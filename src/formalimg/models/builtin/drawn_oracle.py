"""The oracle in drawn worlds: it sees what an item asks for, and draws a solution of it."""

from __future__ import annotations

from formalimg.benchmarks.drawn_requests import NothingToDrawError, drawn_request
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.scene import DrawnScene
from formalimg.models.base import Failed, ImageRequest, Refused
from formalimg.scenes.solver.results import SolverLimitError


def compose_drawn_solution(request: ImageRequest) -> DrawnScene | Refused | Failed:
    """Return a scene that shows what the item asks for; refuse what no drawing shows, with the reason."""
    if request.spec is None:
        return Failed("builtin/oracle needs to know what is asked for: the request has no spec")
    try:
        found = solve_drawn(drawn_request(request.spec), seed=request.seed)
    except NothingToDrawError as error:
        return Refused(f"cannot be drawn: {error}")
    except SolverLimitError as error:
        return Failed(f"builtin/oracle found no scene: {error}")
    return found if isinstance(found, DrawnScene) else Refused(f"cannot be drawn: {found.reason}")
