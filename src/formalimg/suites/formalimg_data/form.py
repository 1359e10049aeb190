"""The fields of FormalImg's items in our own form.

`dsl` is the formula. Where there is something to say, `style` (only if the formula does not demand it outright) and
`witness` (a scene in the published grounding format) follow.
"""

from __future__ import annotations

from typing import Any

from formalimg.logic import parse
from formalimg.scenes import Scene
from formalimg.suites.formalimg_data.formulas import OUTSIDE_VOCABULARY, formula_in, witness_in
from formalimg.suites.item import FormulaSpec, demanded_style
from formalimg.suites.record import Record

NEEDED = ("dsl",)
OPTIONAL = ("style", "witness")


def fields_of(spec: FormulaSpec, *, with_proof: bool) -> dict[str, Any]:
    """What an item asks for, as fields."""
    fields: dict[str, Any] = {"dsl": str(spec.formula)}
    if spec.style is not None and spec.style != demanded_style(spec.formula):
        fields["style"] = spec.style
    if spec.witness is not None and with_proof:
        fields["witness"] = spec.witness.to_json()
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> FormulaSpec | None:
    """What the fields of a record ask for; None, and findings, if they make no sense."""
    found = formula_in(record, "dsl", suite, level, odd_words=OUTSIDE_VOCABULARY in tags)
    if found is None:
        return None
    style = record.text("style") if "style" in record.fields else demanded_style(found.formula)
    witness = witness_in(record, "witness", found.formula, style) if "witness" in record.fields else None
    return FormulaSpec(found.formula, witness, style)


def known_spec(fields: dict[str, Any]) -> FormulaSpec:
    """What fields ask for that are known to be sound."""
    formula = parse(fields["dsl"])
    witness = Scene.from_json(fields["witness"]) if "witness" in fields else None
    return FormulaSpec(formula, witness, fields.get("style", demanded_style(formula)))


def asked_text(spec: FormulaSpec) -> str:
    """What an item asks for as one text: its formula, and the style if the formula does not demand it."""
    return "\n".join(fields_of(spec, with_proof=False).values())
