"""Do words and formula say the same? Decided by logic, wherever our own reader understands the words."""

from __future__ import annotations

from typing import Literal, TypeAlias

from formalimg.logic import (
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    TooHardError,
    complexity,
    parse,
    rename_apart,
    verify,
)
from formalimg.scenes import SolverLimitError, Unsatisfiable, Witness, solve
from formalimg.suites import WordingError, same_meaning_as_written, understand

Agreement: TypeAlias = Literal[
    "same",  # proven
    "different",  # proven
    "undecided",  # understood, but not decided
    "not understood",  # the words are not in the language of our reader, as most good English
]

_CONVERSE = {"SmallerThan": "LargerThan"}
_CONVERSE_IN_NATURAL = {"RightOf": "LeftOf"}
_WITNESSES = 3
"""In how many scenes of each formula the other is tried: what differs mostly differs in the first."""

_MOST_FOR_A_PROOF = 4
"""Up to this K the solver is asked outright; the negation of a formula grows beyond all bounds with its variables."""

_EFFORT = 0.03
"""What differs does so in a small scene, which is found at once; long proofs of sameness are not worth waiting for."""

_SYMMETRIC = ("AlignedHorizontally", "AlignedVertically", "NextTo")


def agreement(words: str, formula: Formula, suite: str) -> Agreement:
    """Whether an instruction in English says what a formula says."""
    try:
        understood = understand(words, suite)
    except WordingError:
        return "not understood"
    try:
        same = same_meaning_as_written(_one_way(understood, suite), _one_way(formula, suite))
    except WordingError:
        return "undecided"  # too many variables look alike
    if same:
        return "same"
    if suite == "natural":
        return "different"
    return _told_apart(understood, formula)


def _told_apart(one: Formula, other: Formula) -> Agreement:
    """Looks for a scene in which exactly one of two Knolling formulas holds."""
    if any(_differ_in_a_witness(holds, fails) for holds, fails in ((one, other), (other, one))):
        return "different"
    if max(complexity(one), complexity(other)) > _MOST_FOR_A_PROOF:
        return "undecided"
    undecided = False
    for holds, fails in ((one, other), (other, one)):
        question = And((holds, Not(fails)))
        try:
            found = solve(parse(str(rename_apart(question))), margin=0, instances=1, effort=_EFFORT)
            if not isinstance(found, Unsatisfiable):
                return "different"
        except SolverLimitError:
            undecided = True
    return "undecided" if undecided else "same"


def _differ_in_a_witness(holds: Formula, fails: Formula) -> bool:
    for seed in range(_WITNESSES):
        try:
            found = solve(holds, seed=seed, settle=False)
            if isinstance(found, Witness) and not verify(fails, found.scene):
                return True
        except (SolverLimitError, TooHardError):
            return False
    return False


def _one_way(formula: Formula, suite: str) -> Formula:
    """The formula with relations that can be said both ways said in one, or in both."""
    converse = {**_CONVERSE, **(_CONVERSE_IN_NATURAL if suite == "natural" else {})}

    def turned(part: Formula) -> Formula:
        match part:
            case Atom(predicate, arguments) if predicate in converse:
                return Atom(converse[predicate], arguments[::-1])
            case Atom(predicate, arguments) if predicate in _SYMMETRIC:
                return And((part, Atom(predicate, arguments[::-1])))
            case Atom():
                return part
            case And(parts):
                return And(tuple(map(turned, parts)))
            case Or(parts):
                return Or(tuple(map(turned, parts)))
            case Not(body):
                return Not(turned(body))
            case Implies(antecedent, consequent):
                return Implies(turned(antecedent), turned(consequent))
            case Iff(left, right):
                return Iff(turned(left), turned(right))
            case Exists(variable, body):
                return Exists(variable, turned(body))
            case Forall(variable, body):
                return Forall(variable, turned(body))

    return turned(formula)
