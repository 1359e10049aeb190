"""FormulaSpec: what a FormalImg item asks for, and its fields in item records.

In `items.jsonl`, `dsl` is the formula. `style` follows if the formula does not demand it outright, and `witness` (a
scene in the published grounding format) if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from formalimg.logic import And, Atom, Formula, FormulaError, Value, atoms, check, complexity, parse, try_parse, verify
from formalimg.scenes import Scene, SceneError, axiom_violations, is_natural_witness
from formalimg.suites.record import Record

NEEDED = ("dsl",)
OPTIONAL = ("style", "witness")

OUTSIDE_VOCABULARY = "outside-vocabulary"
"""Tag of an item whose formula uses words, or kinds of words, that the suite's vocabulary does not have.

The authors' own check did not look at the attributes of natural scenes, and readers cannot fix published data. Such
items are kept and marked: they can still be judged, and no item vanishes from a score.
"""

TOLERATED_PROBLEMS = frozenset({"word", "argument", "unused"})
"""The kinds of problems that such items may have."""


@dataclass(frozen=True)
class FormulaSpec:
    """What an item of FormalImg asks for: a formula, optionally with a scene that proves it can be satisfied.

    Attributes:
        formula: the logic of the prompt.
        witness: a scene that satisfies the formula, if one is known.
        style: the style of image asked for; None if any will do.
    """

    formula: Formula
    witness: Scene | None = None
    style: str | None = None

    @classmethod
    def of(cls, formula: Formula, witness: Scene | None = None) -> FormulaSpec:
        """Return the spec of a formula, with the style that the formula demands outright."""
        return cls(formula, witness, demanded_style(formula))

    @cached_property
    def object_classes(self) -> tuple[str, ...]:
        """The classes that the formula mentions, sorted; a grounder has to look for these."""
        named = (
            atom.arguments[1] for atom in atoms(self.formula) if atom.predicate == "Is" and len(atom.arguments) == 2
        )
        return tuple(sorted({word.text for word in named if isinstance(word, Value)}))


def demanded_style(formula: Formula) -> str | None:
    """Return the style that a formula demands outright: a conjunct `(IsStyle '…')` at its top."""
    match formula:
        case Atom("IsStyle", (Value(word),)):
            return word
        case And(parts):
            return next((style for style in map(demanded_style, parts) if style is not None), None)
    return None


# --- the fields of an item record (see `ItemForm`)


def fields_of(spec: FormulaSpec, *, with_proof: bool) -> dict[str, Any]:
    """Return the spec as fields of an item record."""
    fields: dict[str, Any] = {"dsl": str(spec.formula)}
    if spec.style is not None and spec.style != demanded_style(spec.formula):
        fields["style"] = spec.style
    if spec.witness is not None and with_proof:
        fields["witness"] = spec.witness.to_json()
    return fields


def spec_in(record: Record, suite: str, level: int, tags: tuple[str, ...]) -> FormulaSpec | None:
    """Return the spec in the fields of a record; None, with findings, if they are not valid."""
    found = read_formula(record, "dsl", suite, level, tolerate_words=OUTSIDE_VOCABULARY in tags)
    if found is None:
        return None
    style = record.text("style") if "style" in record.fields else demanded_style(found.formula)
    witness = _read_witness(record, "witness", found.formula, style) if "witness" in record.fields else None
    return FormulaSpec(found.formula, witness, style)


def known_spec(fields: dict[str, Any]) -> FormulaSpec:
    """Return the spec in fields that are known to be valid, without checking them."""
    formula = parse(fields["dsl"])
    witness = Scene.from_json(fields["witness"]) if "witness" in fields else None
    return FormulaSpec(formula, witness, fields.get("style", demanded_style(formula)))


def asked_text(spec: FormulaSpec) -> str:
    """Return the spec as one text for digests: the formula, and the style if the formula does not demand it."""
    return "\n".join(fields_of(spec, with_proof=False).values())


class ReadFormula(NamedTuple):
    """A formula read from a record, and whether it has problems of the tolerated kinds."""

    formula: Formula
    has_tolerated: bool


def read_formula(record: Record, name: str, suite: str, k: int | None, *, tolerate_words: bool) -> ReadFormula | None:
    """Return the formula of complexity `k` in a field; None, with findings, if it is not valid for the suite.

    `tolerate_words` accepts what TOLERATED_PROBLEMS lists.
    """
    from formalimg.suites.registry import suite as suite_of  # here, because kinds of suites need specs

    text = record.text(name)
    if text is None:
        return None
    formula, problems = try_parse(text)
    has_tolerated = False
    if formula is not None:
        found = check(formula, suite_of(suite).vocabulary)
        problems = [problem for problem in found if not tolerate_words or problem.kind not in TOLERATED_PROBLEMS]
        has_tolerated = len(found) > len(problems)
    for problem in problems:
        record.wrong(f"{name}, {problem}")
    if formula is None or problems or not _has_complexity(record, formula, name, k):
        return None
    return ReadFormula(formula, has_tolerated)


def _read_witness(record: Record, name: str, formula: Formula, style: str | None) -> Scene | None:
    try:
        scene = Scene.from_json(record.fields[name])
        if not verify(formula, scene, style=style):
            record.wrong(f"{name} does not satisfy the formula: replace it, or leave it out")
        elif scene.relations is not None and not is_natural_witness(formula, scene, style=style):
            broken = [*axiom_violations(scene), "a direction is not clear"]
            record.wrong(f"{name} does not keep the spatial axioms ({broken[0]}): replace it, or leave it out")
        else:
            return scene
    except FormulaError as error:
        record.wrong(f"{name} cannot decide the formula: {error.problems[0].message}")
    except SceneError as error:
        record.wrong(f"{name}: {error}")
    return None


def _has_complexity(record: Record, formula: Formula, name: str, k: int | None) -> bool:
    try:
        found = complexity(formula)
    except FormulaError as error:
        record.wrong(f"{name}, {error.problems[0]}")
        return False
    if k is not None and found != k:
        record.wrong(f"the level is {k}, but {name} has K = {found}: fix one of them")
        return False
    return True
