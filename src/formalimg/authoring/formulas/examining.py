"""The formal check: a formula of the suite, as asked for, that an image can satisfy? No model decides this."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.authoring.formulas.assignment import Assignment
from formalimg.authoring.rejection import Reason, Rejection
from formalimg.logic import (
    STYLE,
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    FormulaError,
    Implies,
    Problem,
    Value,
    Variable,
    atoms,
    bound_variables,
    check,
    complexity,
    component_sizes,
    read,
    rename_apart,
    subformulas,
    to_prenex,
    verify,
    vocabulary,
)
from formalimg.scenes import Box, Scene, SceneObject, SolverLimitError, Witness, solve
from formalimg.suites import FormulaSpec, implausible

_REASON_OF: dict[str, Reason] = {
    "syntax": "no formula",
    "scope": "unbound variable",
    "unused": "unused variable",
    "predicate": "unknown predicate",
    "arity": "wrong number of arguments",
    "argument": "wrong kind of argument",
    "word": "unknown word",
    "size": "too large",
}

_EFFORT = 0.3
"""The formula is given up anyway; only the reason is still to be found."""

_OTHER = "other"
_SOMETHING_ELSE = Scene.of([SceneObject(_OTHER, Box(100, 100, 200, 200), _OTHER, _OTHER, _OTHER, (_OTHER,))], [])
"""An image of one object that no vocabulary knows."""


class Sound(NamedTuple):
    """A formula that passed, with its witness if it is one of Knolling's."""

    formula: Formula
    witness: Scene | None


def examine(text: str, assignment: Assignment, *, seed: int = 0) -> Sound | Rejection:
    """Check a formula that somebody wrote for an assignment.

    Args:
        text: the formula.
        assignment: what it was written for.
        seed: chooses among witnesses.
    """
    written, problems = read(text)
    if written is None:
        return _rejected(problems)
    problems = check(written, assignment.suite)
    if problems:
        return _rejected(problems)
    formula, problems = read(str(rename_apart(written)))  # as it will be stored, every name bound once
    assert formula is not None, problems
    return (
        _wrong_structure(formula, assignment)
        or _not_on_offer(formula, assignment)
        or _demands_nothing(formula)
        or _showable(formula, assignment.suite, seed)
    )


def _rejected(problems: list[Problem]) -> Rejection:
    return Rejection(_REASON_OF.get(problems[0].kind, "no formula"), str(problems[0]))


def _wrong_structure(formula: Formula, assignment: Assignment) -> Rejection | None:
    try:
        sizes = component_sizes(formula)
        k = complexity(formula)
        to_prenex(formula)  # whoever compares or judges it later needs its clauses
    except FormulaError as error:
        return _rejected(list(error.problems))
    if k != assignment.level:
        return Rejection("wrong level", f"K = {k} instead of {assignment.level}")
    if len(sizes) > 1:
        return Rejection("several components", f"{' + '.join(map(str, sizes))} variables")
    return None


def _not_on_offer(formula: Formula, assignment: Assignment) -> Rejection | None:
    for part in subformulas(formula):
        if not isinstance(part, Atom | And | Exists | Forall | Implies):
            return Rejection("not on offer", f"the connective {type(part).__name__.lower()}")
        if isinstance(part, Forall) and not isinstance(part.body, Implies):
            return Rejection("not on offer", f"a forall without a condition: {part}")
    style = FormulaSpec.of(formula).style
    if style != assignment.style:
        return Rejection("not on offer", f"the style {style or 'none'} instead of {assignment.style or 'none'}")
    offered = {**assignment.words, "class": assignment.classes, "style": (style,)}
    predicates = vocabulary(assignment.suite).predicates
    for atom in atoms(formula):
        if atom.predicate not in ("Is", STYLE, *assignment.predicates):
            return Rejection("not on offer", f"the predicate {atom.predicate}")
        for word, kind in zip(atom.arguments, predicates[atom.predicate].arguments, strict=True):
            if isinstance(word, Value) and word.text not in offered.get(kind, ()):
                return Rejection("not on offer", f"the {kind} {word}")
    said = {
        atom.arguments[0].name
        for atom in atoms(formula)
        if atom.predicate == "Is" and isinstance(atom.arguments[0], Variable)
    }
    unsaid = [name for name in bound_variables(formula) if name not in said]
    return Rejection("class not said", f"what ?{unsaid[0]} is") if unsaid else None


def _demands_nothing(formula: Formula) -> Rejection | None:
    if verify(formula, _SOMETHING_ELSE, style=FormulaSpec.of(formula).style):
        return Rejection("nothing demanded", "it holds in an image of something else")
    return None


def _showable(formula: Formula, suite: str, seed: int) -> Sound | Rejection:
    if suite == "natural":
        problems = implausible(formula)
        return Rejection("implausible", str(problems[0])) if problems else Sound(formula, None)
    try:
        found = solve(formula, seed=seed, settle=False)
    except SolverLimitError:
        return _why_not_comfortably(formula)
    assert isinstance(found, Witness), "only settling for less gives a proof"
    return Sound(formula, found.scene)


def _why_not_comfortably(formula: Formula) -> Rejection:
    """A formula without a comfortable scene is given up; whether it has any scene is still good to know."""
    try:
        found = solve(formula, effort=_EFFORT)
    except SolverLimitError as error:
        return Rejection("undecided", str(error))
    if isinstance(found, Witness):
        return Rejection("too tight", f"only scenes with a margin of {found.margin} or crowded ones were found")
    pieces = ", ".join(map(str, found.conflict))
    return Rejection("contradiction", f"these cannot be true together: {pieces}")
