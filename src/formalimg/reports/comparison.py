"""Compare runs: read each run folder once and report the numbers side by side, suite by suite."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from formalimg.benchmarks.registry import suite as find_suite
from formalimg.errors import FormalimgError
from formalimg.reports.comparison_model import (
    Comparison,
    HowCounted,
    PublishedRow,
    RunRow,
    Section,
    SeenRun,
    run_names,
    with_sentence,
)
from formalimg.reports.notes import comparison_notes, few_labels_in_common, judge_alone
from formalimg.reports.run_numbers import (
    CONFIDENCE,
    RunImages,
    RunNumbers,
    largest_first,
    read_images,
    read_run_looks,
    run_numbers,
)
from formalimg.reports.tables.format import count_noun, epsilon_text, join_counts
from formalimg.runs.manifest import RunManifest, profile_of_judges
from formalimg.stats.observations import MissingPolicy, Profile
from formalimg.stats.summary import generalizability, mean_of_levels
from formalimg.types import Benchmark, RunRecord, Table

if TYPE_CHECKING:
    from pathlib import Path

    from formalimg.human_eval.agreement.image_labels import RunLabels
    from formalimg.judges.certificates.certificate import JudgeCertificate
    from formalimg.reports.corrected import CorrectedRun
    from formalimg.reports.published import ReferenceRow
    from formalimg.runs.looks import AdaptiveLooks


def compare(
    runs: Sequence[RunRecord],
    *,
    missing: MissingPolicy = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    profile: Profile | None = None,
    threshold: float = 0.5,
    labels: Mapping[Path, RunLabels] | None = None,
    baseline: Path | None = None,
    certificates: Sequence[JudgeCertificate] = (),
) -> Comparison:
    """Compare runs side by side, suite by suite.

    Args:
        runs: the runs; those of one suite share a table, in this order.
        missing: the rule for images without a verdict: left out of the rates (`exclude`), counted as failures
            (`fail`), or an error (`error`).
        epsilon: the rate that a model has to hold for its generalizability. Default: that of the suite.
        references: whether to show published numbers of other models next to the runs.
        profile: whose rules apply where a paper and its published code differ: `paper`, or `official-code`. Default:
            those that the judges of all runs followed, else the paper's.
        threshold: the score of its first level that opens the gate of a group, for suites that have one.
        labels: human labels of images, by the resolved folders of the runs; they correct the numbers of the judge.
        baseline: the folder of the run that the others are compared with; by default each is compared with each.
        certificates: certificates of judges, for a table and for the judge errors that would explain a difference.
    """
    if not runs:
        raise FormalimgError("nothing to report: name at least one run folder")
    if baseline is not None and baseline.resolve() not in {run.folder.resolve() for run in runs}:
        raise FormalimgError(f"the baseline {baseline} is not among the runs: name it with them")
    profile = profile or profile_of_judges(run.manifest for run in runs)
    rules = HowCounted(missing, CONFIDENCE, profile, references, threshold)
    sections = []
    for name in dict.fromkeys(run.manifest.suite for run in runs):
        suite_runs = [run for run in runs if run.manifest.suite == name]
        sections.append(
            _build_section(find_suite(name), suite_runs, epsilon, rules, baseline, labels or {}, certificates)
        )
    comparison = Comparison(tuple(sections), missing, CONFIDENCE, threshold, profile)
    if certificates:
        from formalimg.reports.judge_tables import with_certificates  # here: few reports have certificates

        comparison = with_certificates(comparison, certificates)
    return comparison


def _build_section(
    suite: Benchmark,
    runs: Sequence[RunRecord],
    epsilon: float | None,
    rules: HowCounted,
    baseline: Path | None,
    labels: Mapping[Path, RunLabels],
    certificates: Sequence[JudgeCertificate],
) -> Section:
    # A mean of scores holds no rate.
    epsilon = None if suite.has_scores else suite.epsilon if epsilon is None else epsilon
    run_looks = [read_run_looks(run) for run in runs]
    if epsilon is None:
        epsilon = next((looks.epsilon for looks in run_looks if looks and looks.epsilon), None)
    published = find_published_rows(suite, [run.manifest for run in runs], epsilon) if rules.references else ()
    images = [read_images(run, suite) for run in runs]
    numbers = list(map(run_numbers, runs, images, repeat(suite), repeat(epsilon), repeat(rules), run_looks))
    rows = tuple(map(_build_row, run_names(runs), runs, images, numbers, repeat(rules), run_looks))
    results = [
        SeenRun(row.name, run, row.summary, run_images.images, sums.graded)
        for row, run, run_images, sums in zip(rows, runs, images, numbers, strict=True)
    ]
    notes = tuple(comparison_notes(runs, rows, published))
    corrected, label_tables, label_notes = (
        _correct_runs(suite, results, epsilon, rules, labels) if labels else ((), (), ())
    )
    section = Section(suite, epsilon, rows, published, (*notes, *label_notes), corrected=corrected)
    if any(run_looks):
        from formalimg.reports.adaptive_tables import adaptive_tables  # here: few runs are adaptive

        section = replace(section, tables=adaptive_tables(suite, rows))
    else:  # a difference that was looked at before its run was stopped has another p than one that was not
        used_labels = {run.folder: labels[run.folder] for run in corrected}
        section = _with_pairs(section, results, rules, baseline, used_labels, certificates)
    if corrected:
        section = replace(section, notes=(*section.notes, *few_labels_in_common(section)))
        from formalimg.reports.corrected import by_people_table  # here: few reports have labels

        label_tables = (by_people_table(section, rules), *label_tables)
    sentence = judge_alone(suite, rows, corrected)
    tables = [with_sentence(table, sentence) for table in (*section.tables, *(suite.tables(results, rules) or ()))]
    return replace(section, tables=tuple(table for table in (*label_tables, *tables) if table.rows))


def _correct_runs(
    suite: Benchmark,
    results: Sequence[SeenRun],
    epsilon: float | None,
    rules: HowCounted,
    labels: Mapping[Path, RunLabels],
) -> tuple[tuple[CorrectedRun, ...], tuple[Table, ...], tuple[str, ...]]:
    from formalimg.reports.corrected import build_corrected_tables, correct_run, why_not_corrected

    corrected, notes = [], []
    for run in results:
        run_labels = labels.get(run.record.folder.resolve())
        if run_labels is None:
            continue
        is_adaptive = bool(run.record.manifest.adaptive)
        problem = (
            "it is adaptive, and not all levels are whole" if is_adaptive else why_not_corrected(run, run_labels, suite)
        )
        if problem:
            notes.append(f"{run.name}: not corrected by human labels: {problem}.")
        else:
            corrected.append(correct_run(run, run_labels, suite, epsilon, rules))
    return tuple(corrected), build_corrected_tables(suite, corrected, rules), tuple(notes)


def _with_pairs(
    section: Section,
    results: Sequence[SeenRun],
    rules: HowCounted,
    baseline: Path | None,
    labels: Mapping[Path, RunLabels],
    certificates: Sequence[JudgeCertificate],
) -> Section:
    """Return the section with ranks and tables of paired differences added."""
    if len(results) < 2:
        return section
    # here, so that the report of one run is made faster
    from formalimg.reports.paired_runs import compare_in_pairs
    from formalimg.reports.paired_tables import build_paired_tables

    errors = {}
    if certificates:
        from formalimg.reports.judge_tables import find_certified_rates  # here: few reports have certificates

        rates = {row.folder.resolve(): find_certified_rates(row, certificates) for row in section.rows}
        errors = {folder: rate for folder, rate in rates.items() if rate is not None}
    paired = compare_in_pairs(section.suite, results, rules, baseline, labels, errors)
    if not paired.headline:
        return section
    tables = build_paired_tables(section.suite, results, paired, rules)
    return replace(
        section, tables=tables, ranks=paired.ranks, ranked_by=paired.headline[0].number, pairs=paired.headline
    )


def _build_row(
    name: str, run: RunRecord, images: RunImages, numbers: RunNumbers, rules: HowCounted, looks: AdaptiveLooks | None
) -> RunRow:
    unscored = numbers.unscored
    if rules.missing == "error" and unscored:
        remedy = "resume the run" if run.manifest.judge else f"use `formalimg judge {shlex.quote(str(run.folder))}`"
        raise FormalimgError(
            f"{name} has {count_noun(sum(unscored.values()), 'image')} without a verdict ({join_counts(unscored)}): "
            f"{remedy}, or choose --missing exclude or --missing fail"
        )
    samples = Counter(observation.item for observation in images.observations).values()
    return RunRow(
        name=name,
        folder=run.folder,
        manifest=run.manifest,
        items=len(run.items),
        images_of_each=(min(samples, default=0), max(samples, default=0)),
        summary=numbers.summary(),
        unscored=unscored,
        details=numbers.details,
        by_rule=largest_first(images.by_rule),
        kinds=images.kinds,
        predicates=images.predicates,
        spent=run.spent(),
        gated=frozenset((image.item, image.sample) for image in numbers.graded if image.is_gated),
        quality=images.quality,
        bounds=numbers.bounds() if unscored else None,
        looks=looks,
    )


def find_published_rows(
    suite: Benchmark, manifests: Sequence[RunManifest], epsilon: float | None
) -> tuple[PublishedRow, ...]:
    """Return the published results that are comparable with the runs of a suite, without duplicates.

    Means and G are as printed, which may differ in the last digit from values computed from the rates. Values that were
    not printed are computed from the rates, and marked as computed.
    """
    from formalimg.reports.published import reference_rows  # here: most reports have none

    settings = dict.fromkeys((manifest.task, manifest.condition) for manifest in manifests)  # in the order of the runs
    rows = {
        id(row): row
        for task, condition in settings
        for row in reference_rows(suite.name, task=task, condition=condition)
    }
    return tuple(_build_published_row(row, suite, epsilon) for row in rows.values())


def _build_published_row(row: ReferenceRow, suite: Benchmark, epsilon: float | None) -> PublishedRow:
    bands: dict[str, float | None] = {}
    computed = []
    for band, levels in suite.bands.items():
        value = row.printed.get(band)
        if value is None and not suite.has_scores:  # bands of scores are ratios of the unrounded means
            value = mean_of_levels(levels, row.rates)
            computed += [band] if value is not None else []
        bands[band] = value
    level = None
    if epsilon is not None:
        level = row.held if epsilon == suite.epsilon else None
        if level is None and row.rates and sorted(row.rates) == list(range(1, max(row.rates) + 1)):
            level = generalizability(row.rates, epsilon)
            computed.append(f"G{epsilon_text(epsilon)}")
    return PublishedRow(
        row.model, row.source, row.rates, bands, level, row.judge, row.task, row.condition, tuple(computed), row.digits
    )
