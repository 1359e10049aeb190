"""Scores of CF-World: the gate, means by level, and the rules that captions state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from statistics import fmean

from formalimg.benchmarks.cfworld.image_scores import counterfactual_specs, image_score
from formalimg.benchmarks.cfworld.scores import (
    GateState,
    MeanScore,
    ScoreRatio,
    ScoreSummary,
    apply_gate,
    gate_states,
    prior_resistance,
)
from formalimg.benchmarks.cfworld.summary import summarize_scores
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.reports.comparison_model import Detail, GradedImage, HowCounted, SeenImage
from formalimg.reports.run_numbers import RunImages, RunNumbers, largest_first
from formalimg.reports.tables.format import rule_text
from formalimg.stats.observations import PASS_THRESHOLD, Band, Interval, Rate, ScoreObservation, Summary
from formalimg.stats.summary import MissingBounds, PointEstimates
from formalimg.types import Benchmark, RunRecord


def scoring_rules(suite: Benchmark, how: HowCounted, *, with_ratios: bool = True) -> Iterator[str]:
    """Yield the scoring rules, sentence by sentence."""
    yield rule_text(how.missing, of_scores=True)
    threshold = threshold_of(suite, how)
    if threshold is not None:
        unknown = {
            "paper": "; where L1 has no score, they have none either",
            "official-code": ", or has no score",
        }[how.profile]
        yield f"L2 and L3 count as 0 where L1 of their group is below the threshold of {threshold:g}{unknown}"
        if with_ratios:
            yield "PRR = L2/√L1, RRR = L3/√L2"
    else:
        yield "There is no gate, so that gated scores do not compare with these"
    if how.profile == "official-code":
        rounded = "; PRR and RRR are of means rounded to two decimals" if suite.bands and with_ratios else ""
        yield f"As in the published code, each question has its full weight{rounded} (profile: official-code)"


GATE_UNKNOWN = "gate unknown"
NO_FACTUAL = "level 1 is not part of the run"
"""Reasons why an image does not count although it has a score."""

WHY_NOT_COUNTED = {
    GATE_UNKNOWN: "the factual image of the group has no score",
    NO_FACTUAL: "so it is unknown whether the gate is open; run all levels",
}
"""These reasons explained."""

NO_QUESTIONS = "no questions"
"""The reason for images of items that have no questions."""


def score_numbers(run: RunRecord, found: RunImages, suite: Benchmark, how: HowCounted) -> RunNumbers:
    """Return the numbers of a run: mean scores, and why images do not count."""
    graded = graded_images(run, found.images, suite, how)
    unscored = Counter(image.reason for image in graded if image.counting is None)
    details = {**found.details, **{reason: Detail(why, unscored[reason]) for reason, why in WHY_NOT_COUNTED.items()}}
    known = {reason: details[reason] for reason in details if reason in unscored}
    summary, bounds = partial(score_summary, graded, suite, how), partial(score_bounds, graded, suite)
    return RunNumbers(summary, largest_first(unscored), known, bounds, graded)


def graded_images(
    run: RunRecord, images: Sequence[SeenImage], suite: Benchmark, how: HowCounted
) -> tuple[GradedImage, ...]:
    """Return the images of a run with their groups and scores, in the order of the run."""
    specs = counterfactual_specs(run)
    seen = [
        ScoreObservation(
            specs[one.item].group,
            one.level,
            one.sample,
            None if one.score is None else image_score(run, one.item, one.score, one.parts, how.profile),
        )
        for one in images
    ]
    threshold = threshold_of(suite, how)
    before: Sequence[GateState] = ["open"] * len(seen)
    counting = seen
    if threshold is not None:
        before = gate_states(seen, threshold, profile=how.profile)
        counting = apply_gate(seen, threshold, profile=how.profile)
    return tuple(
        GradedImage(
            one.item,
            raw.group,
            one.level,
            one.sample,
            raw.score,
            counts.score,
            gate == "closed" and raw.score is not None,
            one.parts,
            frozenset(asked.dimension for asked in specs[one.item].questions),
            plain_tags(run.items[one.item].tags),
            "" if counts.score is not None else _why(one, raw.score, gate, bool(specs[one.item].questions)),
        )
        for one, raw, counts, gate in zip(images, seen, counting, before, strict=True)
    )


def threshold_of(suite: Benchmark, how: HowCounted) -> float | None:
    """Return the score that opens the gate of a group; None for suites without a gate."""
    return None if suite.gate is None else how.threshold


def _why(image: SeenImage, score: float | None, gate: GateState, has_questions: bool) -> str:
    if score is not None:
        return NO_FACTUAL if gate == "not in the run" else GATE_UNKNOWN
    return image.reason if has_questions else NO_QUESTIONS


def score_summary(images: Sequence[GradedImage], suite: Benchmark, how: HowCounted) -> Summary:
    """Return the means by level as rates, and PRR and RRR as bands."""
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


def score_bounds(images: Sequence[GradedImage], suite: Benchmark) -> MissingBounds:
    """Return the means if all images without a score that counts had 0, and if all had 1; PRR and RRR in between."""

    def bounds(those: Sequence[GradedImage]) -> Interval:
        worst, best = (fmean(score if one.counting is None else one.counting for one in those) for score in (0.0, 1.0))
        return Interval(worst, best)

    levels = {
        level: bounds([one for one in images if one.level == level]) for level in sorted({one.level for one in images})
    }
    overall = bounds(images) if images else None
    ratios = {name: ratio_bounds(*map(levels.get, of)) for name, of in suite.bands.items()}

    def end(n: int) -> PointEstimates:
        return PointEstimates(
            {level: found[n] for level, found in levels.items()},
            overall[n] if overall else None,
            {name: found[n] if found else None for name, found in ratios.items()},
            None,
        )

    return MissingBounds(end(0), end(1))


def ratio_bounds(before: Interval | None = None, after: Interval | None = None) -> Interval | None:
    """Return the worst and the best PRR or RRR for the bounds of its two means; None if it could be any or none."""
    if before is None or after is None:
        return None
    worst, best = prior_resistance(before.high, after.low), prior_resistance(before.low, after.high)
    return None if worst is None or best is None else Interval(worst, best)


def gated_means(images: Iterable[GradedImage], suite: Benchmark, how: HowCounted) -> ScoreSummary:
    """Return the means of whole groups. The gate is applied here, so that intervals account for it too."""
    return summarize_scores(
        (ScoreObservation(one.group, one.level, one.sample, one.score) for one in images),
        threshold=threshold_of(suite, how),
        missing=how.missing,
        confidence=how.confidence,
        profile=how.profile,
    )


def means(images: Iterable[GradedImage], how: HowCounted, *, of_all_levels: bool = False) -> ScoreSummary:
    """Return the means of the scores that count; the gate was applied before."""
    return summarize_scores(
        (ScoreObservation(one.group, 1 if of_all_levels else one.level, one.sample, one.counting) for one in images),
        threshold=None,
        missing=how.missing,
        confidence=how.confidence,
        profile=how.profile,
    )


def _rate(mean: MeanScore, images: Sequence[GradedImage]) -> Rate:
    passed = sum(one.counting is not None and round(one.counting, 9) >= PASS_THRESHOLD for one in images)
    return Rate(passed, mean.scored, mean.expected, mean.value, mean.interval)


def _band(levels: tuple[int, ...], ratio: ScoreRatio, numbers: ScoreSummary) -> Band:
    there = [numbers.levels[level] for level in levels if level in numbers.levels]
    expected = sum(mean.expected for mean in there)
    coverage = sum(mean.scored for mean in there) / expected if expected else 0.0
    return Band(levels, ratio.value, ratio.interval, coverage)
