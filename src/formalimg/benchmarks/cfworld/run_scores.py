"""Scores of CF-World runs: by image, group and question; the gate, means by level, and scoring rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from formalimg.benchmarks.cfworld.scores import (
    GateState,
    MeanScore,
    ScoreProfile,
    ScoreRatio,
    ScoreSummary,
    apply_gate,
    gate_states,
    prior_resistance,
    rescore,
)
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.cfworld.summary import summarize_scores
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import question_keys
from formalimg.reports.comparison_model import Detail, GradedImage, HowCounted, SeenImage
from formalimg.reports.run_numbers import RunImages, RunNumbers, largest_first
from formalimg.reports.tables.format import rule_text
from formalimg.runs.reader import Judged
from formalimg.stats.observations import PASS_THRESHOLD, Band, Interval, Rate, ScoreObservation, Summary
from formalimg.stats.summary import MissingBounds, PointEstimates
from formalimg.types import Benchmark, Part, RunRecord, Unscored, Verdict

# --- scores of images


class GroupScore(NamedTuple):
    """The score of an image and its group; without a score, the reason."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: ScoreProfile = "paper") -> Iterator[GroupScore]:
    """Yield the scores of all planned images of a run, before any gate."""
    groups = {name: spec.group for name, spec in counterfactual_specs(run).items()}
    if profile == "paper":
        for item, level, sample, _, score, reason, _ in run.outcomes():
            value = None if score is None else image_score(run, item, score, (), profile)
            yield GroupScore(item, groups[item], level, sample, value, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, groups[item], level, sample, score_of_verdict(run, judged, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """Return the specs of the items of a run, by id."""
    specs = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(specs) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name runs of cf-world or of its probes")
    return specs


def score_of_verdict(run: RunRecord, judged: Judged, profile: ScoreProfile) -> float | None:
    """Return the score of an image of a run; None if unscored."""
    verdict = judged.verdict
    if isinstance(verdict, Unscored):
        return None
    return image_score(run, judged.outcome.item, verdict.score, verdict.parts, profile)


def image_score(run: RunRecord, item: str, score: float, parts: Sequence[Part], profile: ScoreProfile) -> float:
    """Return the score of an image under a profile, from its stored score and the parts of its verdict."""
    wrong = next((value for value in (*(part.score for part in parts), score) if not 0 <= value <= 1), None)
    if wrong is not None:
        judge = run.manifest.judge.name if run.manifest.judge else "the judge"
        raise FormalimgError(
            f"{judge} gave item {item} of {run.folder} the score {wrong:g}: scores are from 0 to 1; fix the judge, "
            "give it a new version in its settings, and let it judge again"
        )
    return rescore(score, [(part.kind, part.weight, part.score) for part in parts], profile)


def scores_by_question(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, float]:
    """Return the judge's score of each question by number; an image that fails as a whole fails every question."""
    if not isinstance(verdict, Unscored) and not verdict.parts:
        return dict.fromkeys(range(1, len(spec.questions) + 1), verdict.score)
    return {number: part.score for number, part in parts_by_question(verdict, spec).items()}


def parts_by_question(verdict: Verdict | Unscored, spec: CounterfactualSpec) -> dict[int, Part]:
    """Return the parts of a verdict by question number."""
    if isinstance(verdict, Unscored):
        return {}
    parts = dict(zip(question_keys(part.name for part in verdict.parts), verdict.parts, strict=True))
    keys = enumerate(question_keys(question.question for question in spec.questions), 1)
    return {number: parts[key] for number, key in keys if key in parts}


# --- numbers of a run


def scoring_rules(suite: Benchmark, how: HowCounted, *, with_ratios: bool = True) -> Iterator[str]:
    """Yield the scoring rules, one sentence at a time."""
    yield rule_text(how.missing, of_scores=True)
    threshold = _gate_threshold(suite, how)
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


def _gate_threshold(suite: Benchmark, how: HowCounted) -> float | None:
    """Return the score that opens the gate of a group; None for suites without a gate."""
    return None if suite.gate is None else how.threshold


GATE_UNKNOWN = "gate unknown"
NO_FACTUAL = "level 1 is not part of the run"
"""Reasons why an image does not count although it has a score."""

WHY_NOT_COUNTED = {
    GATE_UNKNOWN: "the factual image of the group has no score",
    NO_FACTUAL: "so it is unknown whether the gate is open; run all levels",
}
"""These reasons explained."""


def score_numbers(run: RunRecord, run_images: RunImages, suite: Benchmark, how: HowCounted) -> RunNumbers:
    """Return the numbers of a run: mean scores, and the reasons why images do not count."""
    graded = _grade_all(run, run_images.images, suite, how)
    unscored = Counter(image.reason for image in graded if image.counting is None)
    details = {
        **run_images.details,
        **{reason: Detail(explanation, unscored[reason]) for reason, explanation in WHY_NOT_COUNTED.items()},
    }
    present = {reason: detail for reason, detail in details.items() if reason in unscored}
    summary, bounds = partial(_build_summary, graded, suite, how), partial(_missing_bounds, graded, suite)
    return RunNumbers(summary, largest_first(unscored), present, bounds, graded)


def _grade_all(
    run: RunRecord, images: Sequence[SeenImage], suite: Benchmark, how: HowCounted
) -> tuple[GradedImage, ...]:
    """Return the images of a run with their groups and scores, in run order."""
    specs = counterfactual_specs(run)
    observations = [
        ScoreObservation(
            specs[image.item].group,
            image.level,
            image.sample,
            None if image.score is None else image_score(run, image.item, image.score, image.parts, how.profile),
        )
        for image in images
    ]
    threshold = _gate_threshold(suite, how)
    gates: Sequence[GateState] = ["open"] * len(observations)
    counting = observations
    if threshold is not None:
        gates = gate_states(observations, threshold, profile=how.profile)
        counting = apply_gate(observations, threshold, profile=how.profile)
    return tuple(
        GradedImage(
            image.item,
            raw.group,
            image.level,
            image.sample,
            raw.score,
            gated.score,
            gate == "closed" and raw.score is not None,
            image.parts,
            frozenset(question.dimension for question in specs[image.item].questions),
            plain_tags(run.items[image.item].tags),
            "" if gated.score is not None else _find_reason(image, raw.score, gate, bool(specs[image.item].questions)),
        )
        for image, raw, gated, gate in zip(images, observations, counting, gates, strict=True)
    )


def _find_reason(image: SeenImage, score: float | None, gate: GateState, has_questions: bool) -> str:
    if score is not None:
        return NO_FACTUAL if gate == "not in the run" else GATE_UNKNOWN
    return image.reason if has_questions else "no questions"


def _build_summary(images: Sequence[GradedImage], suite: Benchmark, how: HowCounted) -> Summary:
    """Return the summary of a run: mean scores by level as rates, and PRR and RRR as bands."""
    numbers = means_after_gate(images, suite, how)
    overall = means_as_counted(images, how, of_all_levels=True).levels.get(1, MeanScore(None, None, 0, 0, 0))
    ratios = {"PRR": numbers.prr, "RRR": numbers.rrr}
    return Summary(
        {
            level: _build_rate(mean, [image for image in images if image.level == level])
            for level, mean in numbers.levels.items()
        },
        _build_rate(overall, images),
        {name: _build_band(levels, ratios[name], numbers) for name, levels in suite.bands.items()},
        None,
        how.missing,
        how.confidence,
    )


def _missing_bounds(images: Sequence[GradedImage], suite: Benchmark) -> MissingBounds:
    """Return the bounds of the means, with every missing score counted as 0 or as 1, and of PRR and RRR."""

    def bounds(scores: Sequence[float | None]) -> Interval:
        return Interval(*(fmean(missing if score is None else score for score in scores) for missing in (0.0, 1.0)))

    levels = {
        level: bounds([image.counting for image in images if image.level == level])
        for level in sorted({image.level for image in images})
    }
    overall = bounds([image.counting for image in images]) if images else None
    ratios = {name: ratio_bounds(*map(levels.get, pair)) for name, pair in suite.bands.items()}

    def limit(end: int) -> PointEstimates:
        return PointEstimates(
            {level: interval[end] for level, interval in levels.items()},
            overall[end] if overall else None,
            {name: interval[end] if interval else None for name, interval in ratios.items()},
            None,
        )

    return MissingBounds(limit(0), limit(1))


def ratio_bounds(before: Interval | None = None, after: Interval | None = None) -> Interval | None:
    """Return the lowest and highest possible PRR or RRR given the bounds of its two means; None if unbounded."""
    if before is None or after is None:
        return None
    worst, best = prior_resistance(before.high, after.low), prior_resistance(before.low, after.high)
    return None if worst is None or best is None else Interval(worst, best)


def means_after_gate(images: Iterable[GradedImage], suite: Benchmark, how: HowCounted) -> ScoreSummary:
    """Return the means over groups, with the gate applied in each resample so that intervals account for it."""
    return summarize_scores(
        (ScoreObservation(image.group, image.level, image.sample, image.score) for image in images),
        threshold=_gate_threshold(suite, how),
        missing=how.missing,
        confidence=how.confidence,
        profile=how.profile,
    )


def means_as_counted(images: Iterable[GradedImage], how: HowCounted, *, of_all_levels: bool = False) -> ScoreSummary:
    """Return the means of the scores that count, after the gate has been applied."""
    return summarize_scores(
        (
            ScoreObservation(image.group, 1 if of_all_levels else image.level, image.sample, image.counting)
            for image in images
        ),
        threshold=None,
        missing=how.missing,
        confidence=how.confidence,
        profile=how.profile,
    )


def _build_rate(mean: MeanScore, images: Sequence[GradedImage]) -> Rate:
    passed = sum(image.counting is not None and round(image.counting, 9) >= PASS_THRESHOLD for image in images)
    return Rate(passed, mean.scored, mean.expected, mean.value, mean.interval)


def _build_band(levels: tuple[int, ...], ratio: ScoreRatio, numbers: ScoreSummary) -> Band:
    means_there = [numbers.levels[level] for level in levels if level in numbers.levels]
    expected = sum(mean.expected for mean in means_there)
    coverage = sum(mean.scored for mean in means_there) / expected if expected else 0.0
    return Band(levels, ratio.value, ratio.interval, coverage)
