"""Items with formulas in lines of text: one item with its clauses, and what many are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.benchmarks.formal.census import count_contents
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.odd_records import odd_meanings
from formalimg.logic.prenex import clauses
from formalimg.logic.syntax import Forall, Value, atoms, subformulas, to_pretty_text
from formalimg.types import Item

_COLUMNS = 5
_BAR = 20
"""The characters of a bar that stands for the mean."""


def item_lines(item: Item[FormulaSpec]) -> Iterator[str]:
    """Yield the formula of an item, its clauses, and the scene that proves it can be satisfied."""
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
    """Yield how often predicates and classes occur; 1.00 is the mean of their kind."""
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
    """Return what an export says of items, with counts of what they ask for."""
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
