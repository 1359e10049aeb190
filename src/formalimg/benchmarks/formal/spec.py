"""The specification of a FormalImg item, and its fields in item records.

In `items.jsonl`, `dsl` is the formula. It is followed by `style`, unless the formula itself requires it, and by any
`witness` (a scene in the published grounding format). Published items have `cnf` if it differs from the result of
`to_prenex` for `dsl`; odd ones (see `odd_records`) may have their own `object_classes`, and a `dsl` that is not a
formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from formalimg.benchmarks.odd_records import (
    CLASSES_DIFFER,
    K_DIFFERS,
    OUTSIDE_VOCABULARY,
    UNKNOWN_PREDICATE,
    UNREADABLE_FORMULA,
    WRONG_ARITY,
)
from formalimg.benchmarks.record import Record
from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.prenex import complexity
from formalimg.logic.syntax import And, Atom, Formula, Value, atoms
from formalimg.logic.verification import verify
from formalimg.scenes.objects import SceneError
from formalimg.scenes.scene import Scene

if TYPE_CHECKING:
    from formalimg.drawing.scene import SceneBrief


NEEDED: tuple[str, ...] = ("dsl",)
OPTIONAL: tuple[str, ...] = ("style", "witness", "object_classes", "cnf")
PROOF: tuple[str, ...] = ("witness",)

TAG_OF_PROBLEM: Mapping[str, str] = {
    "word": OUTSIDE_VOCABULARY,
    "argument": OUTSIDE_VOCABULARY,
    "unused": OUTSIDE_VOCABULARY,
    "predicate": UNKNOWN_PREDICATE,
    "arity": WRONG_ARITY,
}
"""The tag of an item whose formula has a problem of this kind; problems of other kinds make it no formula at all.

The authors' own judge never looks at predicates, nor did their check at the attributes of natural scenes. Such items
are kept and marked: they can still be judged, and no item vanishes from a score.
"""

NO_FORMULA = And(())  # The formula of an item whose published text is none: it claims nothing, and no judge goes by it


@dataclass(frozen=True)
class FormulaSpec:
    """The specification of a FormalImg item: a formula, optionally with a scene that proves it satisfiable."""

    formula: Formula
    witness: Scene | None = None  # a scene that satisfies the formula
    style: str | None = None  # None if any will do
    classes: tuple[str, ...] | None = None  # the published ones to look for, if they are not those of the formula
    unreadable: str | None = None  # the published text, if it is no formula; `formula` is then `NO_FORMULA`
    lifted: str | None = None  # the published lifted form, if it is not the one that `to_prenex` makes

    @classmethod
    def of(cls, formula: Formula, witness: Scene | None = None) -> FormulaSpec:
        """Create the spec of a formula, with the style that the formula demands."""
        return cls(formula, witness, style_of(formula))

    @cached_property
    def object_classes(self) -> tuple[str, ...]:
        """The classes that a grounder detects: the published ones, or those in the formula, sorted."""
        return self.formula_classes if self.classes is None else self.classes

    @property
    def formula_classes(self) -> tuple[str, ...]:
        """The classes in the formula, sorted."""
        named = (
            atom.arguments[1] for atom in atoms(self.formula) if atom.predicate == "Is" and len(atom.arguments) == 2
        )
        return tuple(sorted({word.text for word in named if isinstance(word, Value)}))

    @property
    def stated_classes(self) -> tuple[str, ...]:
        """The classes that must not occur in both train and test items."""
        return self.formula_classes

    @property
    def stated_relations(self) -> list[str]:
        """The predicates between two objects."""
        return [atom.predicate for atom in atoms(self.formula) if len(atom.variables) == 2]

    @property
    def text(self) -> str:
        """The formula as text, or the published text if it is not a valid formula."""
        return str(self.formula) if self.unreadable is None else self.unreadable

    @property
    def unreadable_because(self) -> str:
        """The reason why the published text cannot be judged; empty if there is a formula."""
        if self.unreadable is None:
            return ""
        problem = formula_problem(self.unreadable)
        return f"the published dsl is no formula to judge by: {problem or 'it is missing'}"


def style_of(formula: Formula) -> str | None:
    """Return the style that a formula demands by a top-level conjunct `(IsStyle '…')`; None if there is none."""
    match formula:
        case Atom("IsStyle", (Value(word),)):
            return word
        case And(parts):
            return next((style for style in map(style_of, parts) if style is not None), None)
    return None


# --- the fields of an item record (see `ItemForm`)

SPEC: type = FormulaSpec


def fields_of(spec: FormulaSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the spec as fields of an item record."""
    fields: dict[str, Any] = {"dsl": spec.text}
    if spec.style is not None and spec.style != style_of(spec.formula):
        fields["style"] = spec.style
    if spec.witness is not None and with_proof:
        fields["witness"] = spec.witness.to_json()
    if spec.classes is not None:
        fields["object_classes"] = list(spec.classes)
    if spec.lifted is not None:
        fields["cnf"] = spec.lifted
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> FormulaSpec | None:
    """Return the spec in the fields of a record; None, with findings, if they are not valid."""
    classes = record.words("object_classes") if "object_classes" in record.fields else None
    lifted = record.text("cnf") if "cnf" in record.fields else None
    if UNREADABLE_FORMULA in tags:
        text = record.text("dsl", empty=True)
        if text is not None and formula_problem(text) is None:
            record.wrong(f"dsl is a formula: take the tag {UNREADABLE_FORMULA} away")
        return None if text is None else FormulaSpec(NO_FORMULA, classes=classes, unreadable=text, lifted=lifted)
    formula = _read_formula(record, suite, None if K_DIFFERS in tags else level, tags)
    if formula is None:
        return None
    style = record.text("style") if "style" in record.fields else style_of(formula)
    witness = _read_witness(record, formula, style) if "witness" in record.fields else None
    if classes is not None and CLASSES_DIFFER not in tags:
        record.wrong(f"object_classes are those of dsl: leave the field out, or give the tag {CLASSES_DIFFER}")
        return None
    return FormulaSpec(formula, witness, style, classes, lifted=lifted)


