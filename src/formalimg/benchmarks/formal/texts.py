"""Items with formulas as lines of text: single items with their clauses, and the census of many items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.logic.prenex import clauses
from formalimg.logic.syntax import Exists, Forall, Formula, Value, atoms, subformulas, to_pretty_text
from formalimg.logic.vocabulary import vocabulary
from formalimg.types import Item

STRUCTURAL = ("Is", "IsStyle")
"""Predicates that every instruction needs, and that are therefore not drawn like the others."""


@dataclass
class Census:
    """Counts of the contents of a suite's items."""

    suite: str
    items: int = 0
    levels: Counter[int] = field(default_factory=Counter)
    predicates: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    patterns: Counter[str] = field(default_factory=Counter)

    def shares(self, counts: Counter[str], names: Iterable[str]) -> dict[str, float]:
        """Return the frequency of each name relative to the mean over all names."""
        listed = list(names)
        mean = sum(counts[name] for name in listed) / len(listed)
        return {name: counts[name] / mean if mean else 0.0 for name in listed}

    @property
    def predicate_shares(self) -> dict[str, float]:
        """The relative frequencies of the predicates that can be sampled."""
        names = [name for name in vocabulary(suite_of(self.suite).vocabulary).predicates if name not in STRUCTURAL]
        return self.shares(self.predicates, names)

    @property
    def unknown_predicates(self) -> dict[str, int]:
        """The number of occurrences of each predicate that is not in the suite's vocabulary."""
        predicates = vocabulary(suite_of(self.suite).vocabulary).predicates
        return {name: count for name, count in sorted(self.predicates.items()) if name not in predicates}

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


_COLUMNS = 5
_BAR = 20  # The characters of a bar that stands for the mean


def item_lines(item: Item[FormulaSpec]) -> Iterator[str]:
    """Yield the formula of an item, its clauses, and the scene that proves it satisfiable."""
    spec = item.spec
    yield f"{item.suite}/{item.id}, K = {item.level}\n\n{item.prompt}\n"
    yield from odd_meanings(item.tags)
    if spec.unreadable is not None:
        yield f"{spec.unreadable}\n\n{spec.unreadable_because}"
        return
    yield to_pretty_text(spec.formula)
    yield "\nclauses"
    for clause in clauses(spec.formula):
        yield f"  {clause.kind:<9}  {clause.text}"
    if spec.witness is not None:
        yield "\nwitness"
        for number, obj in enumerate(spec.witness.objects):
            yield f"  #{number:<2} {obj.describe():<24} {obj.box}"


def census_lines(suite: str, items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield the frequencies of predicates and classes, relative to the mean of their kind."""
    census = count_contents(suite, items)
    levels = ", ".join(f"K={level}: {count}" for level, count in sorted(census.levels.items()))
    yield f"{census.items} items of {suite} ({levels})"
    patterns = ", ".join(f"{name} {count / census.items:.0%}" for name, count in sorted(census.patterns.items()))
    yield f"quantifiers: {patterns}"
    yield "\npredicates, as multiples of their mean:"
    for name, share in sorted(census.predicate_shares.items(), key=lambda entry: -entry[1]):
        yield f"  {name:<20} {share:5.2f}  {census.predicates[name]:>6}  {'█' * round(share * _BAR)}"
    if census.unknown_predicates:
        yield f"predicates that the vocabulary does not have: {counts_text(census.unknown_predicates)}"
    shares = sorted(census.class_shares.items(), key=lambda entry: -entry[1])
    yield f"\nclasses, as multiples of their mean ({shares[-1][1]:.2f} to {shares[0][1]:.2f}):"
    cells = [f"{name} {share:.2f}" for name, share in shares]
    width = max(map(len, cells)) + 2
    for start in range(0, len(cells), _COLUMNS):
        yield "  " + "".join(f"{cell:<{width}}" for cell in cells[start : start + _COLUMNS]).rstrip()


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return the data sheet of items, with counts of their contents."""
    predicates: Counter[str] = Counter()
    classes: set[str] = set()
    quantified = witnesses = 0
    for item in items:
        formula = item.spec.formula
        quantified += any(isinstance(node, Forall) for node in subformulas(formula))
        witnesses += item.spec.witness is not None
        for atom in atoms(formula):
            predicates[atom.predicate] += 1
            if atom.predicate == "Is":
                classes.update(word.text for word in atom.arguments[1:] if isinstance(word, Value))
    notes = [
        f"{len(classes)} classes of objects are named.",
        f"{quantified:,} formulas have a `forall`.",
        f"{witnesses:,} items come with a witness, a scene that satisfies the formula.",
    ]
    contents = MarkdownTable(("predicate", "atoms"), count_rows(sorted(predicates.items())))
    return read_sheet(__package__, "formula", suite, contents, notes)
