"""What people are asked about the images of an item, by protocol."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.human_eval.steps import Protocol, Step
from formalimg.suites import ConceptSpec, CounterfactualSpec, FormulaSpec, Item


def steps_for(item: Item[object], protocol: Protocol) -> tuple[Step, ...]:
    """What people are asked about an image of an item.

    - `likert`: one answer from 1 to 5, for items of any suite.
    - `questions`: for ConceptMix, first whether the image as a whole matches, which is answered once, then each
      question of the item. For the factual images of CF-World, whether the main objects can be recognised.
    - `scores`: for CF-World, a score from 0 to 1 for each question of the item.
    - `boxes`: for FormalImg, the corrected boxes, classes and colours.

    Raises:
        FormalimgError: if the protocol is not for this item.
    """
    spec = item.spec
    if protocol == "likert":
        return (_written("likert", "compliance"),)
    if protocol == "questions" and isinstance(spec, ConceptSpec):
        questions = (
            Step(f"question {number}", "yes or no", concept.question, question=number, about=concept.category)
            for number, concept in enumerate(spec.concepts, 1)
        )
        return (_written("questions", "alignment", once=True), *questions)
    if protocol == "questions" and isinstance(spec, CounterfactualSpec) and item.level == 1:
        return (_written("questions", "recognisable"),)
    if protocol == "scores" and isinstance(spec, CounterfactualSpec) and spec.questions:
        return tuple(
            Step(f"question {number}", "score", it.question, it.criteria, question=number, about=it.dimension)
            for number, it in enumerate(spec.questions, 1)
        )
    if protocol == "boxes" and isinstance(spec, FormulaSpec):
        return (_written("boxes", "boxes"),)
    raise FormalimgError(
        f"item {item.id} of {item.suite} (level {item.level}) cannot be rated by {protocol}: {_NEEDS[protocol]}"
    )


_NEEDS: Mapping[Protocol, str] = {
    "likert": "",
    "questions": "take runs of conceptmix, or level 1 of cf-world",
    "scores": "take runs of cf-world whose items have questions",
    "boxes": "take runs of knolling or natural",
}


def _written(protocol: str, name: str, *, once: bool = False) -> Step:
    return Step(name, **_texts()[protocol][name], once=once)


@cache
def _texts() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads((files("formalimg.human_eval") / "protocols.toml").read_text(encoding="utf-8"))