def build_spec(fields: dict[str, Any]) -> FormulaSpec:
    """Return the spec in fields that are known to be valid, without checking them."""
    classes = tuple(fields["object_classes"]) if "object_classes" in fields else None
    lifted = fields.get("cnf")
    if UNREADABLE_FORMULA in fields.get("tags", ()):
        return FormulaSpec(NO_FORMULA, classes=classes, unreadable=fields["dsl"], lifted=lifted)
    formula = parse(fields["dsl"])
    witness = Scene.from_json(fields["witness"]) if "witness" in fields else None
    return FormulaSpec(formula, witness, fields.get("style", style_of(formula)), classes, lifted=lifted)


def canonical_text(spec: FormulaSpec) -> str:
    """Return the spec as one text for digests: the formula, and any style and classes that do not follow from it."""
    values = fields_of(spec, with_proof=False).values()
    return "\n".join(value if isinstance(value, str) else ", ".join(value) for value in values)


def formula_problem(text: str) -> str | None:
    """Return why a text is not a closed formula with a known K; None if it is."""
    formula, problems = try_parse(text)
    if formula is None:
        return str(problems[0])
    try:
        complexity(formula)
    except FormulaError as error:
        return str(error.problems[0])
    return None


def _read_formula(record: Record, suite: str, k: int | None, tags: tuple[str, ...]) -> Formula | None:
    """Return the formula in `dsl` with complexity `k`; None, with findings, if it has untagged problems."""
    from formalimg.benchmarks.registry import suite as suite_of  # here, because kinds of suites need specs
    from formalimg.logic.checks import check  # here, because items that ship are known to be correct

    text = record.text("dsl")
    if text is None:
        return None
    formula, problems = try_parse(text)
    if formula is not None:
        formula_problems = check(formula, suite_of(suite).vocabulary)
        problems = [problem for problem in formula_problems if TAG_OF_PROBLEM.get(problem.kind) not in tags]
    for problem in problems:
        record.wrong(f"dsl, {problem}")
    if formula is None or problems:
        return None
    try:
        actual = complexity(formula)
    except FormulaError as error:
        record.wrong(f"dsl, {error.problems[0]}")
        return None
    if k is not None and actual != k:
        record.wrong(f"the level is {k}, but dsl has K = {actual}: fix one of them")
        return None
    return formula


def _read_witness(record: Record, formula: Formula, style: str | None) -> Scene | None:
    from formalimg.scenes.spatial_relations import axiom_violations, is_natural_witness  # known items are not checked

    try:
        scene = Scene.from_json(record.fields["witness"])
        if not verify(formula, scene, style=style):
            record.wrong("witness does not satisfy the formula: replace it, or leave it out")
        elif scene.relations is not None and not is_natural_witness(formula, scene, style=style):
            broken = [*axiom_violations(scene), "a direction is not clear"]
            record.wrong(f"witness does not keep the spatial axioms ({broken[0]}): replace it, or leave it out")
        else:
            return scene
    except FormulaError as error:
        record.wrong(f"witness cannot decide the formula: {error.problems[0].message}")
    except SceneError as error:
        record.wrong(f"witness: {error}")
    return None


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
    from formalimg.drawing.drawability import why_not_drawable  # here, because it reads the catalog of drawings

    try:
        return why_not_drawable(drawn_request(spec))
    except NothingToDrawError as error:
        return str(error)
