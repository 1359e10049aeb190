"""The oracle in drawn worlds: it sees what an item of Natural or ConceptMix asks for, and draws a solution of it."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.logic import Formula
from formalimg.models import Failed, ImageRequest, Refused
from formalimg.scenes import BriefError, DrawnScene, SceneBrief, SolverLimitError, solve_drawn, why_not_drawable
from formalimg.suites import ConceptSpec, FormulaSpec


class NothingToDrawError(FormalimgError):
    """A spec that tells nobody what to draw, such as published data without a binding."""


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


def undrawable_because(spec: object) -> str | None:
    """Return why no drawing shows what an item asks for; None if one can, as far as its words tell."""
    try:
        return why_not_drawable(drawn_request(spec))
    except NothingToDrawError as error:
        return str(error)


def drawn_request(spec: object) -> Formula | SceneBrief:
    """Return what a spec asks to be drawn, as the solver takes it.

    Raises:
        NothingToDrawError: if it does not tell.
    """
    if isinstance(spec, FormulaSpec):
        if spec.unreadable is not None:
            raise NothingToDrawError(spec.unreadable_because)
        return spec.formula
    if isinstance(spec, ConceptSpec):
        if spec.binding is None or spec.binding.is_open:
            raise NothingToDrawError("the data does not tell which concept belongs to which object")
        try:
            return SceneBrief.from_json(spec.binding.to_json())
        except BriefError as error:
            raise NothingToDrawError(str(error)) from error
    raise NothingToDrawError("built-in models draw items of Knolling, Natural and ConceptMix only")
