"""Drawing requests: the formula or brief that the solver of drawn scenes needs for an item."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.scene import SceneBrief
from formalimg.errors import FormalimgError
from formalimg.logic.syntax import Formula


class NothingToDrawError(FormalimgError):
    """Raised for a spec that does not determine a drawing, such as published data without a binding."""


@runtime_checkable
class BriefSpec(Protocol):
    """A spec that describes its drawing by a brief."""

    def scene_brief(self) -> SceneBrief:
        """Return the brief of the drawing."""
        ...


def drawn_request(spec: object) -> Formula | SceneBrief:
    """Return the formula or brief of a spec, as accepted by `solve_drawn`."""
    if isinstance(spec, FormulaSpec):
        if spec.unreadable is not None:
            raise NothingToDrawError(spec.unreadable_because)
        return spec.formula
    if isinstance(spec, BriefSpec):
        return spec.scene_brief()
    raise NothingToDrawError("the item has no drawn world")


def undrawable_because(spec: object) -> str | None:
    """Return why no drawing can show what a spec asks for; None if its words allow a drawing."""
    try:
        return why_not_drawable(drawn_request(spec))
    except NothingToDrawError as error:
        return str(error)
