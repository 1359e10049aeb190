"""From the scores of images to the numbers of a run of CF-World."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum

from formalimg.errors import FormalimgError
from formalimg.stats.binomial import checked_confidence
from formalimg.stats.counterfactual import (
    MeanScore,
    ScoreObservation,
    ScoreProfile,
    ScoreRatio,
    ScoreSummary,
    checked_score,
    prior_resistance,
    reasoning_retention,
)
from formalimg.stats.counterfactual_gate import apply_gate, gates
from formalimg.stats.counterfactual_resampling import Counted, ResampledMeans
from formalimg.stats.counterfactual_weights import checked_profile
from formalimg.stats.resampling import checked_resampling
from formalimg.stats.summarizing import checked_missing
from formalimg.stats.summary import Missing

_PRINTED = 2
"""So many decimals have the means of the published tables, and PRR and RRR were worked out from these."""


def summarize_scores(
    observations: Iterable[ScoreObservation],
    *,
    threshold: float | None = 0.5,
    missing: Missing = "exclude",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    profile: ScoreProfile = "paper",
) -> ScoreSummary:
    """All numbers of a run of CF-World or of one of its probes.

    Args:
        observations: one for each image that was to be scored, in any order, with the score that the judge gave.
        threshold: the score of level 1 that opens the gate of a group; None for no gate.
        missing: what is done with images that have no score, or whose gate is not known: left out of the means,
            counted as 0 (`fail`), or refused.
        confidence: of all intervals.
        resamples: how often groups are resampled for the intervals.
        seed: of the resampling. The same observations and seed give the same numbers.
        profile: `official-code` closes the gate of groups whose level 1 has no score, though it was asked for, and
            works PRR and RRR out from means that are rounded to two decimals, as the published tables do.

    Raises:
        FormalimgError: if an observation or an argument makes no sense, or if a score is missing and `missing` is
            "error".
    """
    checked_missing(missing)
    checked_profile(profile)
    how = checked_resampling(checked_confidence(confidence), resamples, seed)
    seen = [_checked(one) for one in observations]
    counting = seen if threshold is None else apply_gate(seen, threshold, profile=profile)
    gated = Counter() if threshold is None else _gated(seen, threshold, profile)
    if missing == "error":
        _refuse_missing(counting)
    levels = sorted({one.level for one in counting})
    shown = [one._replace(score=0.0) if one.score is None and missing == "fail" else one for one in counting]
    draws = ResampledMeans(_by_group(shown), levels, how) if shown else None
    means = {level: _mean(level, counting, shown, gated[level], draws) for level in levels}

    def ratio(before: int, after: int, least_before: float) -> ScoreRatio:
        one, other = (means[level].value if level in means else None for level in (before, after))
        if profile == "official-code":
            one, other = _printed(one), _printed(other)
        value = prior_resistance(one, other) if before == 1 else reasoning_retention(one, other)
        if value is None or draws is None:
            return ScoreRatio(None, None)
        return ScoreRatio(value, draws.ratio_interval(before, after, value, least_before))

    return ScoreSummary(
        means,
        ratio(1, 2, threshold or 0.0),
        ratio(2, 3, 0.0),
        threshold,
        missing,
        confidence,
        profile,
    )


def _checked(one: ScoreObservation) -> ScoreObservation:
    if one.level not in (1, 2, 3):
        raise FormalimgError(f"group {one.group!r} has an image of level {one.level}: levels are 1, 2 and 3")
    if one.score is not None:
        checked_score(one.score)
    return one


def _gated(seen: Sequence[ScoreObservation], threshold: float, profile: ScoreProfile) -> Counter[int]:
    """How many scored images of each level are behind a closed gate."""
    before = zip(seen, gates(seen, threshold, profile=profile), strict=True)
    return Counter(one.level for one, gate in before if gate == "closed" and one.score is not None)


def _by_group(observations: Iterable[ScoreObservation]) -> dict[str, dict[int, Counted]]:
    scores: dict[str, dict[int, list[float]]] = {}
    for group, level, _, score in observations:
        if score is not None:
            scores.setdefault(group, {}).setdefault(level, []).append(score)
    return {
        group: {level: Counted(fsum(those), len(those)) for level, those in levels.items()}
        for group, levels in scores.items()
    }


def _mean(
    level: int,
    counting: Sequence[ScoreObservation],
    shown: Sequence[ScoreObservation],
    gated: int,
    draws: ResampledMeans | None,
) -> MeanScore:
    here = [one.score for one in counting if one.level == level]
    scores = [one.score for one in shown if one.level == level and one.score is not None]
    scored = sum(score is not None for score in here)
    if not scores or draws is None:
        return MeanScore(None, None, scored, len(here), gated)
    value = min(fsum(scores) / len(scores), 1.0)
    return MeanScore(value, draws.mean_interval(level, value), scored, len(here), gated)


def _printed(mean: float | None) -> float | None:
    return None if mean is None else round(mean, _PRINTED)


def _refuse_missing(observations: Sequence[ScoreObservation]) -> None:
    without = sum(one.score is None for one in observations)
    if without:
        raise FormalimgError(
            f"{without} of {len(observations)} images have no score: resume the run to get them, or choose to leave "
            "them out (missing: exclude) or to count them as failures (missing: fail)"
        )
