"""The oracle baseline: an image model that sees the formula and draws a solution of it. It marks the ceiling."""

from __future__ import annotations

from formalimg.logic import FormulaError
from formalimg.models import Failed, ImageRequest, Refused
from formalimg.scenes import Scene, SolverLimitError, Unsatisfiable, drawable_classes, solve
from formalimg.suites import FormulaSpec, ObjectSpec, QuestionSpec

_ADVICE = "builtin/oracle draws only knolling: use folder/… or a real model for other suites"


def compose_solution(request: ImageRequest) -> Scene | Refused | Failed:
    """Return a scene that satisfies the formula: its witness for the first sample, other solutions for further ones."""
    spec = request.spec
    if spec is None:
        return Failed("builtin/oracle needs the formula: the request has no spec")
    if isinstance(spec, ObjectSpec):
        from formalimg.baselines.object_oracle import compose_objects

        return compose_objects(spec, request)
    if isinstance(spec, QuestionSpec):
        from formalimg.baselines.object_oracle import compose_composition

        return compose_composition(spec, request)
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
