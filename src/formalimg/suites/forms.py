"""How each kind of suite writes what its items ask for into the fields of our own form."""

from __future__ import annotations

from typing import Any, Protocol, cast

from formalimg.errors import FormalimgError
from formalimg.suites.cfworld import form as counterfactuals
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.conceptmix import form as concepts
from formalimg.suites.conceptmix.spec import ConceptSpec
from formalimg.suites.formalimg_data import form as formulas
from formalimg.suites.item import FormulaSpec
from formalimg.suites.record import Record
from formalimg.suites.suite import Kind, suite


class Form(Protocol):
    """The fields of one kind of suite, besides those that all items have."""

    NEEDED: tuple[str, ...]
    OPTIONAL: tuple[str, ...]

    def fields_of(self, spec: Any, *, with_proof: bool) -> dict[str, Any]:
        """What an item asks for, as fields; `with_proof` adds what only shows that it can be satisfied."""
        ...

    def spec_in(self, record: Record, suite: str, level: int, tags: tuple[str, ...]) -> Any | None:
        """What the fields of a record ask for; None, and findings, if they make no sense."""
        ...

    def asked_text(self, spec: Any) -> str:
        """What an item asks for as one text, for digests."""
        ...

    def known_spec(self, fields: dict[str, Any]) -> Any:
        """What fields ask for that are known to be sound."""
        ...


_FORMS: dict[Kind, tuple[type, Form]] = {
    "formula": (FormulaSpec, cast(Form, formulas)),
    "concepts": (ConceptSpec, cast(Form, concepts)),
    "counterfactual": (CounterfactualSpec, cast(Form, counterfactuals)),
}


def form_of(name: str) -> Form:
    """The form of a suite's items."""
    return _FORMS[suite(name).kind][1]


def require_spec(name: str, item: str, spec: object) -> None:
    """Refuse an item that does not ask for what items of its suite ask for."""
    wanted, _ = _FORMS[suite(name).kind]
    if not isinstance(spec, wanted):
        raise FormalimgError(
            f"item {item} of {name} asks for a {type(spec).__name__}, but items of {name} have a {wanted.__name__}"
        )
