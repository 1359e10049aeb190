"""The numbers of a run of CF-World in the form that all reports are made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from formalimg.reporting.counterfactual.graded import threshold_of
from formalimg.reporting.reading import GradedImage, HowCounted
from formalimg.stats import (
    Band,
    MeanScore,
    Rate,
    ScoreObservation,
    ScoreRatio,
    ScoreSummary,
    Summary,
    summarize_scores,
)
from formalimg.suites import PASS_MARK, Suite


def score_summary(images: Sequence[GradedImage], suite: Suite, how: HowCounted) -> Summary:
    """Means for rates and, for bands, what the suite makes of two levels: PRR and RRR."""
    numbers = gated_means(images, suite, how)
    overall = means(images, how, of_all_levels=True).levels.get(1, MeanScore(None, None, 0, 0, 0))
    ratios = {"PRR": numbers.prr, "RRR": numbers.rrr}
    return Summary(
        {level: _rate(mean, [one for one in images if one.level == level]) for level, mean in numbers.levels.items()},
        _rate(overall, images),
        {name: _band(levels, ratios[name], numbers) for name, levels in suite.bands.items()},
        None,
        how.missing,
        how.confidence,
    )


def gated_means(images: Iterable[GradedImage], suite: Suite, how: HowCounted) -> ScoreSummary:
    """The numbers of whole groups. The gate is applied to them here, so that intervals know of it too."""
    return summarize_scores(
        (ScoreObservation(one.group, one.level, one.sample, one.score) for one in images),
        threshold=threshold_of(suite, how),
        missing=how.missing,
        confidence=how.confidence,
        profile=how.profile,
    )


def means(images: Iterable[GradedImage], how: HowCounted, *, of_all_levels: bool = False) -> ScoreSummary:
    """The means of what counts of some images; the gate was applied before."""
    return summarize_scores(
        (ScoreObservation(one.group, 1 if of_all_levels else one.level, one.sample, one.counting) for one in images),
        threshold=None,
        missing=how.missing,
        confidence=how.confidence,
        profile=how.profile,
    )


def _rate(mean: MeanScore, images: Sequence[GradedImage]) -> Rate:
    passed = sum(one.counting is not None and round(one.counting, 9) >= PASS_MARK for one in images)
    return Rate(passed, mean.scored, mean.expected, mean.value, mean.interval)


def _band(levels: tuple[int, ...], ratio: ScoreRatio, numbers: ScoreSummary) -> Band:
    there = [numbers.levels[level] for level in levels if level in numbers.levels]
    expected = sum(mean.expected for mean in there)
    coverage = sum(mean.scored for mean in there) / expected if expected else 0.0
    return Band(levels, ratio.value, ratio.interval, coverage)
