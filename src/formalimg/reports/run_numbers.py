"""Compute the numbers of a run, reading its images in a single pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.judges.base import UnscoredReason
from formalimg.logic.parser import try_parse
from formalimg.logic.syntax import Not, Or, atoms
from formalimg.reports.comparison_model import Detail, GradedImage, HowCounted, SeenImage, Tally
from formalimg.reports.judge_quality import JudgeQuality
from formalimg.runs.database import PlannedItem, RunCost
from formalimg.runs.manifest import profile_of_judges
from formalimg.runs.reader import Judged, StoredRun
from formalimg.stats.observations import Observation, ScoreObservation, Summary
from formalimg.stats.summary import MissingBounds, missing_bounds, summarize
from formalimg.types import Benchmark, Part, RunRecord, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.runs.looks import AdaptiveLooks
    from formalimg.stats.comparison import ItemMeans, PairedDifference

CONFIDENCE = 0.95

_REASONS_OF_JUDGES: tuple[UnscoredReason, ...] = ("not understood", "judge failed")
"""Why there is no verdict although a judge looked."""


class RunNumbers(NamedTuple):
    """The numbers of a run, with the summary computed lazily because missing verdicts may raise an error."""

    summary: Callable[[], Summary]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    bounds: Callable[[], MissingBounds]
    graded: tuple[GradedImage, ...] = ()


class RunImages(NamedTuple):
    """Data read from the images of a run: outcomes, reasons for unscored images, and failed parts."""

    observations: Sequence[Observation]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    by_rule: Mapping[str, int]
    kinds: Mapping[str, Tally]
    predicates: Mapping[str, Tally]
    images: tuple[SeenImage, ...]
    quality: JudgeQuality


def read_run_looks(run: RunRecord) -> AdaptiveLooks | None:
    """Return the interim looks of an adaptive run, or None for other runs."""
    if not run.manifest.adaptive:
        return None
    from formalimg.reports.adaptive_tables import run_looks  # here: few runs are adaptive

    return run_looks(run)


def run_numbers(
    run: RunRecord,
    images: RunImages,
    suite: Benchmark,
    epsilon: float | None,
    rules: HowCounted,
    looks: AdaptiveLooks | None,
) -> RunNumbers:
    """Return the numbers of a run under the rules of its suite."""
    numbers = suite.score_numbers(run, images, rules)
    if numbers is not None:
        return numbers
    by_level = partial(summarize, images.observations, bands=suite.bands, epsilon=epsilon)
    summary = partial(by_level, missing=rules.missing, confidence=rules.confidence)
    bounds = partial(missing_bounds, images.observations, bands=suite.bands, epsilon=epsilon)
    numbers = RunNumbers(summary, largest_first(images.unscored), images.details, bounds)
    if looks is None:
        return numbers
    from formalimg.reports.adaptive_tables import adaptive_bounds, adaptive_summary

    return numbers._replace(
        summary=lambda: adaptive_summary(summary(), looks, run),
        bounds=lambda: adaptive_bounds(bounds(), adaptive_summary(summary(), looks, run)),
    )


def read_images(run: RunRecord, suite: Benchmark) -> RunImages:
    """Read a run in a single pass, so that its numbers are consistent even while the run is in progress."""
    observations: list[Observation] = []
    unscored: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    by_rule: Counter[str] = Counter()
    checked: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    images: list[SeenImage] = []
    quality = JudgeQuality()
    shared: dict[Part, Part] = {}
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        observations.append(Observation(outcome.item, outcome.level, outcome.passed))
        images.append(_image_result(judged, shared))
        quality.add(judged)
        if isinstance(verdict, Unscored):
            unscored[verdict.reason] += 1
            if verdict.detail:
                details.setdefault(verdict.reason, Counter())[verdict.detail] += 1
            continue
        if "rule" in verdict.evidence:
            by_rule[str(verdict.evidence["rule"])] += 1
        for key, has_failed in _part_results(verdict, suite):
            checked[key] += 1
            failed[key] += has_failed
    kinds, predicates = (
        {name: Tally(failed[sort, name], count) for (kind, name), count in sorted(checked.items()) if kind == sort}
        for sort in ("kind", "predicate")
    )
    most_common = {reason: Detail(*counts.most_common(1)[0]) for reason, counts in details.items()}
    return RunImages(observations, unscored, most_common, by_rule, kinds, predicates, tuple(images), quality)


def _image_result(judged: Judged, shared: dict[Part, Part]) -> SeenImage:
    outcome, verdict = judged.outcome, judged.verdict
    is_scored = isinstance(verdict, Verdict)
    by_rule = is_scored and "rule" in verdict.evidence
    parts = (
        Part(part.name, part.kind, part.score, part.weight, part.about, p_yes=part.p_yes)
        for part in (verdict.parts if isinstance(verdict, Verdict) else ())
    )
    return SeenImage(
        outcome.item,
        outcome.level,
        outcome.passed,
        parts=tuple(shared.setdefault(part, part) for part in parts),
        looked_at=(is_scored and not by_rule) or outcome.reason in _REASONS_OF_JUDGES,
        cost=verdict.cost,
        sample=outcome.sample,
        score=outcome.score,
        reason=outcome.reason,
        by_rule=by_rule,
    )


def _part_results(verdict: Verdict, suite: Benchmark) -> Iterator[tuple[tuple[str, str], bool]]:
    """Yield the kind and words under which each part is counted, and whether the part failed."""
    for part in verdict.parts:
        failed = part.score < 1
        yield ("kind", part.kind), failed
        words = _claims_of(part.name, part.about) if part.kind == "condition" else part.about
        for word in dict.fromkeys(words):
            # A value may belong to two categories: orange is a colour and a fruit.
            yield ("predicate", f"{part.kind} {word}" if suite.value_has_kind else word), failed


@lru_cache(maxsize=100_000)
def _claims_of(clause: str, predicates: tuple[str, ...]) -> tuple[str, ...]:
    """Return the predicates claimed by a disjunction: those of its positive literals, or else of its last literal.

    `(or (not (Is ?x 'cup')) (HasColor ?x 'red'))` claims that cups are red. When it fails, there is a cup, and its
    colour is wrong: the failure is one of `HasColor`, and `Is` was not asked for.
    """
    if not clause.startswith("(or"):
        return predicates
    formula, _ = try_parse(clause)
    if not isinstance(formula, Or):  # a judge may name its parts as it likes
        return predicates
    claims = tuple(literal for literal in formula.parts if not isinstance(literal, Not)) or formula.parts[-1:]
    return tuple(sorted({atom.predicate for claim in claims for atom in atoms(claim)}))


def largest_first(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts sorted from largest to smallest."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


# --- a run in a list


class RunFigures(NamedTuple):
    """The headline figures of a run in a list of runs, equal to those in its report."""

    suite: Benchmark
    levels: tuple[int, ...]  # the levels that it has, or would have if it were not adaptive, in order
    summary: Summary  # rates by level and over all
    spent: RunCost
    items: int  # number of its items
    means: ItemMeans  # what it is compared by: the mean over the images of each item, or of each level of a group


def run_figures(run: RunRecord) -> RunFigures:
    """Return the headline figures of a run, reading parts of verdicts only if the suite counts them."""
    from formalimg.stats.comparison import group_means, item_rates  # here, because a report of one run compares none

    suite, looks = find_suite(run.manifest.suite), read_run_looks(run)
    rules = HowCounted("exclude", CONFIDENCE, profile_of_judges([run.manifest]), False, 0.5)
    if suite.has_scores:
        images = read_images(run, suite)
    else:
        observations = [Observation(outcome.item, outcome.level, outcome.passed) for outcome in run.outcomes()]
        images = RunImages(observations, {}, {}, {}, {}, {}, (), JudgeQuality())
    numbers = run_numbers(run, images, suite, looks.epsilon if looks else None, rules, looks)
    if suite.has_scores:
        means = group_means(
            ScoreObservation(image.group, image.level, image.sample, image.counting) for image in numbers.graded
        )
    else:
        means = item_rates(images.observations)
    summary = numbers.summary()
    levels = tuple(sorted({*summary.levels, *(looks.levels if looks else ())}))
    items = len({observation.item for observation in images.observations})
    return RunFigures(suite, levels, summary, run.spent(), items, means)


def headline_difference(suite: Benchmark, first: ItemMeans, second: ItemMeans) -> PairedDifference:
    """Return the paired difference between two runs over the items they share, by the number that ranks runs."""
    from formalimg.stats.comparison import pair_items

    pairs = pair_items(first, second)
    if suite.has_scores:
        return pairs.group_difference(confidence=CONFIDENCE)
    overall = list(suite.bands.values())[-1] if suite.bands else ()
    levels = {level for level, _ in pairs.differences.values()}
    return pairs.difference(overall if overall and levels.issuperset(overall) else None, confidence=CONFIDENCE)


# --- items that are the same in several runs: they have the same id and ask for the same


def is_same_item(run: RunRecord, item: PlannedItem, second: StoredRun) -> bool:
    """Return whether another run contains the same item under the same ID."""
    other_item = second.item(item.id)
    return other_item is not None and (
        has_same_items(run, second) or _requirement_of(other_item) == _requirement_of(item)
    )


def same_items(runs: Sequence[RunRecord]) -> set[str]:
    """Return the IDs that denote the same item in all runs."""
    first, *rest = runs
    same = set(first.items)
    for run in rest:
        if not has_same_items(first, run):
            items = run.items
            same = {
                id_ for id_ in same if id_ in items and _requirement_of(items[id_]) == _requirement_of(first.items[id_])
            }
    return same


def has_same_items(run: RunRecord, second: RunRecord) -> bool:
    """Return whether two runs have exactly the same items."""
    return run.manifest.items_digest == second.manifest.items_digest


def _requirement_of(item: PlannedItem) -> tuple[int, str]:
    return item.level, item.formula or item.prompt
