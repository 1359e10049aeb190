"""The numbers of one run: its images read in one pass, and what is counted and averaged of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from formalimg.judges import Part, Unscored, UnscoredReason, Verdict
from formalimg.reporting.clauses import claimed_predicates
from formalimg.reporting.judge_quality import JudgeQuality
from formalimg.reporting.model import Detail, GradedImage, HowCounted, SeenImage, Tally
from formalimg.runs import Judged, RunCost, RunRecord
from formalimg.stats import (
    ItemMeans,
    MissingBounds,
    Observation,
    PairedDifference,
    ScoreObservation,
    Summary,
    group_means,
    item_rates,
    missing_bounds,
    pair_items,
    summarize,
)
from formalimg.suites import Suite, suite

if TYPE_CHECKING:
    from formalimg.runs import AdaptiveLooks

CONFIDENCE = 0.95

_JUDGES_REASONS: tuple[UnscoredReason, ...] = ("not understood", "judge failed")
"""Why there is no verdict although a judge looked."""


class RunNumbers(NamedTuple):
    """The numbers of a run; the summary is computed once it is clear that missing verdicts are no error."""

    summary: Callable[[], Summary]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    bounds: Callable[[], MissingBounds]
    graded: tuple[GradedImage, ...] = ()


def read_run_looks(run: RunRecord) -> AdaptiveLooks | None:
    """Return the looks of an adaptive run; None for others."""
    if not run.manifest.adaptive:
        return None
    from formalimg.reporting.adaptive_tables import run_looks  # here: few runs are adaptive

    return run_looks(run)


def run_numbers(
    run: RunRecord,
    found: RunImages,
    about: Suite,
    epsilon: float | None,
    how: HowCounted,
    looks: AdaptiveLooks | None,
) -> RunNumbers:
    """Return the numbers of a run, by the rules of its suite.

    Args:
        run: the run.
        found: its images.
        about: its suite.
        epsilon: the rate to hold for the generalizability; None for none.
        how: the rules by which numbers are made.
        looks: the looks of an adaptive run.
    """
    if not about.traits.has_scores:
        summary = partial(
            summarize,
            found.observations,
            bands=about.bands,
            epsilon=epsilon,
            missing=how.missing,
            confidence=how.confidence,
        )
        bounds = partial(missing_bounds, found.observations, bands=about.bands, epsilon=epsilon)
        if looks is not None:
            from formalimg.reporting.adaptive_tables import adaptive_bounds, adaptive_summary

            return RunNumbers(
                lambda: adaptive_summary(summary(), looks, run),
                largest_first(found.unscored),
                found.details,
                lambda: adaptive_bounds(bounds(), adaptive_summary(summary(), looks, run)),
            )
        return RunNumbers(summary, largest_first(found.unscored), found.details, bounds)
    # here, so that reports of pass rates are made faster
    from formalimg.reporting.counterfactual_scores import WHY_NOT_COUNTED, graded_images, score_bounds, score_summary

    graded = graded_images(run, found.images, about, how)
    unscored = Counter(image.reason for image in graded if image.counting is None)
    details = {**found.details, **{reason: Detail(why, unscored[reason]) for reason, why in WHY_NOT_COUNTED.items()}}
    known = {reason: details[reason] for reason in details if reason in unscored}
    summary, bounds = partial(score_summary, graded, about, how), partial(score_bounds, graded, about)
    return RunNumbers(summary, largest_first(unscored), known, bounds, graded)


class RunImages(NamedTuple):
    """What is read of the images of a run: outcomes, why some have none, and the parts that failed."""

    observations: Sequence[Observation]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    by_rule: Mapping[str, int]
    kinds: Mapping[str, Tally]
    predicates: Mapping[str, Tally]
    images: tuple[SeenImage, ...]
    quality: JudgeQuality


def read_images(run: RunRecord, about: Suite) -> RunImages:
    """Read a run in one pass; it may be going on, and rates, reasons and clauses are of the same moment."""
    observations: list[Observation] = []
    unscored: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    by_rule: Counter[str] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    images: list[SeenImage] = []
    quality = JudgeQuality()
    shared: dict[Part, Part] = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        observations.append(Observation(outcome.item, outcome.level, outcome.passed))
        images.append(_seen(judged, shared))
        quality.add(judged)
        if isinstance(verdict, Unscored):
            unscored[verdict.reason] += 1
            if verdict.detail:
                details.setdefault(verdict.reason, Counter())[verdict.detail] += 1
            continue
        if "rule" in verdict.evidence:
            by_rule[str(verdict.evidence["rule"])] += 1
        for group in _part_results(verdict, about):
            asked[group.key] += 1
            failed[group.key] += group.failed
    return RunImages(
        observations,
        unscored,
        {reason: Detail(*counts.most_common(1)[0]) for reason, counts in details.items()},
        by_rule,
        _tallies("kind", asked, failed),
        _tallies("predicate", asked, failed),
        tuple(images),
        quality,
    )


def _seen(judged: Judged, shared: dict[Part, Part]) -> SeenImage:
    """Return an image without the reasons of its parts, which no table shows; equal parts are one object."""
    outcome, verdict = judged.outcome, judged.verdict
    scored = isinstance(verdict, Verdict)
    by_rule = scored and "rule" in verdict.evidence
    return SeenImage(
        outcome.item,
        outcome.level,
        outcome.passed,
        tuple(_shared(part, shared) for part in verdict.parts) if isinstance(verdict, Verdict) else (),
        (scored and not by_rule) or outcome.reason in _JUDGES_REASONS,
        verdict.cost,
        outcome.sample,
        outcome.score,
        outcome.reason,
        by_rule,
    )


class _PartResult(NamedTuple):
    key: tuple[str, str]
    failed: bool


def _part_results(verdict: Verdict, about: Suite) -> Iterable[_PartResult]:
    for part in verdict.parts:
        failed = part.score < 1
        yield _PartResult(("kind", part.kind), failed)
        for word in dict.fromkeys(claimed_predicates(part)):
            # A value may belong to two categories: orange is a colour and a fruit.
            name = f"{part.kind} {word}" if about.traits.value_has_kind else word
            yield _PartResult(("predicate", name), failed)


def _tallies(sort: str, asked: Counter[tuple[str, str]], failed: Counter[tuple[str, str]]) -> Mapping[str, Tally]:
    return {name: Tally(failed[sort, name], count) for (of, name), count in sorted(asked.items()) if of == sort}


def largest_first(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts, the largest first."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


# --- a run in a list


class RunFigures(NamedTuple):
    """The figures of a run in a list of many: the same numbers as in its report, without tables and parts.

    Attributes:
        suite: its suite.
        levels: the levels that it has, or would have if it were not adaptive, in order.
        summary: rates by level and over all.
        spent: its cost.
        items: number of its items.
        means: what it is compared by: the mean over the images of each item, or of each level of a group.
    """

    suite: Suite
    levels: tuple[int, ...]
    summary: Summary
    spent: RunCost
    items: int
    means: ItemMeans


def run_figures(run: RunRecord) -> RunFigures:
    """Return the figures of a run. Parts of verdicts are read only where the suite counts by them.

    Raises:
        FormalimgError: if the run cannot be read.
    """
    about, looks = suite(run.manifest.suite), read_run_looks(run)
    how = HowCounted("exclude", CONFIDENCE, "paper", False, 0.5)
    found = read_images(run, about) if about.traits.has_scores else _outcomes_only(run)
    numbers = run_numbers(run, found, about, looks.epsilon if looks else None, how, looks)
    if about.traits.has_scores:
        means = group_means(ScoreObservation(it.group, it.level, it.sample, it.counting) for it in numbers.graded)
    else:
        means = item_rates(found.observations)
    summary = numbers.summary()
    levels = tuple(sorted({*summary.levels, *(looks.levels if looks else ())}))
    items = len({seen.item for seen in found.observations})
    return RunFigures(about, levels, summary, run.spent(), items, means)


def _outcomes_only(run: RunRecord) -> RunImages:
    seen = [Observation(outcome.item, outcome.level, outcome.passed) for outcome in run.outcomes()]
    return RunImages(seen, {}, {}, {}, {}, {}, (), JudgeQuality())


def headline_difference(about: Suite, first: ItemMeans, second: ItemMeans) -> PairedDifference:
    """Return how much higher one run is than another over the same items, by the number that runs are ranked by."""
    pairs = pair_items(first, second)
    if about.traits.has_scores:
        return pairs.group_difference(confidence=CONFIDENCE)
    overall = list(about.bands.values())[-1] if about.bands else ()
    known = {level for level, _ in pairs.differences.values()}
    return pairs.difference(overall if overall and known.issuperset(overall) else None, confidence=CONFIDENCE)


def _shared(part: Part, shared: dict[Part, Part]) -> Part:
    bare = Part(part.name, part.kind, part.score, part.weight, part.about, p_yes=part.p_yes)
    return shared.setdefault(bare, bare)
