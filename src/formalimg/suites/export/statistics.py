"""Statistics of items for the data sheet: levels, tags and contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from formalimg.logic import Forall, Value, atoms, subformulas
from formalimg.suites.cfworld.spec import DIMENSIONS
from formalimg.suites.conceptmix.spec import CATEGORIES
from formalimg.suites.defaults import instruction_digest
from formalimg.suites.item import Item
from formalimg.suites.registry import Suite, suite


class MarkdownTable(NamedTuple):
    """Rows under a heading; the first column holds names, the others counts."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class ItemStatistics(NamedTuple):
    """Counts over a set of items.

    Attributes:
        suite: the benchmark they belong to.
        items: how many there are.
        version: that of the suite; empty if the items carry none, or several.
        digest: of what they ask.
        distinct: how many different prompts there are.
        levels: items and words of a prompt for each level.
        tags: items for each set of tags; None if no item has any.
        contents: what the items ask for, in the terms of the suite.
        notes: further facts, one sentence each.
    """

    suite: Suite
    items: int
    version: str
    digest: str
    distinct: int
    levels: MarkdownTable
    tags: MarkdownTable | None
    contents: MarkdownTable
    notes: tuple[str, ...]


def count_items(name: str, items: Sequence[Item[Any]]) -> ItemStatistics:
    """Count levels, tags and contents of the items of a suite."""
    about = suite(name)
    versions = {item.version for item in items}
    contents, notes = _COUNTED[about.kind](items)
    return ItemStatistics(
        about,
        len(items),
        versions.pop() if len(versions) == 1 else "",
        instruction_digest(items),
        len({item.prompt for item in items}),
        _levels(about, items),
        _tags(items),
        contents,
        tuple(notes),
    )


def _levels(about: Suite, items: Sequence[Item[Any]]) -> MarkdownTable:
    words: dict[int, list[int]] = {}
    for item in items:
        words.setdefault(item.level, []).append(len(item.prompt.split()))
    rows = (
        (about.format_level(level), f"{len(found):,}", str(min(found)), f"{median(found):g}", str(max(found)))
        for level, found in sorted(words.items())
    )
    return MarkdownTable(("level", "items", "fewest words", "median", "most words"), tuple(rows))


def _tags(items: Sequence[Item[Any]]) -> MarkdownTable | None:
    counts = Counter(", ".join(item.tags) for item in items)
    if set(counts) == {""}:
        return None
    return MarkdownTable(("tags", "items"), _rows((tags or "none", counts[tags]) for tags in sorted(counts)))


def _formulas(items: Sequence[Item[Any]]) -> tuple[MarkdownTable, list[str]]:
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
    return MarkdownTable(("predicate", "atoms"), _rows(sorted(predicates.items()))), notes


def _concepts(items: Sequence[Item[Any]]) -> tuple[MarkdownTable, list[str]]:
    counts = Counter(concept.category for item in items for concept in item.spec.concepts)
    bound = sum(item.spec.binding is not None for item in items)
    rows = _rows((category, counts[category]) for category in CATEGORIES)
    notes = [
        f"{counts.total():,} questions, one for each concept.",
        f"{bound:,} items have a binding, which says what belongs to which object.",
    ]
    return MarkdownTable(("category", "questions"), rows), notes


def _counterfactuals(items: Sequence[Item[Any]]) -> tuple[MarkdownTable, list[str]]:
    questions = Counter((question.dimension, question.weight) for item in items for question in item.spec.questions)
    rows = tuple(
        (dimension, f"{weight:g}", f"{count:,}")
        for (dimension, weight), count in sorted(
            questions.items(), key=lambda entry: (DIMENSIONS.index(entry[0][0]), entry[0][1])
        )
    )
    without = [item.id for item in items if not item.spec.questions]
    notes = [
        f"{len({item.spec.group for item in items}):,} groups.",
        f"{questions.total():,} questions.",
        f"{len(without):,} items have no questions and cannot be scored: {', '.join(without)}."
        if without
        else "Every item has questions.",
    ]
    return MarkdownTable(("dimension", "weight", "questions"), rows), notes


def _questions(items: Sequence[Item[Any]]) -> tuple[MarkdownTable, list[str]]:
    counts = Counter(question.category for item in items for question in item.spec.questions)
    formulas = sum(item.spec.formula is not None for item in items)
    dependent = sum(bool(question.parents) for item in items for question in item.spec.questions)
    notes = [
        f"{counts.total():,} questions, {dependent:,} of which depend on others.",
        f"{formulas:,} items have a formula in place of questions.",
    ]
    return MarkdownTable(("category", "questions"), _rows(sorted(counts.items()))), notes


def _objects(items: Sequence[Item[Any]]) -> tuple[MarkdownTable, list[str]]:
    counts = Counter(one.label for item in items for one in item.spec.include)
    colored = sum(bool(one.color) for item in items for one in item.spec.include)
    placed = sum(one.target is not None for item in items for one in item.spec.include)
    notes = [
        f"{counts.total():,} requirements for objects of {len(counts)} classes.",
        f"{colored:,} name a colour, and {placed:,} a place relative to another object.",
    ]
    return MarkdownTable(("class", "requirements"), _rows(sorted(counts.items()))), notes


_COUNTED: Mapping[str, Callable[[Sequence[Item[Any]]], tuple[MarkdownTable, list[str]]]] = {
    "formula": _formulas,
    "concepts": _concepts,
    "counterfactual": _counterfactuals,
    "questions": _questions,
    "objects": _objects,
}
"""What the items of a suite are made of, by its kind."""


def _rows(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, ...], ...]:
    return tuple((name, f"{count:,}") for name, count in counts)
