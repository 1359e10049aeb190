"""Random formulas of the shapes that the wording covers, in both vocabularies."""

from __future__ import annotations

import random
from typing import NamedTuple

from formalimg.logic.syntax import (
    COUNT_BOUNDS,
    DISTINCT,
    And,
    Atom,
    Count,
    Exists,
    Forall,
    Formula,
    Implies,
    Not,
    Or,
    Value,
    Variable,
)
from formalimg.logic.vocabulary import vocabulary

_VALUES = {"Has": "color", "HasColor": "color", "HasMaterial": "material", "HasShape": "shape", "HasState": "state"}


class Taste(NamedTuple):
    """How often odd objects happen."""

    logic: float = 0.0
    """Share of claims that become an `or` or a `not`."""
    twins: float = 0.15
    """Share of objects that have the class of another."""
    nameless: float = 0.0
    """Share of objects whose class is not said."""
    counts: float = 0.0
    """Share of formulas and of rules that count, and of formulas whose first two objects are distinct."""


class Sayable:
    """Makes one formula after the other from a seed."""

    def __init__(self, suite: str, seed: int, taste: Taste) -> None:
        self.suite = suite
        self.chance = random.Random(f"{suite} {seed}")
        self.taste = taste
        self.words = vocabulary(suite)
        predicates = self.words.predicates.values()
        self.attributes = [p.name for p in predicates if p.name in _VALUES]
        self.places = [p.name for p in predicates if p.arguments == ("variable",)]
        self.relations = [p.name for p in predicates if p.arguments == ("variable", "variable")]

    def formula(self, k: int) -> Formula:
        """A formula of k variables: objects, mostly with a rule or two, sometimes with a style."""
        chance = self.chance
        names = [f"v{number}" for number in range(k)]
        chance.shuffle(names)
        outer_count = chance.randint(0, k)
        outer, rest = names[:outer_count], names[outer_count:]
        classes: list[str] = []
        parts = [claim for name in outer for claim in self.introduced(name, classes)]
        parts += self.claims(outer, chance.randint(max(len(outer) - 1, 0), len(outer) + 2), outer)
        cut = chance.randint(1, len(rest) - 1) if len(rest) > 1 and chance.random() < 0.15 else len(rest)
        parts += [self.rule(own[0], own[1:], outer, classes) for own in (rest[:cut], rest[cut:]) if own]
        parts += self.counts(outer, "c")
        if self.taste.counts and len(outer) > 1 and chance.random() < self.taste.counts:
            parts.append(Atom(DISTINCT, tuple(map(Variable, outer[: chance.choice([2, 3])]))))
        parts = self.without_twice(parts)
        chance.shuffle(parts)
        formula: Formula = parts[0] if len(parts) == 1 and chance.random() < 0.5 else And(tuple(parts))
        for name in outer:
            formula = Exists(Variable(name), formula)
        if self.suite == "natural" and chance.random() < 0.8:
            formula = And((Atom("IsStyle", (Value(chance.choice(self.words.words["style"])),)), formula))
        return formula

    def rule(self, name: str, inner: list[str], outer: list[str], classes: list[str]) -> Formula:
        guard = self.introduced(name, classes, guard=True)
        if self.places and self.chance.random() < 0.1:
            guard.append(self.literal(Atom(self.chance.choice(self.places), (Variable(name),))))
        if outer and self.chance.random() < 0.1:
            guard.append(self.literal(self.relation(name, self.chance.choice(outer))))
        body = [claim for obj in inner for claim in self.introduced(obj, classes)]
        body += self.claims([*inner, name], max(len(inner), 1) + self.chance.randint(0, 2), [*outer, *inner, name])
        consequent = self.without_twice([*body, *self.counts([*outer, *inner, name], f"{name}c")])
        self.chance.shuffle(consequent)
        formula: Formula = consequent[0] if len(consequent) == 1 else And(tuple(consequent))
        for obj in inner:
            formula = Exists(Variable(obj), formula)
        guard = self.without_twice(guard)
        if not guard:
            return Forall(Variable(name), formula)
        return Forall(Variable(name), Implies(guard[0] if len(guard) == 1 else And(tuple(guard)), formula))

    def counts(self, outer: list[str], stem: str) -> list[Formula]:
        """Counts of objects, some of them related to those outside, or to one of their own."""
        found: list[Formula] = []
        while self.chance.random() < self.taste.counts if self.taste.counts else False:
            name, own = f"{stem}{len(found)}", f"{stem}{len(found)}own"
            body = self.introduced(name, [])
            if outer and self.chance.random() < 0.6:
                body += [self.claim(name, [name, self.chance.choice(outer)])]
            if self.chance.random() < 0.2:
                body += [Atom("Is", (Variable(own), Value(f"{self.chance.choice(self.words.words['class'])}")))]
                body += [self.relation(*self.chance.sample([name, own], 2))]
            body = self.without_twice(body)
            inside: Formula = body[0] if len(body) == 1 else And(tuple(body))
            if Variable(own) in {argument for part in body if isinstance(part, Atom) for argument in part.arguments}:
                inside = Exists(Variable(own), inside)
            count = Count(self.chance.choice(COUNT_BOUNDS), self.chance.randint(0, 30), Variable(name), inside)
            found.append(Not(count) if self.chance.random() < 0.2 else count)
        return found

    def introduced(self, name: str, classes: list[str], *, guard: bool = False) -> list[Formula]:
        """What an object is and is like."""
        chance, found = self.chance, list[Formula]()
        if chance.random() >= self.taste.nameless:
            twin = classes and chance.random() < self.taste.twins
            word = chance.choice(classes if twin else self.words.words["class"])
            classes.append(word)
            found.append(Atom("Is", (Variable(name), Value(word))))
        else:
            found.append(self.attribute(name))
        for _ in range(chance.choice([0, 0, 1, 1, 2]) if not guard else chance.choice([0, 0, 0, 1])):
            found.append(self.maybe_odd(self.attribute(name), name, [name]))
        return found

    def claims(self, subjects: list[str], count: int, objects: list[str]) -> list[Formula]:
        return [self.claim(self.chance.choice(subjects), objects) for _ in range(count)] if subjects else []

    def claim(self, subject: str, objects: list[str]) -> Formula:
        return self.maybe_odd(self.simple(subject, objects), subject, objects)

    def simple(self, subject: str, objects: list[str]) -> Atom:
        others = [obj for obj in objects if obj != subject]
        if others and self.chance.random() < 0.75:
            pair = [subject, self.chance.choice(others)]
            self.chance.shuffle(pair)
            return self.relation(*pair)
        if self.places and self.chance.random() < 0.7:
            return Atom(self.chance.choice(self.places), (Variable(subject),))
        return self.attribute(subject)

    def relation(self, first: str, second: str) -> Atom:
        return Atom(self.chance.choice(self.relations), (Variable(first), Variable(second)))

    def attribute(self, name: str) -> Atom:
        predicate = self.chance.choice(self.attributes)
        return Atom(predicate, (Variable(name), Value(self.chance.choice(self.words.words[_VALUES[predicate]]))))

    def maybe_odd(self, atom: Atom, subject: str, objects: list[str]) -> Formula:
        if self.chance.random() >= self.taste.logic:
            return atom
        if self.chance.random() < 0.15:
            atom = Atom("Is", (Variable(subject), Value(self.chance.choice(self.words.words["class"]))))
        if self.chance.random() < 0.5:
            return Not(atom)
        other = self.simple(subject, objects)
        if self.chance.random() < 0.5 and atom.predicate in _VALUES:
            kind = self.words.words[_VALUES[atom.predicate]]
            other = Atom(atom.predicate, (Variable(subject), Value(self.chance.choice(kind))))
        return Or((atom, self.literal(other))) if other != atom else atom

    def literal(self, atom: Atom) -> Formula:
        return Not(atom) if self.chance.random() < self.taste.logic else atom

    def without_twice(self, parts: list[Formula]) -> list[Formula]:
        """The parts without repetitions, also of alternatives in another order."""
        seen: dict[frozenset[Formula], Formula] = {}
        for part in parts:
            key = frozenset(part.parts) if isinstance(part, Or) else frozenset({part})
            seen.setdefault(key, part)
        return list(seen.values())
