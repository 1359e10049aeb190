"""Do two formulas say the same, as they are written?

Two formulas are the same as written if a renaming of their variables makes their lifted forms equal, clause for
clause, and respects three things that the clauses do not show: the kind of each quantifier, which `exists` stands
inside which `forall`, and what an `implies` directly under a `forall` has in front (the strict reading hangs on it).
The order of conjuncts, the names of variables, and an `exists` moved within the same `forall` make no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from formalimg.logic import (
    And,
    Atom,
    Component,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Variable,
    children,
    rename_apart,
    subformulas,
    to_prenex,
    to_text,
)
from formalimg.suites.wording.matching import Fact, Side, Word, same_but_for_names


@dataclass(frozen=True)
class _Quantified:
    """What stands around a quantifier, and in front of the implies directly under it."""

    around: tuple[str, ...]
    guard: tuple[Formula, ...] | None


def same_meaning_as_written(one: Formula, other: Formula) -> bool:
    """Do two closed formulas say the same up to names, order of conjuncts and idle positions of quantifiers?

    Raises:
        WordingError: if variables look so much alike that this cannot be decided with a bounded number of steps.
    """
    left, right = _sides(one), _sides(other)
    if len(left) != len(right):
        return False
    for side in left:
        match = next((index for index, candidate in enumerate(right) if same_but_for_names(side, candidate)), None)
        if match is None:
            return False
        del right[match]
    return True


def _sides(formula: Formula) -> list[Side]:
    if any(isinstance(part, Iff) for part in subformulas(formula)):
        to_prenex(formula)  # refuses what would grow too large
        formula = _without_iff(formula, positive=True)
    formula = rename_apart(formula)
    quantified: dict[str, _Quantified] = {}
    _note_quantifiers(formula, (), quantified)
    return [_side(component, quantified) for component in to_prenex(formula).components]


def _without_iff(formula: Formula, *, positive: bool) -> Formula:
    """The formula with each `iff` written as lifting takes it, so that all copies of its quantifiers are there."""
    match formula:
        case Iff(left, right):
            one, other = (
                (_without_iff(side, positive=True), Not(_without_iff(side, positive=False))) for side in (left, right)
            )
            if positive:
                return And((Or((one[1], other[0])), Or((one[0], other[1]))))
            return Not(And((Or((one[1], other[1])), Or((one[0], other[0])))))
        case Not(body):
            return Not(_without_iff(body, positive=not positive))
        case And(parts):
            return And(tuple(_without_iff(part, positive=positive) for part in parts))
        case Or(parts):
            return Or(tuple(_without_iff(part, positive=positive) for part in parts))
        case Implies(antecedent, consequent):
            condition = _without_iff(antecedent, positive=not positive)
            return Implies(condition, _without_iff(consequent, positive=positive))
        case Exists(variable, body):
            return Exists(variable, _without_iff(body, positive=positive))
        case Forall(variable, body):
            return Forall(variable, _without_iff(body, positive=positive))
        case Atom():
            return formula


def _note_quantifiers(formula: Formula, around: tuple[str, ...], noted: dict[str, _Quantified]) -> None:
    if isinstance(formula, Exists | Forall):
        implied = isinstance(formula, Forall) and isinstance(formula.body, Implies)
        guard = _conjuncts(formula.body.antecedent) if implied and isinstance(formula.body, Implies) else None
        noted[formula.variable.name] = _Quantified(around, guard)
        around = (*around, formula.variable.name)
    for child in children(formula):
        _note_quantifiers(child, around, noted)


def _side(component: Component, quantified: Mapping[str, _Quantified]) -> Side:
    kinds = {f"?{variable}": kind for kind, variable in component.prefix}
    facts = Counter(
        frozenset(_word(literal.atom, literal.positive) for literal in clause.literals) for clause in component.clauses
    )
    for kind, name in component.prefix:
        around, guard = quantified[name].around, quantified[name].guard
        inside = [outer for outer in around if kind == "exists" and kinds.get(f"?{outer}") == "forall"]
        facts.update(_fact("inside", f"?{name}", f"?{outer}") for outer in inside)
        for conjunct in guard or ():
            facts[_guard_fact(conjunct, f"?{name}")] += 1
    return Side(kinds, facts)


def _conjuncts(formula: Formula) -> tuple[Formula, ...]:
    if isinstance(formula, And):
        return tuple(conjunct for part in formula.parts for conjunct in _conjuncts(part))
    return (formula,)


def _guard_fact(conjunct: Formula, owner: str) -> Fact:
    """A condition of a forall; the order of alternatives counts only where they are more than literals."""
    words = [Word("guard of", True, (owner,))]
    for part in conjunct.parts if isinstance(conjunct, Or) else (conjunct,):
        atom = part.body if isinstance(part, Not) else part
        if not isinstance(atom, Atom):
            text = to_text(conjunct)
            return frozenset({*words[:1], Word(re.sub(r"\?[\w-]+", "?", text), True, tuple(_variables(text)))})
        words.append(_word(atom, part is atom))
    return frozenset(words)


def _variables(text: str) -> Iterable[str]:
    return re.findall(r"\?[\w-]+", text)


def _word(atom: Atom, positive: bool) -> Word:
    arguments = [f"?{a.name}" if isinstance(a, Variable) else f"'{a.text}'" for a in atom.arguments]
    return Word(atom.predicate, positive, tuple(arguments))


def _fact(text: str, *arguments: str) -> Fact:
    return frozenset({Word(text, True, arguments)})
