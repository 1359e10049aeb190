"""`or` and `not` in instructions: an option, since the published ones have neither."""

from __future__ import annotations

import random

from formalimg.logic import And, Atom, Exists, Forall, Formula, Implies, Not, Or, Value, Variable, atoms, vocabulary
from formalimg.suites.ontology import ontology

_COLORS = {"knolling": "Has", "natural": "HasColor"}


def with_connectives(formula: Formula, suite: str, chance: random.Random) -> Formula:
    """The formula with one of its colours made a choice ("red or blue") or an exclusion ("not red"), if it has any.

    Colours are changed where they are asserted, not where they are the condition of a `forall`. The other colour of a
    choice suits the thing as well.
    """
    places = list(_colors(formula, _COLORS[suite]))
    if not places:
        return formula
    chosen = chance.choice(places)
    variable, value = chosen.arguments
    if chance.random() < 0.5:
        return _replaced(formula, chosen, Not(chosen))
    others = [word for word in _colors_of(formula, variable, suite) if value != Value(word)]
    if not others:
        return formula
    other = Atom(chosen.predicate, (variable, Value(chance.choice(others))))
    return _replaced(formula, chosen, Or((chosen, other)))


def _colors_of(formula: Formula, variable: Variable | Value, suite: str) -> tuple[str, ...]:
    """The colours that suit what a variable is."""
    if suite == "natural":
        for atom in atoms(formula):
            if atom.predicate == "Is" and atom.arguments[0] == variable and isinstance(atom.arguments[1], Value):
                return ontology().words_for(atom.arguments[1].text, "color")
    return vocabulary(suite).words["color"]


def _colors(formula: Formula, predicate: str) -> list[Atom]:
    match formula:
        case Atom():
            return [formula] if formula.predicate == predicate else []
        case And(parts):
            return [atom for part in parts for atom in _colors(part, predicate)]
        case Exists(_, body):
            return _colors(body, predicate)
        case Forall(_, Implies(_, consequent)):
            return _colors(consequent, predicate)
        case _:
            return []


def _replaced(formula: Formula, old: Atom, new: Formula) -> Formula:
    match formula:
        case Atom():
            return new if formula is old else formula
        case And(parts):
            return And(tuple(_replaced(part, old, new) for part in parts))
        case Exists(variable, body):
            return Exists(variable, _replaced(body, old, new))
        case Forall(variable, Implies(antecedent, consequent)):
            return Forall(variable, Implies(antecedent, _replaced(consequent, old, new)))
        case _:
            return formula
