"""The oracle: an image model that is told what the image has to show. It marks the ceiling."""

from __future__ import annotations

from formalimg.logic import FormulaError
from formalimg.models import Failed, ImageRequest, Refused
from formalimg.scenes import Scene, SolverLimitError, Unsatisfiable, drawable_classes, solve
from formalimg.suites import FormulaSpec

_ADVICE = "builtin/oracle draws only knolling: use folder/… or a real model for other suites"


def imagine(request: ImageRequest) -> Scene | Refused | Failed:
    """A scene that satisfies the request's formula: its witness for the first sample, others for further ones."""
    spec = request.spec
    if spec is None:
        return Failed("builtin/oracle was not told what to draw: the request has no spec")
    if not isinstance(spec, FormulaSpec) or spec.style is not None:
        return Failed(_ADVICE)
    undrawn = sorted(set(spec.object_classes) - set(drawable_classes()))
    if undrawn:
        return Failed(f"{_ADVICE}; there is no drawing of a {undrawn[0]}")
    if spec.witness is not None and request.sample == 0:
        return spec.witness
    return _solved(spec, request.seed)


def _solved(spec: FormulaSpec, seed: int) -> Scene | Refused | Failed:
    try:
        found = solve(spec.formula, seed=seed)
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
