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
    ScoreSummary,
    apply_gate,
    gate_states,
    prior_resistance,
    rescore,
    summarize_scores,
)
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.odd_records import plain_tags
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import question_keys
from formalimg.reports.comparison_model import Detail, GradedImage, HowCounted, SeenImage
from formalimg.reports.run_numbers import RunImages, RunNumbers, largest_first
from formalimg.reports.tables.format import rule_text
from formalimg.runs.reader import Judged
from formalimg.stats.observations import PASS_THRESHOLD, Band, Interval, Profile, Rate, ScoreObservation, Summary
from formalimg.stats.summary import MissingBounds, PointEstimates
from formalimg.types import Benchmark, Part, RunRecord, Unscored, Verdict

GATE_UNKNOWN = "gate unknown"
NO_FACTUAL = "level 1 is not part of the run"
WHY_NOT_COUNTED = {
    GATE_UNKNOWN: "the factual image of the group has no score",
    NO_FACTUAL: "so it is unknown whether the gate is open; run all levels",
}
"""Reasons why an image does not count although it has a score, explained."""


# --- images


class GroupScore(NamedTuple):
    """The score of an image and its group; without a score, the reason."""

    item: str
    group: str
    level: int
    sample: int
    score: float | None
    reason: str


def group_scores(run: RunRecord, profile: Profile = "paper") -> Iterator[GroupScore]:
    """Yield the scores of all planned images of a run, before any gate."""
    specs = counterfactual_specs(run)
    if profile == "paper":
        for item, level, sample, _, stored, reason, _ in run.outcomes():
            score = None if stored is None else _image_score(run, item, stored, (), profile)
            yield GroupScore(item, specs[item].group, level, sample, score, reason)
        return
    for judged in run.judged():
        item, level, sample, _, _, reason, _ = judged.outcome
        yield GroupScore(item, specs[item].group, level, sample, score_of_verdict(run, judged, profile), reason)


def counterfactual_specs(run: RunRecord) -> dict[str, CounterfactualSpec]:
    """Return the specs of the items of a run, by id."""
    specs = {item.id: item.spec for item in run.suite_items() if isinstance(item.spec, CounterfactualSpec)}
    if len(specs) < len(run.items):
        raise FormalimgError(f"{run.folder} is a run of {run.manifest.suite}: name runs of cf-world or of its probes")
    return specs


def score_of_verdict(run: RunRecord, judged: Judged, profile: Profile) -> float | None:
    """Return the score of an image of a run; None if unscored."""
    verdict = judged.verdict
    if isinstance(verdict, Unscored):
        return None
    return _image_score(run, judged.outcome.item, verdict.score, verdict.parts, profile)


