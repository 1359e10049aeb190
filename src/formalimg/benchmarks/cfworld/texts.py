"""CF-World as lines of text: single items with their questions, and the census of many items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from formalimg._util.text import counts_text
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, CounterfactualSpec
from formalimg.benchmarks.export.sheets import Datasheet, MarkdownTable, read_sheet
from formalimg.benchmarks.odd_records import odd_tags, plain_tags
from formalimg.human_eval.protocol import RatingProtocol, RatingRules, RatingStep, example_texts, whole_image_step
from formalimg.types import Item


def item_lines(item: Item[CounterfactualSpec]) -> Iterator[str]:
    """Yield the assessment point of an item, and its weighted questions."""
    yield f"{item.suite}/{item.id}, L{item.level} of {item.spec.group} ({', '.join(item.tags)})\n\n{item.prompt}\n"
    yield f"what decides: {item.spec.assessment or 'nothing is given'}\n\nquestions"
    if not item.spec.questions:
        yield "  none, so it cannot be scored"
    for question in item.spec.questions:
        yield f"  {question.dimension:<11} weight {question.weight:g}: {question.question}"
        yield f"              {question.criteria}"


def census_lines(suite: str, items: Sequence[Item[Any]], *, by_field: bool) -> Iterator[str]:
    """Yield the numbers of groups, of fields or kinds of rule change, and of questions."""
    levels = Counter(item.level for item in items)
    groups = len({item.spec.group for item in items})
    counts = ", ".join(f"L{level}: {count}" for level, count in sorted(levels.items()))
    yield f"{len(items)} items of {suite} in {groups} groups ({counts})"
    if by_field:
        tagged = Counter(", ".join(plain_tags(item.tags)) or "without a field" for item in items)
        for field, count in sorted(tagged.items()):
            yield f"  {field:<28} {count:>6,}"
    elif directions := Counter(tag for item in items for tag in plain_tags(item.tags)):
        yield f"rules are changed in {len(directions)} ways: {counts_text(directions, shown=5)}"
    questions = Counter(question.dimension for item in items for question in item.spec.questions)
    yield f"{questions.total():,} questions: {', '.join(f'{count:,} {name}' for name, count in questions.items())}"
    without = [item.id for item in items if not item.spec.questions and not odd_tags(item.tags)]
    if without:
        yield f"{len(without):,} cannot be scored, for lack of questions: {', '.join(without)}"


def datasheet(suite: str, items: Sequence[Item[Any]]) -> Datasheet:
    """Return the data sheet of items, with counts of their contents."""
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
    contents = MarkdownTable(("dimension", "weight", "questions"), rows)
    return read_sheet(__package__, "counterfactual", suite, contents, notes)


def _rating_steps(item: Item[Any], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
    if not isinstance(item.spec, CounterfactualSpec):
        return ()
    if protocol == "questions" and item.level == 1:
        return (whole_image_step("questions", "recognisable"),)
    if protocol == "scores":
        return tuple(
            RatingStep(
                f"question {number}",
                "score",
                question.question,
                question.criteria,
                number,
                question.dimension,
                cannot_tell=True,
            )
            for number, question in enumerate(item.spec.questions, 1)
        )
    return ()


def _is_unrelated(rated_item: Item[Any], check_item: Item[Any], protocol: RatingProtocol) -> bool:
    match rated_item.spec, check_item.spec:
        case CounterfactualSpec() as one, CounterfactualSpec() as other:
            decides = protocol != "scores" or any(question.dimension == "assessment" for question in other.questions)
            return decides and one.group != other.group and plain_tags(rated_item.tags) != plain_tags(check_item.tags)
    return False


RULES = RatingRules(
    partial(example_texts, "counterfactual"),
    label="scores",
    offers={"questions": "level 1 of cf-world", "scores": "cf-world whose items have questions"},
    steps=_rating_steps,
    is_unrelated=_is_unrelated,
)
