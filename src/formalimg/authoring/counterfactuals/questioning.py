"""Whether questions that a model wrote can score an image."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from formalimg._util.text import truncate
from formalimg.authoring.counterfactuals.answers import QuestionAnswer
from formalimg.authoring.counterfactuals.fielding import fit_fields
from formalimg.authoring.counterfactuals.roots import shared
from formalimg.authoring.rejection import Rejection
from formalimg.suites import Dimension, WeightedQuestion, template_scores

ORDER: tuple[Dimension, ...] = ("integrity", "logic", "assessment")
"""The order of questions, as in the published data."""

_MOST: dict[Literal["integrity", "logic", "assessment"], int] = {"integrity": 1, "logic": 3, "assessment": 1}
_LONGEST = 600
_ON_THE_POINT = 0.5
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def questions_of(given: Sequence[QuestionAnswer], shows: str) -> tuple[WeightedQuestion, ...] | Rejection:
    """The questions in their order and with our weights, if there are as many as there should be and each makes sense.

    Args:
        given: the questions as the model wrote them.
        shows: what decides.
    """
    counts = Counter(question.dimension for question in given)
    for dimension, most in _MOST.items():
        if not 1 <= counts[dimension] <= most:
            wanted = "1" if most == 1 else f"1 to {most}"
            return Rejection("wrong number of questions", f"{counts[dimension]} of {dimension} instead of {wanted}")
    weights = {question.dimension: question.weight for question in template_scores(shows, law=shows)}
    found: list[WeightedQuestion] = []
    for entry in sorted(given, key=lambda entry: ORDER.index(entry.dimension)):
        texts = fit_fields({"question": entry.question, "criteria": entry.criteria})
        if isinstance(texts, Rejection):
            return texts
        found.append(WeightedQuestion(entry.dimension, **texts, weight=weights[entry.dimension]))
    return next(filter(None, (_objection(question, shows) for question in found)), None) or _all_different(found)


def _objection(question: WeightedQuestion, shows: str) -> Rejection | None:
    shown = truncate(question.question, 200, 50)
    if not question.question.endswith("?") or len(question.question) > _LONGEST:
        return Rejection("no question", shown)
    numbers = {float(number) for number in _NUMBER.findall(question.criteria)}
    if not {0.0, 1.0} <= numbers or max(numbers) > 1:
        return Rejection("no criteria", truncate(question.criteria, 200, 50))
    if question.dimension == "assessment" and shared(shows, question.question) < _ON_THE_POINT:
        return Rejection("question beside the point", shown)
    return None


def _all_different(questions: Sequence[WeightedQuestion]) -> tuple[WeightedQuestion, ...] | Rejection:
    texts = [question.question.lower() for question in questions]
    repeated = next((text for text in texts if texts.count(text) > 1), None)
    return tuple(questions) if repeated is None else Rejection("no question", f"asked twice: {repeated[:200]}")
