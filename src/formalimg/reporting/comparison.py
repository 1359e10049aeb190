"""Compare runs: read run folders once, and put their numbers side by side, suite by suite."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, UnscoredReason, Verdict
from formalimg.reporting.clauses import claimed_predicates
from formalimg.reporting.judge_quality import JudgeQuality
from formalimg.reporting.labels import join_counts
from formalimg.reporting.model import (
    Comparison,
    Detail,
    GradedImage,
    HowCounted,
    ImagesOfEach,
    PublishedRow,
    RunRow,
    Section,
    SeenImage,
    SeenRun,
    Tally,
    with_sentence,
)
from formalimg.reporting.notes import comparison_notes, judge_alone, run_names
from formalimg.runs import Judged, RunRecord
from formalimg.stats import MissingBounds, MissingPolicy, Observation, Summary, missing_bounds, summarize
from formalimg.suites import Suite, suite
from formalimg.tables import Table, count_noun

if TYPE_CHECKING:
    from pathlib import Path

    from formalimg.analysis import RunLabels
    from formalimg.reporting.corrected import CorrectedRun
    from formalimg.runs import AdaptiveLooks
    from formalimg.suites import PoolProfile

CONFIDENCE = 0.95

_JUDGES_REASONS: tuple[UnscoredReason, ...] = ("not understood", "judge failed")
"""Why there is no verdict although a judge looked."""


def compare(
    runs: Sequence[RunRecord],
    *,
    missing: MissingPolicy = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    profile: PoolProfile = "paper",
    threshold: float = 0.5,
    labels: Mapping[Path, RunLabels] | None = None,
    baseline: Path | None = None,
) -> Comparison:
    """Compare runs side by side, suite by suite.

    Args:
        runs: the runs; those of one suite share a table, in this order.
        missing: the rule for images without a verdict: left out of the rates (`exclude`), counted as failures
            (`fail`), or an error (`error`).
        epsilon: the rate that a model has to hold for its generalizability. Default: that of the suite.
        references: whether published numbers of other models stand beside the runs.
        profile: whose rules apply where a paper and its published code differ: `paper`, or `official-code`.
        threshold: the score of its factual image that opens the gate of a group of CF-World.
        labels: human labels of images, by the resolved folders of the runs; they correct the numbers of the judge.
        baseline: the folder of the run that the others are compared with; by default each is compared with each.

    Raises:
        FormalimgError: if there is no run, the baseline is not one of them, or an image has no verdict and
            `missing` is `error`.
    """
    if not runs:
        raise FormalimgError("there is nothing to report: name at least one run folder")
    if baseline is not None and baseline.resolve() not in {run.folder.resolve() for run in runs}:
        raise FormalimgError(f"the baseline {baseline} is not among the runs: name it with them")
    names = list(dict.fromkeys(run.manifest.suite for run in runs))
    how = HowCounted(missing, CONFIDENCE, profile, references, threshold)
    return Comparison(
        tuple(
            _section(
                suite(name), [run for run in runs if run.manifest.suite == name], epsilon, how, baseline, labels or {}
            )
            for name in names
        ),
        missing,
        CONFIDENCE,
        threshold,
        profile,
    )


def _section(
    about: Suite,
    runs: Sequence[RunRecord],
    epsilon: float | None,
    how: HowCounted,
    baseline: Path | None,
    labels: Mapping[Path, RunLabels],
) -> Section:
    # A mean of scores holds no rate.
    held = None if about.traits.has_scores else about.epsilon if epsilon is None else epsilon
    looks = [_looks(run) for run in runs]
    held = next((one.epsilon for one in looks if one and one.epsilon), None) if held is None else held
    published = _published_rows(about, runs, held) if how.references else ()
    found = [_read_images(run, about) for run in runs]
    summed = [_run_numbers(run, read, about, held, how, of) for run, read, of in zip(runs, found, looks, strict=True)]
    rows = tuple(map(_row, run_names(runs), runs, found, summed, repeat(how), looks))
    seen = [
        SeenRun(row.name, run, row.summary, read.images, sums.graded)
        for row, run, read, sums in zip(rows, runs, found, summed, strict=True)
    ]
    notes = tuple(comparison_notes(runs, rows, published))
    by_people = _correct(about, seen, held, how, labels) if labels else _Corrections()
    alone = judge_alone(about, rows, by_people.runs)
    first = Section(about, held, rows, published, (*notes, *by_people.notes), corrected=by_people.runs)
    if any(looks):
        from formalimg.reporting.adaptive_tables import adaptive_tables  # here: few runs are adaptive

        section = replace(first, tables=adaptive_tables(about, rows))
    else:  # a difference that was looked at before its run was stopped has another p than one that was not
        section = _with_pairs(first, seen, how, baseline)
    others = [with_sentence(table, alone) for table in (*section.tables, *_detail_tables(about, seen, how))]
    return replace(section, tables=tuple(table for table in (*by_people.tables, *others) if table.rows))


class _Corrections(NamedTuple):
    """Runs corrected by human labels, their tables, and why others could not be."""

    runs: tuple[CorrectedRun, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def _correct(
    about: Suite, seen: Sequence[SeenRun], held: float | None, how: HowCounted, labels: Mapping[Path, RunLabels]
) -> _Corrections:
    # here, so that reports without labels are made faster
    from formalimg.reporting.corrected import correct_run, why_not_corrected
    from formalimg.reporting.corrected_tables import corrected_tables

    found, notes = [], []
    for run in seen:
        own = labels.get(run.record.folder.resolve())
        if own is None:
            continue
        is_adaptive = bool(run.record.manifest.adaptive)
        wrong = "it is adaptive, and not all levels are whole" if is_adaptive else why_not_corrected(run, own, about)
        if wrong:
            notes.append(f"{run.name}: not corrected by human labels: {wrong}.")
        else:
            found.append(correct_run(run, own, about, held, how))
    return _Corrections(tuple(found), corrected_tables(about, found, how), tuple(notes))


def _with_pairs(section: Section, seen: Sequence[SeenRun], how: HowCounted, baseline: Path | None) -> Section:
    """Return the section with tables of paired differences, and ranks."""
    if len(seen) < 2:
        return section
    # here, so that the report of one run is made faster
    from formalimg.reporting.paired_runs import compare_in_pairs
    from formalimg.reporting.paired_tables import paired_tables

    found = compare_in_pairs(section.suite, seen, how, baseline)
    tables = paired_tables(section.suite, seen, found, how)
    return replace(section, tables=tables, ranks=found.ranks, ranked_by=found.headline[0].number, pairs=found.headline)


def _detail_tables(about: Suite, seen: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
    """Return the tables below the main one, by kind of suite."""
    # Each is imported here, so that reports of other kinds are made faster.
    match about.kind:
        case "formula":
            from formalimg.reporting.formula_tables import formula_tables

            return formula_tables(about, seen, how)
        case "concepts":
            from formalimg.reporting.concept_tables import concept_tables

            return concept_tables(about, seen, how)
        case "counterfactual":
            from formalimg.reporting.counterfactual_tables import counterfactual_tables

            return counterfactual_tables(about, seen, how)
        case "questions" if about.judge == "words":
            from formalimg.reporting.soft_tifa_tables import soft_tifa_tables

            return soft_tifa_tables(about, seen, how)
        case "questions" if about.judge == "compositions":
            from formalimg.reporting.composition_tables import composition_tables

            return composition_tables(about, seen, how)
        case "questions" if about.published:
            from formalimg.reporting.question_tables import question_tables

            return question_tables(seen, how)
        case "questions":
            return ()  # the main table and what failed say it all
        case "objects":
            from formalimg.reporting.object_tables import object_tables

            return object_tables(about, seen, how)


class _RunNumbers(NamedTuple):
    """The numbers of a run; the summary is computed once it is clear that missing verdicts are no error."""

    summary: Callable[[], Summary]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    bounds: Callable[[], MissingBounds]
    graded: tuple[GradedImage, ...] = ()


def _looks(run: RunRecord) -> AdaptiveLooks | None:
    if not run.manifest.adaptive:
        return None
    from formalimg.reporting.adaptive_tables import run_looks  # here: few runs are adaptive

    return run_looks(run)


def _run_numbers(
    run: RunRecord,
    found: _RunImages,
    about: Suite,
    epsilon: float | None,
    how: HowCounted,
    looks: AdaptiveLooks | None,
) -> _RunNumbers:
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

            return _RunNumbers(
                lambda: adaptive_summary(summary(), looks, run),
                _largest_first(found.unscored),
                found.details,
                lambda: adaptive_bounds(bounds(), adaptive_summary(summary(), looks, run)),
            )
        return _RunNumbers(summary, _largest_first(found.unscored), found.details, bounds)
    # here, so that reports of pass rates are made faster
    from formalimg.reporting.counterfactual_scores import WHY_NOT_COUNTED, graded_images, score_bounds, score_summary

    graded = graded_images(run, found.images, about, how)
    unscored = Counter(image.reason for image in graded if image.counting is None)
    details = {**found.details, **{reason: Detail(why, unscored[reason]) for reason, why in WHY_NOT_COUNTED.items()}}
    known = {reason: details[reason] for reason in details if reason in unscored}
    summary, bounds = partial(score_summary, graded, about, how), partial(score_bounds, graded, about)
    return _RunNumbers(summary, _largest_first(unscored), known, bounds, graded)


def _row(
    name: str,
    run: RunRecord,
    found: _RunImages,
    summed: _RunNumbers,
    how: HowCounted,
    looks: AdaptiveLooks | None,
) -> RunRow:
    unscored = summed.unscored
    if how.missing == "error" and unscored:
        raise FormalimgError(
            f"{name} has {count_noun(sum(unscored.values()), 'image')} without a verdict ({join_counts(unscored)}): "
            f"{_remedy(run)}, or choose --missing exclude or --missing fail"
        )
    return RunRow(
        name,
        run.folder,
        run.manifest,
        len(run.items),
        _images_of_each(found.observations),
        summed.summary(),
        unscored,
        summed.details,
        _largest_first(found.by_rule),
        found.kinds,
        found.predicates,
        run.spent(),
        frozenset((image.item, image.sample) for image in summed.graded if image.is_gated),
        found.quality,
        summed.bounds() if unscored else None,
        looks,
    )


def _remedy(run: RunRecord) -> str:
    return "resume the run" if run.manifest.judge else f"use `formalimg judge {shlex.quote(str(run.folder))}`"


def _images_of_each(observations: Sequence[Observation]) -> ImagesOfEach:
    counts = Counter(seen.item for seen in observations).values()
    return ImagesOfEach(min(counts, default=0), max(counts, default=0))


class _RunImages(NamedTuple):
    observations: Sequence[Observation]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    by_rule: Mapping[str, int]
    kinds: Mapping[str, Tally]
    predicates: Mapping[str, Tally]
    images: tuple[SeenImage, ...]
    quality: JudgeQuality


def _read_images(run: RunRecord, about: Suite) -> _RunImages:
    """Read a run in one pass; it may be going on, and rates, reasons and clauses are of the same moment."""
    observations: list[Observation] = []
    unscored: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    by_rule: Counter[str] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    images: list[SeenImage] = []
    quality = JudgeQuality()
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        observations.append(Observation(outcome.item, outcome.level, outcome.passed))
        images.append(_seen(judged))
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
    return _RunImages(
        observations,
        unscored,
        {reason: Detail(*counts.most_common(1)[0]) for reason, counts in details.items()},
        by_rule,
        _tallies("kind", asked, failed),
        _tallies("predicate", asked, failed),
        tuple(images),
        quality,
    )


def _seen(judged: Judged) -> SeenImage:
    outcome, verdict = judged.outcome, judged.verdict
    scored = isinstance(verdict, Verdict)
    by_rule = scored and "rule" in verdict.evidence
    return SeenImage(
        outcome.item,
        outcome.level,
        outcome.passed,
        verdict.parts if isinstance(verdict, Verdict) else (),
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


def _largest_first(counts: Mapping[str, int]) -> Mapping[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _published_rows(about: Suite, runs: Sequence[RunRecord], epsilon: float | None) -> tuple[PublishedRow, ...]:
    from formalimg.reporting.published import published_rows  # here: most reports have none

    return published_rows(about, [run.manifest for run in runs], epsilon)
