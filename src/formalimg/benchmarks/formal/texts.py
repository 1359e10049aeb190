"""Items with formulas as lines of text: single items with their clauses, and the census of many items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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

STRUCTURAL = ("Is", "IsStyle")  # Predicates that every instruction needs: they are not drawn like the others


class Census:
    """Counts of the contents of a suite's items."""

    def __init__(self, suite: str) -> None:
        self.items = 0
        self.levels: Counter[int] = Counter()
        self.predicates: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.patterns: Counter[str] = Counter()
        self._vocabulary = vocabulary(suite_of(suite).vocabulary)

    @property
    def predicate_shares(self) -> dict[str, float]:
        """The frequencies of the predicates that can be sampled, relative to their mean."""
        return _shares(self.predicates, [name for name in self._vocabulary.predicates if name not in STRUCTURAL])

    @property
    def unknown_predicates(self) -> dict[str, int]:
        """The number of occurrences of each predicate that is not in the suite's vocabulary."""
        vocabulary_predicates = self._vocabulary.predicates
        return {name: count for name, count in sorted(self.predicates.items()) if name not in vocabulary_predicates}

    @property
    def class_shares(self) -> dict[str, float]:
        """The frequencies of the classes, relative to their mean."""
        return _shares(self.classes, self._vocabulary.words["class"])


def _shares(counts: Counter[str], names: Sequence[str]) -> dict[str, float]:
    mean = sum(counts[name] for name in names) / len(names)
    return {name: counts[name] / mean if mean else 0.0 for name in names}


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
    census = count_contents(suite, items)
    witnesses = sum(item.spec.witness is not None for item in items)
    notes = [
        f"{len(census.classes)} classes of objects are named.",
        f"{census.patterns['forall'] + census.patterns['exists-forall']:,} formulas have a `forall`.",
        f"{witnesses:,} items come with a witness, a scene that satisfies the formula.",
    ]
    contents = MarkdownTable(("predicate", "atoms"), count_rows(sorted(census.predicates.items())))
    return read_sheet(__package__, "formula", suite, contents, notes)