def _image_score(run: RunRecord, item: str, score: float, parts: Sequence[Part], profile: Profile) -> float:
    """Return the score of an image under a profile, from its stored score and the parts of its verdict."""
    for value in (*(part.score for part in parts), score):
        if not 0 <= value <= 1:
            judge = run.manifest.judge.name if run.manifest.judge else "the judge"
            raise FormalimgError(
                f"{judge} gave item {item} of {run.folder} the score {value:g}: scores are from 0 to 1; fix the judge, "
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


# --- runs


def scoring_rules(suite: Benchmark, counting: HowCounted, *, with_ratios: bool = True) -> Iterator[str]:
    """Yield the scoring rules, one sentence at a time."""
    as_code = counting.profile == "official-code"
    yield rule_text(counting.missing, of_scores=True)
    if suite.gate is None:
        yield "There is no gate, so that gated scores do not compare with these"
    else:
        unknown = ", or has no score" if as_code else "; where L1 has no score, they have none either"
        yield f"L2 and L3 count as 0 where L1 of their group is below the threshold of {counting.threshold:g}{unknown}"
        if with_ratios:
            yield "PRR = L2/√L1, RRR = L3/√L2"
    if as_code:
        rounded = "; PRR and RRR are of means rounded to two decimals" if suite.bands and with_ratios else ""
        yield f"As in the published code, each question has its full weight{rounded} (profile: official-code)"


def score_numbers(run: RunRecord, run_images: RunImages, suite: Benchmark, counting: HowCounted) -> RunNumbers:
    """Return the numbers of a run: mean scores, and the reasons why images do not count."""
    graded = _build_graded(run, run_images.images, suite, counting)
    unscored = Counter(image.reason for image in graded if image.counting is None)
    details = {
        **run_images.details,
        **{reason: Detail(explanation, unscored[reason]) for reason, explanation in WHY_NOT_COUNTED.items()},
    }
    return RunNumbers(
        partial(_build_summary, graded, suite, counting),
        largest_first(unscored),
        {reason: detail for reason, detail in details.items() if reason in unscored},
        partial(_missing_bounds, graded, suite),
        graded,
    )


def _build_graded(
    run: RunRecord, images: Sequence[SeenImage], suite: Benchmark, counting: HowCounted
) -> tuple[GradedImage, ...]:
    """Return the images of a run with their groups and scores, in run order."""
    specs = counterfactual_specs(run)
    observations = [
        ScoreObservation(
            specs[image.item].group,
            image.level,
            image.sample,
            None if image.score is None else _image_score(run, image.item, image.score, image.parts, counting.profile),
        )
        for image in images
    ]
    gates: Sequence[GateState] = ["open"] * len(observations)
    gated = observations
    if suite.gate is not None:
        gates = gate_states(observations, counting.threshold, profile=counting.profile)
        gated = apply_gate(observations, counting.threshold, profile=counting.profile)

    def reason(image: SeenImage, raw: float | None, score: float | None, gate: GateState) -> str:
        if score is not None:
            return ""
        if raw is not None:
            return NO_FACTUAL if gate == "not in the run" else GATE_UNKNOWN
        return image.reason if specs[image.item].questions else "no questions"

    return tuple(
        GradedImage(
            image.item,
            raw.group,
            image.level,
            image.sample,
            raw.score,
            score,
            gate == "closed" and raw.score is not None,
            image.parts,
            frozenset(question.dimension for question in specs[image.item].questions),
            plain_tags(run.items[image.item].tags),
            reason(image, raw.score, score, gate),
        )
        for image, raw, (*_, score), gate in zip(images, observations, gated, gates, strict=True)
    )


def _build_summary(images: Sequence[GradedImage], suite: Benchmark, counting: HowCounted) -> Summary:
    """Return the summary of a run: mean scores by level as rates, and PRR and RRR as bands."""
    numbers = means_after_gate(images, suite, counting)
    overall = means_as_counted(images, counting, of_all_levels=True).levels.get(1, MeanScore(None, None, 0, 0, 0))
    bands = {}
    for name, levels in suite.bands.items():
        means = [numbers.levels[level] for level in levels if level in numbers.levels]
        expected = sum(mean.expected for mean in means)
        coverage = sum(mean.scored for mean in means) / expected if expected else 0.0
        bands[name] = Band(levels, *(numbers.prr if name == "PRR" else numbers.rrr), coverage)
    return Summary(
        {
            level: _build_rate(mean, [image for image in images if image.level == level])
            for level, mean in numbers.levels.items()
        },
        _build_rate(overall, images),
        bands,
        None,
        counting.missing,
        counting.confidence,
    )


def _build_rate(mean: MeanScore, images: Sequence[GradedImage]) -> Rate:
    passed = sum(image.counting is not None and round(image.counting, 9) >= PASS_THRESHOLD for image in images)
    return Rate(passed, mean.scored, mean.expected, mean.value, mean.interval)


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


def means_after_gate(images: Iterable[GradedImage], suite: Benchmark, counting: HowCounted) -> ScoreSummary:
    """Return the means over groups, with the gate applied in each resample so that intervals account for it."""
    return summarize_scores(
        (ScoreObservation(image.group, image.level, image.sample, image.score) for image in images),
        threshold=None if suite.gate is None else counting.threshold,
        missing=counting.missing,
        confidence=counting.confidence,
        profile=counting.profile,
    )


def means_as_counted(
    images: Iterable[GradedImage], counting: HowCounted, *, of_all_levels: bool = False
) -> ScoreSummary:
    """Return the means of the scores that count, after the gate has been applied."""
    return summarize_scores(
        (
            ScoreObservation(image.group, 1 if of_all_levels else image.level, image.sample, image.counting)
            for image in images
        ),
        threshold=None,
        missing=counting.missing,
        confidence=counting.confidence,
        profile=counting.profile,
    )
