"""The numbers of one run: its images read in one pass, and what is counted and averaged of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from formalimg.benchmarks.registry import suite
from formalimg.judges.base import UnscoredReason
from formalimg.logic.parser import try_parse
from formalimg.logic.syntax import Not, Or, atoms
from formalimg.reports.comparison_model import Detail, GradedImage, HowCounted, SeenImage, Tally
from formalimg.reports.judge_quality import JudgeQuality
from formalimg.runs.database import RunCost
from formalimg.runs.manifest import profile_of_judges
from formalimg.runs.reader import Judged
from formalimg.stats.observations import Observation, ScoreObservation, Summary
from formalimg.stats.summary import MissingBounds, missing_bounds, summarize
from formalimg.types import Benchmark, Part, RunRecord, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.runs.looks import AdaptiveLooks
    from formalimg.stats.comparison import ItemMeans, PairedDifference

CONFIDENCE = 0.95

_CONDITION = "condition"

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
    from formalimg.reports.adaptive_tables import run_looks  # here: few runs are adaptive

    return run_looks(run)


def run_numbers(
    run: RunRecord,
    found: RunImages,
    about: Benchmark,
    epsilon: float | None,
    how: HowCounted,
    looks: AdaptiveLooks | None,
) -> RunNumbers:
    """Return the numbers of a run, by the rules of its suite."""
    scored = about.score_numbers(run, found, how)
    if scored is not None:
        return scored
    summary = partial(
        summarize,
        found.observations,
        bands=about.bands,
        epsilon=epsilon,
        missing=how.missing,
        confidence=how.confidence,
    )
    bounds = partial(missing_bounds, found.observations, bands=about.bands, epsilon=epsilon)
    if looks is None:
        return RunNumbers(summary, largest_first(found.unscored), found.details, bounds)
    from formalimg.reports.adaptive_tables import adaptive_bounds, adaptive_summary

    return RunNumbers(
        lambda: adaptive_summary(summary(), looks, run),
        largest_first(found.unscored),
        found.details,
        lambda: adaptive_bounds(bounds(), adaptive_summary(summary(), looks, run)),
    )


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


def read_images(run: RunRecord, about: Benchmark) -> RunImages:
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


def _part_results(verdict: Verdict, about: Benchmark) -> Iterable[_PartResult]:
    for part in verdict.parts:
        failed = part.score < 1
        yield _PartResult(("kind", part.kind), failed)
        for word in dict.fromkeys(_claimed_predicates(part)):
            # A value may belong to two categories: orange is a colour and a fruit.
            name = f"{part.kind} {word}" if about.value_has_kind else word
            yield _PartResult(("predicate", name), failed)


def _claimed_predicates(part: Part) -> tuple[str, ...]:
    """Return the words that a part is counted under: all that it is about, of a conditional clause those it claims.

    `(or (not (Is ?x 'cup')) (HasColor ?x 'red'))` claims that cups are red. When it fails, there is a cup, and its
    colour is wrong: the failure is one of `HasColor`, and `Is` was not asked for.
    """
    return _claims(part.name, part.about) if part.kind == _CONDITION else part.about


@lru_cache(maxsize=100_000)
def _claims(clause: str, about: tuple[str, ...]) -> tuple[str, ...]:
    """Return the predicates that a disjunction claims: of the literals without `not`; if all have one, of the last."""
    if not clause.startswith("(or"):
        return about
    formula, _ = try_parse(clause)
    if not isinstance(formula, Or):  # a judge may name its parts as it likes
        return about
    claims = tuple(literal for literal in formula.parts if not isinstance(literal, Not)) or formula.parts[-1:]
    return tuple(sorted({atom.predicate for claim in claims for atom in atoms(claim)}))


def _tallies(sort: str, asked: Counter[tuple[str, str]], failed: Counter[tuple[str, str]]) -> Mapping[str, Tally]:
    return {name: Tally(failed[sort, name], count) for (of, name), count in sorted(asked.items()) if of == sort}


def largest_first(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts, the largest first."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


# --- a run in a list


class RunFigures(NamedTuple):
    """The figures of a run in a list of many: the same numbers as in its report, without tables and parts."""

    suite: Benchmark  # its suite
    levels: tuple[int, ...]  # the levels that it has, or would have if it were not adaptive, in order
    summary: Summary  # rates by level and over all
    spent: RunCost  # its cost
    items: int  # number of its items
    means: ItemMeans  # what it is compared by: the mean over the images of each item, or of each level of a group


def run_figures(run: RunRecord) -> RunFigures:
    """Return the figures of a run. Parts of verdicts are read only where the suite counts by them."""
    from formalimg.stats.comparison import group_means, item_rates  # here, because a report of one run compares none

    about, looks = suite(run.manifest.suite), read_run_looks(run)
    how = HowCounted("exclude", CONFIDENCE, profile_of_judges([run.manifest]), False, 0.5)
    found = read_images(run, about) if about.has_scores else _outcomes_only(run)
    numbers = run_numbers(run, found, about, looks.epsilon if looks else None, how, looks)
    if about.has_scores:
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


def headline_difference(about: Benchmark, first: ItemMeans, second: ItemMeans) -> PairedDifference:
    """Return how much higher one run is than another over the same items, by the number that runs are ranked by."""
    from formalimg.stats.comparison import pair_items

    pairs = pair_items(first, second)
    if about.has_scores:
        return pairs.group_difference(confidence=CONFIDENCE)
    overall = list(about.bands.values())[-1] if about.bands else ()
    known = {level for level, _ in pairs.differences.values()}
    return pairs.difference(overall if overall and known.issuperset(overall) else None, confidence=CONFIDENCE)


def _shared(part: Part, shared: dict[Part, Part]) -> Part:
    bare = Part(part.name, part.kind, part.score, part.weight, part.about, p_yes=part.p_yes)
    return shared.setdefault(bare, bare)
