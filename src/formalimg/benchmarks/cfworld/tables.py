"""Tables of CF-World and its probes: raw and gated scores, fields, dimensions, rules, pairs, unscored groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from formalimg.benchmarks.cfworld.run_scores import (
    GATE_UNKNOWN,
    NO_FACTUAL,
    WHY_NOT_COUNTED,
    means_after_gate,
    means_as_counted,
    ratio_bounds,
    scoring_rules,
)
from formalimg.benchmarks.cfworld.scores import ScoreSummary, score_difference
from formalimg.benchmarks.cfworld.spec import DIMENSIONS, FIELD_TAGGED
from formalimg.reports.comparison_model import GradedImage, HowCounted, SeenRun, run_cell, run_column, table_of_rates
from formalimg.reports.published import reference_rows
from formalimg.reports.tables.format import level_name, rule_text
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.observations import ScoreObservation
from formalimg.types import Benchmark, Table

_PROBE_LEVELS = (1, 2)

_PENDING = ("no image", "not judged", NO_FACTUAL)  # Reasons that end when the run goes on


def counterfactual_tables(suite: Benchmark, runs: Sequence[SeenRun], policy: HowCounted) -> Iterator[Table]:
    """Yield all tables for runs of CF-World or a probe; some may be empty."""
    if suite.gate is not None:
        yield _raw_and_gated(suite, runs, policy)
    if {image.level for run in runs for image in run.graded} == set(_PROBE_LEVELS) and suite.gate is None:
        yield _differences(suite, runs, policy)
        yield _by_group(suite, runs, policy)
    if suite.name in FIELD_TAGGED:
        yield _by_field(suite, runs, policy)
    yield _by_dimension(suite, runs, policy)
    yield _groups_without_scores(suite, runs)


def _raw_and_gated(suite: Benchmark, runs: Sequence[SeenRun], policy: HowCounted) -> Table:
    """Return the table of raw and gated means by level, with the number of images behind a closed or unknown gate."""
    rules = ". ".join(scoring_rules(suite, policy, with_ratios=False))
    return table_of_rates(
        "raw and gated",
        "Scores as the judge gave them, and as they count",
        (
            Column("run"),
            Column("level"),
            Column("raw", "score"),
            Column("gated", "score"),
            Column("closed", "count"),
            Column("share closed", "percent"),
            Column("unknown", "count"),
        ),
        [row for run in runs for row in _gate_rows(suite, run, runs, policy)],
        f"raw: without the gate. {_interval_note(policy)}. closed: images that count as 0, and their share of all that "
        f"count, in percent. unknown: images whose gate is unknown. {rules}.",
    )


def _gate_rows(suite: Benchmark, run: SeenRun, runs: Sequence[SeenRun], policy: HowCounted) -> Iterator[TableRow]:
    raw = means_as_counted((image._replace(counting=image.score) for image in run.graded), policy)
    gated = means_after_gate(run.graded, suite, policy)
    for level in _list_levels(runs):
        images = [image for image in run.graded if image.level == level]
        counting = sum(image.counting is not None for image in images)
        closed = sum(image.is_gated for image in images)
        yield TableRow(
            (
                run.name,
                level_name(suite, level),
                Number.of((gated if level == 1 else raw).levels.get(level)),  # the factual level has no gate
                Number.of(gated.levels.get(level)),
                closed,
                closed / counting if counting and level > 1 else None,
                sum(image.reason in WHY_NOT_COUNTED for image in images),
            ),
            run.name,
        )


def _differences(suite: Benchmark, runs: Sequence[SeenRun], policy: HowCounted) -> Table:
    """Return the table of both levels' means on a probe, with their difference paired by group."""
    published = reference_rows(suite.name) if policy.references else ()
    group = suite.group
    rows = [TableRow((run.name, *_probe_cells(run.graded, policy)), run.name) for run in runs]
    rows += [
        TableRow(
            (row.name, *(row.rates.get(level) for level in _PROBE_LEVELS), None, None), row.name, row.model, row.judge
        )
        for row in published
    ]
    sources = "; ".join(dict.fromkeys(row.source for row in published))
    first, second = (level_name(suite, level) for level in _PROBE_LEVELS)
    return table_of_rates(
        "differences",
        f"{first.capitalize()} and {second} scores",
        (
            Column("run"),
            *_level_columns(suite, _PROBE_LEVELS),
            Column("difference", "difference"),
            Column(f"{group}s", "count"),
        ),
        rows,
        f"difference: the mean over {group}s of the second mean minus the first; each {group} counts once, so that it "
        f"may differ from the difference of the means. {group}s: those that have both. {_interval_note(policy)}. "
        f"{_rules_note(suite, policy)}" + (f" Published: {sources}." if sources else ""),
    )


