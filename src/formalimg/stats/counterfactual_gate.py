"""The gate of CF-World: who cannot draw the world as it is gets nothing for another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.stats.counterfactual import ScoreObservation, ScoreProfile, checked_score
from formalimg.stats.counterfactual_weights import checked_profile
from formalimg.stats.generalizing import NOISE

Gate: TypeAlias = Literal["open", "closed", "unknown", "not in the run"]
"""What stands before an image: whether level 1 of its group lets it count, or why nobody knows."""


def apply_gate(
    observations: Iterable[ScoreObservation], threshold: float, *, profile: ScoreProfile = "paper"
) -> list[ScoreObservation]:
    """The scores that count: those of levels above 1 are 0 where the group's image of level 1 is below the threshold.

    An image without a score stays without one, whatever its gate; so does one whose gate nobody knows.

    Args:
        observations: the scores as the judge gave them. They are not changed.
        threshold: the score that opens the gate, 0 to 1.
        profile: what a level 1 without a score means; see `gates`.

    Raises:
        FormalimgError: if this is no threshold or no profile, or a group has two images that could be its gate.
    """
    seen = list(observations)
    return [
        one._replace(score=_behind(gate, one.score))
        for one, gate in zip(seen, gates(seen, threshold, profile=profile), strict=True)
    ]


def gates(observations: Iterable[ScoreObservation], threshold: float, *, profile: ScoreProfile = "paper") -> list[Gate]:
    """What stands before each of these images; `open` for those of level 1.

    Sample n of level 1 is the gate of sample n above it; where level 1 has fewer samples, its sample 0 is. A score
    equal to the threshold opens the gate.

    Args:
        observations: the scores as the judge gave them.
        threshold: the score that opens the gate, 0 to 1.
        profile: under `paper`, a level 1 without a score leaves the gate `unknown`; under `official-code`, it closes
            it. A group of which level 1 was never asked for is `not in the run`, under both.

    Raises:
        FormalimgError: if this is no threshold or no profile, or a group has two images that could be its gate.
    """
    checked_threshold(threshold)
    checked_profile(profile)
    seen = list(observations)
    factual = _factual(seen)
    return ["open" if one.level == 1 else _gate(one, factual, threshold, profile) for one in seen]


def checked_threshold(threshold: float) -> float:
    """The threshold, if it is one."""
    if not 0 <= threshold <= 1:
        raise FormalimgError(f"the threshold {threshold!r} does not lie between 0 and 1: use 0.5, as the paper does")
    return threshold


def _factual(observations: Iterable[ScoreObservation]) -> dict[tuple[str, int], float | None]:
    found: dict[tuple[str, int], float | None] = {}
    for group, level, sample, score in observations:
        if score is not None:
            checked_score(score)
        if level != 1:
            continue
        if (group, sample) in found:
            raise FormalimgError(
                f"group {group!r} has two images of level 1 with the number {sample}: "
                "give each its own sample, or use no gate"
            )
        found[group, sample] = score
    return found


def _gate(
    one: ScoreObservation,
    factual: Mapping[tuple[str, int], float | None],
    threshold: float,
    profile: ScoreProfile,
) -> Gate:
    which = next((key for key in ((one.group, one.sample), (one.group, 0)) if key in factual), None)
    if which is None:
        return "not in the run"
    score = factual[which]
    if score is None:
        return "unknown" if profile == "paper" else "closed"
    return "closed" if score < threshold - NOISE else "open"


def _behind(gate: Gate, score: float | None) -> float | None:
    if score is None or gate in ("unknown", "not in the run"):
        return None
    return score if gate == "open" else 0.0
