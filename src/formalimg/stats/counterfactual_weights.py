"""From the answers about a picture of CF-World to its score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import fsum
from typing import NamedTuple, get_args

from formalimg.errors import FormalimgError
from formalimg.stats.counterfactual import ScoreProfile, checked_score


class WeightedAnswer(NamedTuple):
    """The answer to one question: what it is about, what it counts, and its score, 0 to 1."""

    dimension: str
    weight: float
    score: float


def weighted_score(answers: Iterable[tuple[str, float, float]], profile: ScoreProfile = "paper") -> float | None:
    """The score of a picture, 0 to 1.

    The paper has one score for each dimension, so several questions of one dimension share its weight. The published
    code gives each question the full weight: with three questions about logic, the assessment point counts for 36 %
    instead of 58 %.

    Args:
        answers: dimension, weight and score of each question (`WeightedAnswer`).
        profile: `paper`, or `official-code`.

    Returns:
        The score; None if nothing was asked.

    Raises:
        FormalimgError: if a score or a weight makes no sense.
    """
    checked_profile(profile)
    found = [WeightedAnswer(*answer) for answer in answers]
    times = Counter(answer.dimension for answer in found)
    weights = []
    for answer in found:
        checked_score(answer.score)
        if not answer.weight > 0:
            raise FormalimgError(f"a question has the weight {answer.weight}: weights are above 0")
        weights.append(answer.weight / times[answer.dimension] if profile == "paper" else answer.weight)
    if not found:
        return None
    return fsum(weight * answer.score for weight, answer in zip(weights, found, strict=True)) / fsum(weights)


def checked_profile(profile: str) -> None:
    """Refuses what is no profile."""
    if profile not in get_args(ScoreProfile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(ScoreProfile))}")
