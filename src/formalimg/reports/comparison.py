"""Compare runs: read run folders once, and put their numbers side by side, suite by suite."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.reports.comparison_model import (
    Comparison,
    HowCounted,
    ImagesOfEach,
    PublishedRow,
    RunRow,
    Section,
    SeenRun,
    with_sentence,
)
from formalimg.reports.notes import comparison_notes, few_labels_in_common, judge_alone, run_names
from formalimg.reports.run_numbers import (
    CONFIDENCE,
    RunImages,
    RunNumbers,
    largest_first,
    read_images,
    read_run_looks,
    run_numbers,
)
from formalimg.reports.tables.format import count_noun, join_counts
from formalimg.runs.manifest import profile_of_judges
from formalimg.stats.observations import MissingPolicy, Observation, Profile
from formalimg.types import Benchmark, RunRecord, Table

if TYPE_CHECKING:
    from pathlib import Path

    from formalimg.human_eval.agreement.image_labels import RunLabels
    from formalimg.judges.certificates.certificate import JudgeCertificate
    from formalimg.reports.corrected import CorrectedRun
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
        references: whether published numbers of other models stand beside the runs.
        profile: whose rules apply where a paper and its published code differ: `paper`, or `official-code`. Default:
            those that the judges of all runs followed, else the paper's.
        threshold: the score of its first level that opens the gate of a group, for suites that have one.
        labels: human labels of images, by the resolved folders of the runs; they correct the numbers of the judge.
        baseline: the folder of the run that the others are compared with; by default each is compared with each.
        certificates: certificates of judges, for a table, and for what would overturn a difference.

    Raises:
        FormalimgError: if there is no run, the baseline is not one of them, or an image has no verdict and
            `missing` is `error`.
    """
    if not runs:
        raise FormalimgError("there is nothing to report: name at least one run folder")
    if baseline is not None and baseline.resolve() not in {run.folder.resolve() for run in runs}:
        raise FormalimgError(f"the baseline {baseline} is not among the runs: name it with them")
    names = list(dict.fromkeys(run.manifest.suite for run in runs))
    profile = profile or profile_of_judges(run.manifest for run in runs)
    how = HowCounted(missing, CONFIDENCE, profile, references, threshold)
    sections = tuple(
        _section(
            suite(name),
            [run for run in runs if run.manifest.suite == name],
            epsilon,
            how,
            baseline,
            labels or {},
            certificates,
        )
        for name in names
    )
    comparison = Comparison(sections, missing, CONFIDENCE, threshold, profile)
    if not certificates:
        return comparison
    from formalimg.reports.certificate_tables import with_certificates  # here: few reports have certificates

    return with_certificates(comparison, certificates)


def _section(
    about: Benchmark,
    runs: Sequence[RunRecord],
    epsilon: float | None,
    how: HowCounted,
    baseline: Path | None,
    labels: Mapping[Path, RunLabels],
    certificates: Sequence[JudgeCertificate],
) -> Section:
    # A mean of scores holds no rate.
    held = None if about.has_scores else about.epsilon if epsilon is None else epsilon
    looks = [read_run_looks(run) for run in runs]
    held = next((one.epsilon for one in looks if one and one.epsilon), None) if held is None else held
    published = _published_rows(about, runs, held) if how.references else ()
    found = [read_images(run, about) for run in runs]
    summed = [run_numbers(run, read, about, held, how, of) for run, read, of in zip(runs, found, looks, strict=True)]
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
        from formalimg.reports.adaptive_tables import adaptive_tables  # here: few runs are adaptive

        section = replace(first, tables=adaptive_tables(about, rows))
    else:  # a difference that was looked at before its run was stopped has another p than one that was not
        corrected = {run.folder: labels[run.folder] for run in by_people.runs}
        section = _with_pairs(first, seen, how, baseline, corrected, certificates)
    people = by_people.tables
    if by_people.runs:
        section = replace(section, notes=(*section.notes, *few_labels_in_common(section)))
        from formalimg.reports.corrected_tables import by_people_table  # here: few reports have labels

        people = (by_people_table(section, how), *people)
    others = [with_sentence(table, alone) for table in (*section.tables, *(about.tables(seen, how) or ()))]
    return replace(section, tables=tuple(table for table in (*people, *others) if table.rows))


class _Corrections(NamedTuple):
    """Runs corrected by human labels, their tables, and why others could not be."""

    runs: tuple[CorrectedRun, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def _correct(
    about: Benchmark, seen: Sequence[SeenRun], held: float | None, how: HowCounted, labels: Mapping[Path, RunLabels]
) -> _Corrections:
    # here, so that reports without labels are made faster
    from formalimg.reports.corrected import correct_run, why_not_corrected
    from formalimg.reports.corrected_tables import corrected_tables

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


def _with_pairs(
    section: Section,
    seen: Sequence[SeenRun],
    how: HowCounted,
    baseline: Path | None,
    labels: Mapping[Path, RunLabels],
    certificates: Sequence[JudgeCertificate],
) -> Section:
    """Return the section with tables of paired differences, and ranks."""
    if len(seen) < 2:
        return section
    # here, so that the report of one run is made faster
    from formalimg.reports.paired_runs import compare_in_pairs
    from formalimg.reports.paired_tables import paired_tables

    errors = {}
    if certificates:
        from formalimg.reports.certificate_tables import certified_rates  # here: few reports have certificates

        rates = {row.folder.resolve(): certified_rates(row, certificates) for row in section.rows}
        errors = {folder: rate for folder, rate in rates.items() if rate is not None}
    found = compare_in_pairs(section.suite, seen, how, baseline, labels, errors)
    if not found.headline:
        return section
    tables = paired_tables(section.suite, seen, found, how)
    return replace(section, tables=tables, ranks=found.ranks, ranked_by=found.headline[0].number, pairs=found.headline)


def _row(
    name: str,
    run: RunRecord,
    found: RunImages,
    summed: RunNumbers,
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
        largest_first(found.by_rule),
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


def _published_rows(about: Benchmark, runs: Sequence[RunRecord], epsilon: float | None) -> tuple[PublishedRow, ...]:
    from formalimg.reports.published import published_rows  # here: most reports have none

    return published_rows(about, [run.manifest for run in runs], epsilon)