def _by_group(suite: Benchmark, runs: Sequence[SeenRun], policy: HowCounted) -> Table:
    """Return the table of both levels' means on a probe for each rule or pair, in suite order."""
    group_name = suite.group
    rows = []
    for group in dict.fromkeys(image.group for run in runs for image in run.graded):
        for run in runs:
            images = [image for image in run.graded if image.group == group]
            if images:
                *numbers, _ = _probe_cells(images, policy)
                plain = [number._replace(interval=None) for number in numbers]  # one or two images tell of no others
                rows.append(TableRow((group, *run_cell(run.name, runs), *plain), run.name))
    return table_of_rates(
        f"by {group_name}",
        f"Scores by {group_name}",
        (
            Column(group_name),
            *run_column(runs),
            *_level_columns(suite, _PROBE_LEVELS),
            Column("difference", "difference"),
        ),
        rows,
        _rules_note(suite, policy),
    )


def _probe_cells(images: Sequence[GradedImage], policy: HowCounted) -> tuple[Number, ...]:
    """Return the cells for the means of both levels, their difference, and the number of groups with both."""
    missing = 0.0 if policy.missing == "fail" else None
    counted = [
        ScoreObservation(image.group, image.level, image.sample, missing if image.counting is None else image.counting)
        for image in images
    ]
    difference = score_difference(counted, confidence=policy.confidence)
    summary = means_as_counted(images, policy)
    level_means = (Number.of(summary.levels.get(level)) for level in _PROBE_LEVELS)
    return (*level_means, Number(difference.value, difference.interval), Number(difference.groups))


def _by_field(suite: Benchmark, runs: Sequence[SeenRun], policy: HowCounted) -> Table:
    """Return the table of means by discipline, followed by its branches if it has any."""
    levels = _list_levels(runs)
    rows = []
    tags = {image.tags for run in runs for image in run.graded if image.tags}
    for field in sorted({field for field_tags in tags for field in (field_tags[:1], field_tags[:2])}):
        for run in runs:
            images = [image for image in run.graded if image.tags[: len(field)] == field]
            if images:
                summary = means_after_gate(images, suite, policy)
                labels = (field[0], " ".join(field[1:]), *run_cell(run.name, runs))
                groups = len({image.group for image in images})
                numbers = (*_level_cells(summary, levels), *_ratio_cells(suite, summary))
                rows.append(TableRow((*labels, groups, *numbers), run.name))
    return table_of_rates(
        "disciplines",
        "Scores by discipline and branch",
        (
            Column("discipline"),
            Column("branch"),
            *run_column(runs),
            Column("groups", "count"),
            *_level_columns(suite, levels),
            *(Column(band, "score") for band in suite.bands),
        ),
        rows,
        f"{_interval_note(policy)}. {_rules_note(suite, policy)}",
    )


