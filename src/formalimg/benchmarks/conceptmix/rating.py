"""How people rate images of ConceptMix: as a whole, then by the question of each concept."""

from __future__ import annotations

from functools import partial
from typing import Any

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.human_eval.protocol import RatingProtocol, RatingRules, RatingStep, example_texts, whole_image_step
from formalimg.types import Item


def _steps(item: Item[Any], protocol: RatingProtocol) -> tuple[RatingStep, ...]:
    if protocol != "questions" or not isinstance(item.spec, ConceptSpec):
        return ()
    questions = (
        RatingStep(f"question {number}", "yes or no", concept.question, "", number, concept.category, cannot_tell=True)
        for number, concept in enumerate(item.spec.concepts, 1)
    )
    return (whole_image_step("questions", "alignment", once=True), *questions)


def _is_unrelated(shown: Item[Any], asked: Item[Any], protocol: RatingProtocol) -> bool:
    """Return whether they share no object, and the prompt asks for some."""
    match shown.spec, asked.spec:
        case ConceptSpec() as one, ConceptSpec() as other:
            return bool(_objects(other)) and not _objects(one) & _objects(other)
    return False


def _objects(spec: ConceptSpec) -> set[str]:
    return {concept.value for concept in spec.concepts if concept.category == "object"}


RULES = RatingRules(
    partial(example_texts, "concepts"),
    label="questions",
    offers={"questions": "conceptmix"},
    steps=_steps,
    is_unrelated=_is_unrelated,
)
