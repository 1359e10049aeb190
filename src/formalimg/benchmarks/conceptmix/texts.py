"""ConceptMix in lines of text: one item with its concepts, what many items are made of, and all concepts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.conceptmix.generation import concept_census, count_bindings, count_combinations
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, ConceptSpec
from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.types import Item


def item_lines(item: Item[ConceptSpec]) -> Iterator[str]:
    """Yield the statements, questions and the binding of an item."""
    yield f"{item.suite}/{item.id}, k = {item.level}\n\n{item.prompt}\n"
    for title, texts in (
        ("statements", [concept.statement for concept in item.spec.concepts]),
        ("questions", [concept.question for concept in item.spec.concepts]),
    ):
        yield title
        for concept, text in zip(item.spec.concepts, texts, strict=True):
            yield f"  {concept.category:<8}  {concept.value:<14}  {text}"
        yield ""
    if item.spec.unasked:
        yield "concepts without a question"
        for unasked in item.spec.unasked:
            yield f"  {unasked.category:<8}  {unasked.value}"
        yield ""
    if item.spec.binding is not None:
        yield f"binding\n  {json.dumps(item.spec.binding.to_json())}"


def census_lines(items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield how often objects, categories and concepts occur in items."""
    census = concept_census(items)
    levels = ", ".join(f"k={level}: {count}" for level, count in sorted(census.levels.items()))
    yield f"{census.items} items of conceptmix ({levels})"
    objects = ", ".join(f"{count} in {items / census.items:.0%}" for count, items in sorted(census.objects.items()))
    yield f"objects asked for: {objects}; {census.references} more to compare or stand with"
    words = ", ".join(f"k={level}: {count / census.levels[level]:.1f}" for level, count in sorted(census.words.items()))
    yield f"words per prompt: {words}"
    total = max(1, census.concepts.total())  # published records may be without any
    yield "\ncategories, and how often each of their concepts is asked for:"
    for category in CATEGORIES:
        inside = {concept.value: count for concept, count in census.concepts.items() if concept.category == category}
        yield f"  {category:<8} {sum(inside.values()) / total:6.1%}  {counts_text(inside)}"


def word_lines() -> Iterator[str]:
    """Yield all concepts by category, and how many combinations of them there are."""
    pools = load_pools()
    for category, pool in pools.items():
        yield f"{category} ({len(pool.values)}): {', '.join(pool.values)}"
        yield f"    {pool.statement}\n"
    yield "k   different sets of concepts   and bindings to objects"
    for k in range(1, 8):
        yield f"{k}   {count_combinations(k, pools):>26,}   {count_bindings(k, pools):>31,}"


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return what an export says of items, with counts of what they ask for."""
    counts = Counter(concept.category for item in items for concept in item.spec.concepts)
    bound = sum(item.spec.binding is not None for item in items)
    rows = count_rows((category, counts[category]) for category in CATEGORIES)
    notes = [
        f"{counts.total():,} questions, one for each concept.",
        f"{bound:,} items have a binding, which says what belongs to which object.",
    ]
    contents = MarkdownTable(("category", "questions"), rows)
    return read_sheet(__package__, "concepts", suite, contents, notes)