def _by_dimension(suite: Benchmark, runs: Sequence[SeenRun], policy: HowCounted) -> Table:
    """Return the table of means by dimension and level, before the gate."""
    levels = _list_levels(runs)
    order: tuple[str, ...] = DIMENSIONS
    rows = []
    for dimension in sorted({kind for run in runs for image in run.graded for kind in image.asked}, key=order.index):
        for run in runs:
            images = [_of_dimension(image, dimension) for image in run.graded if dimension in image.asked]
            if any(image.counting is not None for image in images):
                cells = (
                    dimension,
                    *run_cell(run.name, runs),
                    *_level_cells(means_as_counted(images, policy), levels),
                )
                rows.append(TableRow(cells, run.name))
    return table_of_rates(
        "dimensions",
        "Scores by dimension",
        (Column("dimension"), *run_column(runs), *_level_columns(suite, levels)),
        rows,
        "Of each image the mean score of its questions of the dimension, without the gate; images that failed by "
        f"rule have their score, 0, in each. {_interval_note(policy)}. {rule_text(policy.missing, of_scores=True)}.",
    )


def _of_dimension(image: GradedImage, dimension: str) -> GradedImage:
    if not image.parts:
        return image._replace(counting=image.score)
    scores = [part.score for part in image.parts if part.kind == dimension]
    return image._replace(counting=fmean(scores) if scores else None)


def _groups_without_scores(suite: Benchmark, runs: Sequence[SeenRun]) -> Table:
    """Return the table of groups that lack a score, with the reason, without images that are still pending."""
    return Table(
        "groups without scores",
        "Groups that cannot be scored",
        (Column("group"), *run_column(runs), Column("why")),
        tuple(
            TableRow((group, *run_cell(run.name, runs), reason), run.name)
            for run in runs
            for group, images in _group_images(run.graded).items()
            if (reason := _explain_missing(suite, images))
        ),
        (
            "Groups of which some image has no score that counts, and why. Images that the run has not come to yet, or "
            "whose level 1 is not part of it, are not among them.",
        ),
    )


def _group_images(images: Iterable[GradedImage]) -> dict[str, list[GradedImage]]:
    groups: dict[str, list[GradedImage]] = {}
    for image in images:
        groups.setdefault(image.group, []).append(image)
    return groups


def _explain_missing(suite: Benchmark, images: Sequence[GradedImage]) -> str:
    """Return the reasons with their levels, such as `L1: refused; L2, L3: gate unknown`."""
    waits = any(image.level == 1 and image.reason in _PENDING for image in images)
    reasons: dict[str, list[str]] = {}
    for image in images:
        if image.reason and image.reason not in _PENDING and not (waits and image.reason == GATE_UNKNOWN):
            levels = reasons.setdefault(image.reason, [])
            if level_name(suite, image.level) not in levels:
                levels.append(level_name(suite, image.level))
    return "; ".join(f"{', '.join(levels)}: {reason}" for reason, levels in reasons.items())


# --- columns that several tables have


def _list_levels(runs: Iterable[SeenRun]) -> list[int]:
    return sorted({image.level for run in runs for image in run.graded})


def _level_columns(suite: Benchmark, levels: Iterable[int]) -> tuple[Column, ...]:
    return tuple(Column(level_name(suite, level), "score") for level in levels)


def _level_cells(summary: ScoreSummary, levels: Iterable[int]) -> tuple[Cell, ...]:
    return tuple(Number.of(summary.levels.get(level)) for level in levels)


def _ratio_cells(suite: Benchmark, summary: ScoreSummary) -> tuple[Cell, ...]:
    """Return the cells for PRR and RRR, with the image counts of the two levels of each."""
    ratios = {"PRR": summary.prr, "RRR": summary.rrr}
    return tuple(
        Number(
            ratios[name].value,
            ratios[name].interval,
            scored=sum(summary.levels[level].scored for level in levels if level in summary.levels),
            expected=sum(summary.levels[level].expected for level in levels if level in summary.levels),
            bounds=ratio_bounds(*(summary.levels[level].bounds for level in levels if level in summary.levels)),
        )
        for name, levels in suite.bands.items()
    )


def _interval_note(policy: HowCounted) -> str:
    return f"With the {100 * policy.confidence:g} % interval, over groups"


def _rules_note(suite: Benchmark, policy: HowCounted) -> str:
    return f"{'. '.join(scoring_rules(suite, policy))}."
