"""From the answers about an image of CF-World to its score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
    """The score of an image, 0 to 1.

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


def rescored(score: float, parts: Sequence[tuple[str, float, float]], profile: ScoreProfile) -> float:
    """The score that a profile gives to an image which was scored as the paper does.

    Args:
        score: its score, 0 to 1.
        parts: dimension, weight and score of each question; questions of one dimension share its weight. None for a
            image that failed as a whole: its score is the same in any profile.
        profile: `official-code` gives the full weight back to each question.

    Raises:
        FormalimgError: if a score or a weight makes no sense.
    """
    checked_profile(profile)
    for _, _, given in parts:
        checked_score(given)
    checked_score(score)
    if profile == "paper":
        return score
    times = Counter(dimension for dimension, *_ in parts)
    weights = ((dimension, weight * times[dimension], given) for dimension, weight, given in parts)
    found = weighted_score(weights, profile)
    return score if found is None else found


def checked_profile(profile: str) -> None:
    """Refuses what is no profile."""
    if profile not in get_args(ScoreProfile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(ScoreProfile))}")
