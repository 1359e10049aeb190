"""Census: counts of predicates, classes and quantifier patterns in a set of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.logic.syntax import Exists, Forall, Formula, Value, atoms, subformulas
from formalimg.logic.vocabulary import vocabulary
from formalimg.types import Item

STRUCTURAL = ("Is", "IsStyle")
"""Predicates that every instruction needs, and that are therefore not drawn like the others."""


@dataclass
class Census:
    """Counts over a set of items of one suite."""

    suite: str
    items: int = 0
    levels: Counter[int] = field(default_factory=Counter)
    predicates: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    patterns: Counter[str] = field(default_factory=Counter)

    def shares(self, counts: Counter[str], names: Iterable[str]) -> dict[str, float]:
        """Return the frequency of each name relative to the mean over all of them."""
        listed = list(names)
        mean = sum(counts[name] for name in listed) / len(listed)
        return {name: counts[name] / mean if mean else 0.0 for name in listed}

    @property
    def predicate_shares(self) -> dict[str, float]:
        """The relative frequencies of the predicates that are drawn."""
        names = [name for name in vocabulary(suite_of(self.suite).vocabulary).predicates if name not in STRUCTURAL]
        return self.shares(self.predicates, names)

    @property
    def unknown_predicates(self) -> dict[str, int]:
        """How often predicates occur that the vocabulary of the suite does not have."""
        known = vocabulary(suite_of(self.suite).vocabulary).predicates
        return {name: count for name, count in sorted(self.predicates.items()) if name not in known}

    @property
    def class_shares(self) -> dict[str, float]:
        """The relative frequencies of the classes."""
        return self.shares(self.classes, vocabulary(suite_of(self.suite).vocabulary).words["class"])


def count_contents(suite: str, items: Iterable[Item[FormulaSpec]]) -> Census:
    """Count predicates, classes and quantifier patterns in the items."""
    census = Census(suite)
    for item in items:
        formula = item.spec.formula
        census.items += 1
        census.levels[item.level] += 1
        census.patterns[pattern_of(formula) if item.spec.unreadable is None else "unreadable"] += 1
        for atom in atoms(formula):
            census.predicates[atom.predicate] += 1
            if atom.predicate == "Is":
                census.classes.update(word.text for word in atom.arguments[1:2] if isinstance(word, Value))
    return census


def pattern_of(formula: Formula) -> str:
    """Return the quantifier pattern: `exists`, `exists-forall` (around it) or `forall` (first)."""
    quantifiers = [type(node) for node in subformulas(formula) if isinstance(node, Exists | Forall)]
    if Forall not in quantifiers:
        return "exists"
    return "forall" if quantifiers[0] is Forall else "exists-forall"
