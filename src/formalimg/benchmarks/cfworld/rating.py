"""How people rate images of CF-World: a score for each question, and whether factual objects can be recognised."""

from __future__ import annotations

from functools import partial
from typing import Any

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.human_eval.protocol import RatingProtocol, RatingRules, RatingStep, example_texts, whole_image_step
from formalimg.types import Item


def _steps(item: Item[Any], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
    if not isinstance(item.spec, CounterfactualSpec):
        return ()
    if protocol == "questions" and item.level == 1:
        return (whole_image_step("questions", "recognisable"),)
    if protocol == "scores":
        return tuple(
            RatingStep(f"question {number}", "score", it.question, it.criteria, number, it.dimension, cannot_tell=True)
            for number, it in enumerate(item.spec.questions, 1)
        )
    return ()


def _is_unrelated(shown: Item[Any], asked: Item[Any], protocol: RatingProtocol) -> bool:
    """Return whether groups are of different fields; scores need a question about the decisive point."""
    match shown.spec, asked.spec:
        case CounterfactualSpec() as one, CounterfactualSpec() as other:
            decides = protocol != "scores" or any(it.dimension == "assessment" for it in other.questions)
            return decides and one.group != other.group and plain_tags(shown.tags) != plain_tags(asked.tags)
    return False


RULES = RatingRules(
    partial(example_texts, "counterfactual"),
    label="scores",
    offers={"questions": "level 1 of cf-world", "scores": "cf-world whose items have questions"},
    steps=_steps,
    is_unrelated=_is_unrelated,
)
