"""CF-World scores: weighted score of an image, L1 gate, and the rates PRR and RRR between levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.stats.intervals import TOLERANCE
from formalimg.stats.observations import Interval, MissingPolicy, Profile, ScoreObservation, validate_score

ScoreProfile: TypeAlias = Profile  # Which rules apply where the paper differs from its published code or tables


class MeanScore(NamedTuple):
    """The mean score of the images of a level."""

    # the mean, 0 to 1, after the gate and the rule for what is missing; None if nothing was counted
    value: float | None
    interval: Interval | None  # its interval, by resampling groups; None where there is no value
    scored: int  # how many images have a score that counts
    expected: int  # how many were to be scored
    gated: int  # how many images count as 0 because the gate of their group is closed
    # the mean if all images without a score had 0, and if all had 1; None where there is no value
    bounds: Interval | None = None

    @property
    def coverage(self) -> float:
        """The share of images that have a score."""
        return self.scored / self.expected if self.expected else 0.0


class ScoreRatio(NamedTuple):
    """PRR or RRR with its confidence interval."""

    value: float | None  # the figure; None where a mean is missing, or the one to be divided by is 0
    # its interval, by resampling groups; None where there is no value, where a level has fewer than five groups, or
    # where it is unbounded
    interval: Interval | None


class ScoreSummary(NamedTuple):
    """All results of a CF-World run, with the rules used to compute them."""

    levels: Mapping[int, MeanScore]  # the mean score of each level
    prr: ScoreRatio  # the Prior Resistance Rate, from levels 1 and 2
    rrr: ScoreRatio  # the Reasoning Retention Rate, from levels 2 and 3
    threshold: float | None  # the score of level 1 below which a group's gate is closed; None for no gate
    missing: MissingPolicy  # what was done with images that have no score
    confidence: float  # how sure the intervals are
    profile: ScoreProfile  # whose rules were followed


def prior_resistance(l1: float | None, l2: float | None) -> float | None:
    """Return the Prior Resistance Rate for two mean scores: L2 / √L1.

    None where a mean is missing, or L1 is 0 and there was nothing to resist.
    """
    if l1 is None or l2 is None:
        return None
    for mean in (l1, l2):
        validate_score(mean)
    return l2 / sqrt(l1) if l1 > 0 else None


def reasoning_retention(l2: float | None, l3: float | None) -> float | None:
    """Return the Reasoning Retention Rate for two mean scores: L3 / √L2; None if a mean is missing or L2 is 0."""
    return prior_resistance(l2, l3)


def weighted_score(answers: Iterable[tuple[str, float, float]], profile: ScoreProfile = "paper") -> float | None:
    """Return the weighted score of an image, from 0 to 1.

    The paper has one score for each dimension, so several questions of one dimension share its weight. The published
    code gives each question the full weight: with three questions about logic, the assessment point counts for 36 %
    instead of 58 %.

    Args:
        answers: dimension, weight and score, from 0 to 1, of each question.
        profile: `paper`, or `official-code`.

    Returns:
        The score; None if nothing was asked.

    Raises:
        FormalimgError: if a score or a weight is invalid.
    """
    validate_profile(profile)
    answers = list(answers)
    times = Counter(dimension for dimension, *_ in answers)
    weights = []
    for dimension, weight, score in answers:
        validate_score(score)
        if not weight > 0:
            raise FormalimgError(f"a question has the weight {weight}: weights are above 0")
        weights.append(weight / times[dimension] if profile == "paper" else weight)
    if not answers:
        return None
    scores = (score for _, _, score in answers)
    return fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / fsum(weights)


def rescore(score: float, parts: Sequence[tuple[str, float, float]], profile: ScoreProfile) -> float:
    """Return the score of an image under a profile, given its score under `paper`."""
    validate_profile(profile)
    for part_score in (*(part[2] for part in parts), score):
        validate_score(part_score)
    if profile == "paper":
        return score
    times = Counter(dimension for dimension, *_ in parts)
    answers = [(dimension, weight * times[dimension], part_score) for dimension, weight, part_score in parts]
    rescored = weighted_score(answers, profile)
    return score if rescored is None else rescored


def validate_profile(profile: str) -> None:
    """Raise an error if the profile is unknown."""
    if profile not in get_args(ScoreProfile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(ScoreProfile))}")


GateState: TypeAlias = Literal["open", "closed", "unknown", "not in the run"]
"""State of the gate of an image: whether level 1 of its group lets it count, or why that is not known."""


def apply_gate(
    observations: Iterable[ScoreObservation], threshold: float, *, profile: ScoreProfile = "paper"
) -> list[ScoreObservation]:
    """Set scores above level 1 to 0 if the group's level-1 image scores below the threshold.

    An image without a score stays without one, whatever its gate; so does one whose gate is unknown.
    """
    images = list(observations)
    gated: dict[GateState, float | None] = {"closed": 0.0, "unknown": None, "not in the run": None}
    return [
        image if image.score is None else image._replace(score=gated.get(gate, image.score))
        for image, gate in zip(images, gate_states(images, threshold, profile=profile), strict=True)
    ]


def gate_states(
    observations: Iterable[ScoreObservation], threshold: float, *, profile: ScoreProfile = "paper"
) -> list[GateState]:
    """Return the gate of each image; `open` for images of level 1.

    Sample n of level 1 is the gate of sample n above it; where level 1 has fewer samples, its sample 0 is. A score
    equal to the threshold opens the gate.
    """
    if not 0 <= threshold <= 1:
        raise FormalimgError(f"the threshold {threshold!r} does not lie between 0 and 1: use 0.5, as the paper does")
    validate_profile(profile)
    images = list(observations)
    factual: dict[tuple[str, int], float | None] = {}
    for group, level, sample, score in images:
        if score is not None:
            validate_score(score)
        if level != 1:
            continue
        if (group, sample) in factual:
            raise FormalimgError(
                f"group {group!r} has two images of level 1 with the number {sample}: "
                "give each its own sample, or use no gate"
            )
        factual[group, sample] = score

    def state(image: ScoreObservation) -> GateState:
        if image.level == 1:
            return "open"
        keys = ((image.group, image.sample), (image.group, 0))
        key = next((key for key in keys if key in factual), None)
        if key is None:
            return "not in the run"
        score = factual[key]
        if score is None:
            return "unknown" if profile == "paper" else "closed"
        return "closed" if score < threshold - TOLERANCE else "open"

    return [state(image) for image in images]
