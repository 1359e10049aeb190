"""What an item asks to be drawn: formulas and bindings as the solver of drawn scenes takes them."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.logic import Formula
from formalimg.scenes import BriefError, SceneBrief, why_not_drawable
from formalimg.suites.conceptmix.spec import ConceptSpec
from formalimg.suites.formula.spec import FormulaSpec


class NothingToDrawError(FormalimgError):
    """A spec that tells nobody what to draw, such as published data without a binding."""


def drawn_request(spec: object) -> Formula | SceneBrief:
    """Return what a spec asks to be drawn, as `solve_drawn` takes it.

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
    raise NothingToDrawError("only items of Natural and ConceptMix have a drawn world")


def undrawable_because(spec: object) -> str | None:
    """Return why no drawing shows what an item asks for; None if one can, as far as its words tell."""
    try:
        return why_not_drawable(drawn_request(spec))
    except NothingToDrawError as error:
        return str(error)
