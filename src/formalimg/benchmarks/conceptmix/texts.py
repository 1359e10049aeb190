"""Text output for ConceptMix: item details, item statistics, concept lists, and rating steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.sampling import count_bindings, count_combinations
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Concept, ConceptSpec
from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, count_rows, read_sheet
from formalimg.human_eval.protocol import RatingProtocol, RatingRules, RatingStep, example_texts, whole_image_step
from formalimg.types import Item


def item_lines(item: Item[ConceptSpec]) -> Iterator[str]:
    """Yield the statements, questions and binding of an item."""
    yield f"{item.suite}/{item.id}, k = {item.level}\n\n{item.prompt}\n"
    for title in ("statements", "questions"):
        yield title
        for concept in item.spec.concepts:
            text = concept.statement if title == "statements" else concept.question
            yield f"  {concept.category:<8}  {concept.value:<14}  {text}"
        yield ""
    if item.spec.unasked:
        yield "concepts without a question"
        for category, value in item.spec.unasked:
            yield f"  {category:<8}  {value}"
        yield ""
    if item.spec.binding is not None:
        yield f"binding\n  {json.dumps(item.spec.binding.to_json())}"


@dataclass
class ConceptCensus:
    """Counts of concepts, objects and words over a set of items."""

    items: int = 0  # number of items
    levels: Counter[int] = field(default_factory=Counter)  # number of items per level
    objects: Counter[int] = field(default_factory=Counter)  # number of items per number of objects among their concepts
    concepts: Counter[Concept] = field(default_factory=Counter)  # number of items per concept
    words: Counter[int] = field(default_factory=Counter)  # total number of words of the prompts of each level
    references: int = 0  # number of added reference objects


def concept_census(items: Iterable[Item[ConceptSpec]]) -> ConceptCensus:
    """Count the concepts, objects and words in a set of items."""
    census = ConceptCensus()
    for item in items:
        objects = len(item.spec.values("object"))
        census.items += 1
        census.levels[item.level] += 1
        census.objects[objects] += 1
        census.concepts.update(item.spec.drawn)
        census.words[item.level] += len(item.prompt.split())
        if item.spec.binding is not None:
            census.references += len(item.spec.binding.objects) - objects
    return census


def census_lines(items: Sequence[Item[Any]]) -> Iterator[str]:
    """Yield lines reporting how often objects, categories and concepts occur in items."""
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
        counts = {concept.value: count for concept, count in census.concepts.items() if concept.category == category}
        yield f"  {category:<8} {sum(counts.values()) / total:6.1%}  {counts_text(counts)}"


def word_lines() -> Iterator[str]:
    """Yield all concepts by category, and the number of their combinations."""
    pools = load_pools()
    for category, pool in pools.items():
        yield f"{category} ({len(pool.values)}): {', '.join(pool.values)}"
        yield f"    {pool.statement}\n"
    yield "k   different sets of concepts   and bindings to objects"
    for k in range(1, 8):
        yield f"{k}   {count_combinations(k, pools):>26,}   {count_bindings(k, pools):>31,}"


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return the datasheet for an export of items, with question counts by category."""
    counts = Counter(concept.category for item in items for concept in item.spec.concepts)
    bound = sum(item.spec.binding is not None for item in items)
    rows = count_rows((category, counts[category]) for category in CATEGORIES)
    notes = [
        f"{counts.total():,} questions, one for each concept.",
        f"{bound:,} items have a binding, which says what belongs to which object.",
    ]
    contents = MarkdownTable(("category", "questions"), rows)
    return read_sheet(__package__, "concepts", suite, contents, notes)


def _rating_steps(item: Item[Any], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
    if protocol != "questions" or not isinstance(item.spec, ConceptSpec):
        return ()
    questions = (
        RatingStep(f"question {number}", "yes or no", concept.question, "", number, concept.category, cannot_tell=True)
        for number, concept in enumerate(item.spec.concepts, 1)
    )
    return (whole_image_step("questions", "alignment", once=True), *questions)


def _is_unrelated(rated: Item[Any], requested: Item[Any], protocol: RatingProtocol) -> bool:
    """Return whether two items share no objects, although the requested one has some."""
    specs = rated.spec, requested.spec
    if not all(isinstance(spec, ConceptSpec) for spec in specs):
        return False
    first, second = ({concept.value for concept in spec.concepts if concept.category == "object"} for spec in specs)
    return bool(second) and not first & second


RATING = RatingRules(
    partial(example_texts, "concepts"),
    label="questions",
    offers={"questions": "conceptmix"},
    steps=_rating_steps,
    is_unrelated=_is_unrelated,
)
"""How people rate images: as a whole, then by the question of each concept."""
