"""Formal checks of a written formula: vocabulary, structure, satisfiability, and agreement with its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.authoring.outcomes import Reason, Rejection
from formalimg.benchmarks.formal.authoring.templates import Assignment
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.lexicon import WordingError
from formalimg.language.ontology.knowledge import COVERED
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.language.parser import understand
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError, Problem
from formalimg.logic.evaluation import TooHardError
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.prenex import complexity, component_sizes, to_prenex
from formalimg.logic.syntax import (
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Value,
    Variable,
    atoms,
    map_children,
    subformulas,
)
from formalimg.logic.variables import bound_variables, rename_apart
from formalimg.logic.verification import STYLE_PREDICATE, verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solver.search import solve

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

_EFFORT = 0.3  # The formula is given up anyway; only the reason is still to be found
_OTHER = "other"
_SOMETHING_ELSE = Scene.of([SceneObject(_OTHER, Box(100, 100, 200, 200), _OTHER, _OTHER, _OTHER, (_OTHER,))], [])
"""An image of one object that no vocabulary knows."""


class CheckedFormula(NamedTuple):
    """A formula that passed all checks, with its witness if it is for Knolling."""

    formula: Formula
    witness: Scene | None


def check_formula(text: str, assignment: Assignment, *, seed: int = 0) -> CheckedFormula | Rejection:
    """Check a written formula against its assignment; return it, or a rejection."""
    written, problems = try_parse(text)
    if written is None:
        return _reject_problems(problems)
    problems = check(written, assignment.suite)
    if problems:
        return _reject_problems(problems)
    formula, problems = try_parse(str(rename_apart(written)))  # as it will be stored, every name bound once
    assert formula is not None, problems
    return (
        _wrong_structure(formula, assignment)
        or _not_on_offer(formula, assignment)
        or _check_showable(formula, assignment.suite, seed)
    )


def _reject_problems(problems: list[Problem]) -> Rejection:
    return Rejection(_REASON_OF.get(problems[0].kind, "no formula"), str(problems[0]))


def _wrong_structure(formula: Formula, assignment: Assignment) -> Rejection | None:
    try:
        sizes = component_sizes(formula)
        k = complexity(formula)
        to_prenex(formula)  # whoever compares or judges it later needs its clauses
    except FormulaError as error:
        return _reject_problems(list(error.problems))
    if k != assignment.level:
        return Rejection("wrong level", f"K = {k} instead of {assignment.level}")
    if len(sizes) > 1:
        return Rejection("several components", f"{' + '.join(map(str, sizes))} variables")
    return None


def _not_on_offer(formula: Formula, assignment: Assignment) -> Rejection | None:
    for part in subformulas(formula):
        if isinstance(part, Count):
            return Rejection("not on offer", f"a count, which is not in the published language: {part.bound}")
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
        if atom.predicate not in ("Is", STYLE_PREDICATE, *assignment.predicates):
            return Rejection("not on offer", f"the predicate {atom.predicate}")
        for word, kind in zip(atom.arguments, predicates[atom.predicate].arguments, strict=True):
            if isinstance(word, Value) and word.text not in offered.get(kind, ()):
                return Rejection("not on offer", f"the {kind} {word}")
    classified = {
        atom.arguments[0].name
        for atom in atoms(formula)
        if atom.predicate == "Is" and isinstance(atom.arguments[0], Variable)
    }
    unsaid = [name for name in bound_variables(formula) if name not in classified]
    return Rejection("class not said", f"what ?{unsaid[0]} is") if unsaid else None


def _check_showable(formula: Formula, suite: str, seed: int) -> CheckedFormula | Rejection:
    if verify(formula, _SOMETHING_ELSE, style=FormulaSpec.of(formula).style):
        return Rejection("nothing demanded", "it holds in an image of something else")
    if suite_of(suite).vocabulary in COVERED:
        problems = find_implausible(formula)
        return Rejection("implausible", str(problems[0])) if problems else CheckedFormula(formula, None)
    try:
        result = solve(formula, seed=seed, allow_fallback=False)
    except SolverLimitError:
        return _why_not_comfortably(formula)
    assert isinstance(result, Witness), "only settling for less gives a proof"
    return CheckedFormula(formula, result.scene)


def _why_not_comfortably(formula: Formula) -> Rejection:
    """Return the rejection of a formula without a comfortable scene, after checking whether it has any scene."""
    try:
        result = solve(formula, effort=_EFFORT)
    except SolverLimitError as error:
        return Rejection("undecided", str(error))
    if isinstance(result, Witness):
        return Rejection("too tight", f"only scenes with a margin of {result.margin} or crowded ones were found")
    pieces = ", ".join(map(str, result.conflict))
    return Rejection("contradiction", f"these cannot be true together: {pieces}")


Agreement: TypeAlias = Literal[
    "same",  # proven
    "different",  # proven
    "undecided",  # understood, but not decided
    "not understood",  # the words are not in the language of our reader, as most good English
]

_CONVERSE = {"SmallerThan": "LargerThan"}
_CONVERSE_IN_ENGLISH = {**_CONVERSE, "RightOf": "LeftOf", "Below": "Above"}
"""What plain English says either way. The rules of Knolling tell them apart, and so does the language of `realize`."""

_WITNESSES = 3  # In how many scenes of each formula the other is tried: what differs mostly differs in the first
_MOST_FOR_A_PROOF = 4
"""Up to this K the solver is asked outright; the negation of a formula grows beyond all bounds with its variables."""

_AGREEMENT_EFFORT = 0.03
"""What differs does so in a small scene, which is found at once; long proofs of sameness are not worth waiting for."""

_SYMMETRIC = ("AlignedHorizontally", "AlignedVertically", "NextTo")


def find_agreement(words: str, formula: Formula, suite: str) -> Agreement:
    """Return whether an English prompt and a formula have the same meaning."""
    try:
        understood, exact = understand(words, suite)
    except WordingError:
        return "not understood"
    if _has_count(understood) and not _has_count(formula):
        return "not understood"  # "two cups" may be meant as two variables
    converse = _CONVERSE if exact and suite_of(suite).vocabulary not in COVERED else _CONVERSE_IN_ENGLISH
    turned = _one_way(understood, converse), _one_way(formula, converse)
    try:
        same = is_equivalent_as_written(*turned)
    except WordingError:
        return "undecided"  # too many variables look alike
    if same:
        return "same"
    if suite_of(suite).vocabulary in COVERED:
        return "different"
    return _compare_formulas(understood, formula) if exact else _compare_formulas(*turned)


def _has_count(formula: Formula) -> bool:
    return any(isinstance(part, Count) for part in subformulas(formula))


def _compare_formulas(first: Formula, second: Formula) -> Agreement:
    """Search for a scene in which exactly one of two Knolling formulas holds."""
    if any(_differ_in_a_witness(holds, fails) for holds, fails in ((first, second), (second, first))):
        return "different"
    if max(complexity(first), complexity(second)) > _MOST_FOR_A_PROOF:
        return "undecided"
    undecided = False
    for holds, fails in ((first, second), (second, first)):
        question = And((holds, Not(fails)))
        try:
            result = solve(parse(str(rename_apart(question))), margin=0, instances=1, effort=_AGREEMENT_EFFORT)
            if not isinstance(result, Unsatisfiable):
                return "different"
        except SolverLimitError:
            undecided = True
    return "undecided" if undecided else "same"


def _differ_in_a_witness(holds: Formula, fails: Formula) -> bool:
    for seed in range(_WITNESSES):
        try:
            result = solve(holds, seed=seed, allow_fallback=False)
            if isinstance(result, Witness) and not verify(fails, result.scene):
                return True
        except (SolverLimitError, TooHardError):
            return False
    return False


def _one_way(formula: Formula, converse: Mapping[str, str]) -> Formula:
    """Return the formula with converse relations replaced, and symmetric relations stated in both directions."""
    match formula:
        case Atom(predicate, arguments) if predicate in converse:
            return Atom(converse[predicate], arguments[::-1])
        case Atom(predicate, arguments) if predicate in _SYMMETRIC:
            return And((formula, Atom(predicate, arguments[::-1])))
    return map_children(formula, lambda part: _one_way(part, converse))
