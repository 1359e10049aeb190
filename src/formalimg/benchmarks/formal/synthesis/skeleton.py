"""Formula skeletons: variables with their classes, quantifiers and counts; optionally `or` and `not`."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.language.ontology.knowledge import COVERED, ontology
from formalimg.logic.syntax import (
    And,
    Atom,
    Count,
    CountBound,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    atoms,
    map_children,
)
from formalimg.logic.vocabulary import vocabulary

Pattern = Literal["exists", "exists-forall", "forall"]
"""All variables exist; some exist around a `forall`; a `forall` comes first."""

_PATTERN_SHARES: dict[Pattern, float] = {"exists": 0.3, "exists-forall": 0.36, "forall": 0.34}
"""Two thirds of the formulas have a `forall`, as the published ones."""

_SHARES_OF_ONE: dict[Pattern, float] = {"exists": 0.65, "forall": 0.35}  # Of one variable only, a third
_COLORS = {"knolling": "Has", "natural": "HasColor"}


class ObjectNumber(NamedTuple):
    """The number of objects that a counted variable stands for: "exactly three", "at most two"."""

    bound: CountBound
    number: int


@dataclass(frozen=True)
class Skeleton:
    """The variables of one component in quantifier order, with counted variables last.

    Counts are never made separately for each instance of the `forall`.
    """

    names: tuple[str, ...]  # of the variables, made from their classes
    classes: tuple[str, ...]
    forall_at: int | None  # which variable `forall` binds; those after it exist for each of its instances
    amounts: Mapping[str, ObjectNumber] = field(default_factory=dict)  # the counted variables: no two in one atom

    @property
    def plain(self) -> tuple[str, ...]:
        """The variables that are not counted."""
        return self.names[: len(self.names) - len(self.amounts)]

    @property
    def pattern(self) -> Pattern:
        """The order of quantifiers."""
        if self.forall_at is None:
            return "exists"
        return "exists-forall" if self.forall_at else "forall"

    def depth(self, atom: Atom) -> int:
        """Return the position of the last variable that an atom mentions."""
        return max(self.names.index(name) for name in atom.variables)

    def says_something_of_each(self, atoms: Sequence[Atom]) -> bool:
        """Return whether the atoms constrain every instance of the `forall`, if there is one.

        Objects that exist for each instance must be connected to it, not only through objects that exist once;
        otherwise the sentence would seem to be about the whole image.
        """
        split = self.forall_at
        if split is None:
            return True
        inner = set(self.plain[split:])
        reached, before = {self.names[split]}, 0
        while len(reached) > before:
            before = len(reached)
            pairs = [set(atom.variables) for atom in atoms if inner.issuperset(atom.variables)]
            reached |= {name for pair in pairs if pair & reached for name in pair}
        if reached != inner:
            return False
        return len(inner) > 1 or any(self.depth(atom) == split for atom in atoms)

    def formula(self, atoms: Sequence[Atom]) -> Formula:
        """Return the formula of the classes and atoms, with each atom as far out as possible."""
        properties = [
            [Atom("Is", (Variable(name), Value(word)))] for name, word in zip(self.names, self.classes, strict=True)
        ]
        relations: list[Atom] = []
        counted: dict[str, list[Atom]] = {name: [] for name in self.amounts}
        for atom in atoms:
            name = self.names[self.depth(atom)]
            if len(atom.variables) == 1:
                properties[self.depth(atom)].append(atom)
            else:
                counted.get(name, relations).append(atom)
        split = len(self.plain) if self.forall_at is None else self.forall_at
        conjuncts: list[Formula] = [atom for listed in properties[:split] for atom in listed]
        conjuncts += [atom for atom in relations if self.depth(atom) < split]
        inside: list[Formula] = [atom for atom in relations if self.depth(atom) >= split]
        for position, (name, tied) in enumerate(counted.items(), start=len(self.plain)):
            bound, number = self.amounts[name]
            conjuncts.append(Count(bound, number, Variable(name), _make_conjunction([*properties[position], *tied])))
        if self.forall_at is not None:
            is_of_class, *of_instance = properties[split]
            inner: list[Formula] = [atom for listed in properties[split + 1 : len(self.plain)] for atom in listed]
            consequence = _bind_variables(self.plain[split + 1 :], _make_conjunction([*inner, *of_instance, *inside]))
            conjuncts.append(Forall(Variable(self.names[split]), Implies(is_of_class, consequence)))
        return _bind_variables(self.plain[:split], _make_conjunction(conjuncts))


def draw_skeleton(level: int, classes: Sequence[str], rng: random.Random) -> Skeleton:
    """Sample a skeleton with `level` variables of the given classes."""
    shares = _PATTERN_SHARES if level > 1 else _SHARES_OF_ONE
    pattern = rng.choices(list(shares), list(shares.values()))[0]
    forall_at = {"exists": None, "forall": 0, "exists-forall": rng.randrange(1, level) if level > 1 else 0}[pattern]
    names = tuple(word.replace(" ", "_") for word in classes)
    return Skeleton(names, tuple(classes), forall_at)


def _make_conjunction(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _bind_variables(names: Sequence[str], formula: Formula) -> Formula:
    for name in reversed(names):
        formula = Exists(Variable(name), formula)
    return formula


def with_connectives(formula: Formula, suite: str, rng: random.Random) -> Formula:
    """Replace one colour of the formula, if any, by a choice ("red or blue") or an exclusion ("not red").

    Colours are changed where they are asserted, not where they are the condition of a `forall`. The other colour of a
    choice suits the object as well.
    """
    places = list(_color_atoms(formula, _COLORS[suite]))
    if not places:
        return formula
    chosen = rng.choice(places)
    variable, value = chosen.arguments
    if rng.random() < 0.5:
        return _replace_atom(formula, chosen, Not(chosen))
    alternatives = [word for word in _colors_of(formula, variable, suite) if value != Value(word)]
    if not alternatives:
        return formula
    alternative = Atom(chosen.predicate, (variable, Value(rng.choice(alternatives))))
    return _replace_atom(formula, chosen, Or((chosen, alternative)))


def _colors_of(formula: Formula, variable: Variable | Value, suite: str) -> tuple[str, ...]:
    if get_suite(suite).vocabulary in COVERED:
        for atom in atoms(formula):
            if atom.predicate == "Is" and atom.arguments[0] == variable and isinstance(atom.arguments[1], Value):
                return ontology().words_for(atom.arguments[1].text, "color")
    return vocabulary(suite).words["color"]


def _color_atoms(formula: Formula, predicate: str) -> list[Atom]:
    match formula:
        case Atom():
            return [formula] if formula.predicate == predicate else []
        case And(parts):
            return [atom for part in parts for atom in _color_atoms(part, predicate)]
        case Exists(_, body):
            return _color_atoms(body, predicate)
        case Forall(_, Implies(_, consequent)):
            return _color_atoms(consequent, predicate)
        case _:
            return []


def _replace_atom(formula: Formula, old: Atom, new: Formula) -> Formula:
    return new if formula is old else map_children(formula, lambda part: _replace_atom(part, old, new))


MAX_NUMBER = 6  # The largest number of a count
_MAX_OBJECTS = 14  # The most objects that an instruction asks for: more would be drawn too small to be recognized
_BOUNDS: dict[CountBound, float] = {"exactly": 0.55, "at-least": 0.25, "at-most": 0.2}

_SHARE_WITH_FORALL = 0.25

_MAX_BESIDE_FORALL = 3
"""The largest number of a count beside a `forall`, whose instances come on top of what is counted."""


def draw_counted_skeleton(level: int, classes: Sequence[str], rng: random.Random) -> Skeleton | None:
    """Sample a skeleton with `level` variables of the given classes, at least one of them counted.

    None if it requires more objects than an image has room for, or if no count requires any.
    """
    counted = 1 if level <= 2 else rng.randint(1, min(3, level - 1))
    plain = level - counted
    forall_at = rng.randrange(plain) if plain and rng.random() < _SHARE_WITH_FORALL else None
    names = tuple(word.replace(" ", "_") for word in classes)
    largest = MAX_NUMBER if forall_at is None else _MAX_BESIDE_FORALL
    amounts: dict[str, ObjectNumber] = {}
    for name in names[plain:]:
        bound = rng.choices(list(_BOUNDS), list(_BOUNDS.values()))[0]
        amounts[name] = ObjectNumber(bound, rng.randint(2 if bound == "at-least" else 1, largest))
    if plain + sum(amount.number for amount in amounts.values()) > _MAX_OBJECTS:
        return None
    if all(amount.bound == "at-most" for amount in amounts.values()):
        return None
    return Skeleton(names, tuple(classes), forall_at, amounts)
