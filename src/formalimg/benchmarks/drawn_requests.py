"""What an item asks to be drawn: formulas and briefs as the solver of drawn scenes takes them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.brief import SceneBrief
from formalimg.drawing.drawability import why_not_drawable
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Formula


class NothingToDrawError(FormalimgError):
    """A spec that tells nobody what to draw, such as published data without a binding."""


@runtime_checkable
class BriefSpec(Protocol):
    """A spec that says in a brief what is to be drawn."""

    def scene_brief(self) -> SceneBrief:
        """Return the brief."""
        ...


def drawn_request(spec: object) -> Formula | SceneBrief:
    """Return what a spec asks to be drawn, as `solve_drawn` takes it."""
    if isinstance(spec, FormulaSpec):
        if spec.unreadable is not None:
            raise NothingToDrawError(spec.unreadable_because)
        return spec.formula
    if isinstance(spec, BriefSpec):
        return spec.scene_brief()
    raise NothingToDrawError("the item has no drawn world")


def undrawable_because(spec: object) -> str | None:
    """Return why no drawing shows what an item asks for; None if one can, as far as its words tell."""
    try:
        return why_not_drawable(drawn_request(spec))
    except NothingToDrawError as error:
        return str(error)
