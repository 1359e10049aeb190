"""Data model of reports: runs side by side (`Comparison`), and the images behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from formalimg.reports.judge_quality import JudgeQuality
from formalimg.reports.tables.model import Column, TableRow, number_in
from formalimg.runs.database import RunCost
from formalimg.runs.defaults.settings import is_built_in
from formalimg.runs.manifest import Identity, RunManifest, judge_names
from formalimg.stats.observations import Interval, MissingPolicy, Profile, Summary
from formalimg.stats.summary import MissingBounds, PointEstimates
from formalimg.types import Benchmark, Part, RunRecord, Table

if TYPE_CHECKING:
    from formalimg.reports.corrected import CorrectedRun
    from formalimg.reports.paired_runs import RunPair
    from formalimg.runs.looks import AdaptiveLooks
    from formalimg.stats.comparison import RankRange


BY_PEOPLE = "by people"  # The name of the table with one row for each run that people labelled
FLOOR, CEILING = "builtin/scatter", "builtin/oracle"  # Models that mark the level of chance and what is possible


class Tally(NamedTuple):
    """How often a check was made on images that were judged and scored, and how often it failed."""

    failed: int
    asked: int

    @property
    def share(self) -> float:
        """The share of checks that failed."""
        return self.failed / self.asked if self.asked else 0.0


def total_share(tallies: Sequence[Mapping[str, Tally]], name: str) -> float:
    """Return the share of failed checks under `name`, pooled over all runs."""
    named = [by_name[name] for by_name in tallies if name in by_name]
    return Tally(sum(tally.failed for tally in named), sum(tally.asked for tally in named)).share


class Detail(NamedTuple):
    """The most common detail of an unscored reason, and how often it occurred."""

    text: str
    times: int


@dataclass(frozen=True)
class RunRow:
    """One run of a comparison."""

    name: str  # its name here: its model, and what tells it from other runs of the same model
    folder: Path  # its folder
    manifest: RunManifest  # its manifest
    items: int  # the number of its items
    images_of_each: tuple[int, int]  # the smallest and the largest number of images per item
    summary: Summary  # its numbers
    unscored: Mapping[str, int]  # the number of unscored images, by reason
    details: Mapping[str, Detail]  # the most common detail for each reason that has details
    # the number of images that failed by a rule before anyone looked for objects in them, by rule
    by_rule: Mapping[str, int]
    # parts of verdicts by kind: clauses by what they are about, concepts by category. Verdicts by rule have none
    kinds: Mapping[str, Tally]
    # the same by word: clauses by predicate, each counting for those that it claims and not for the conditions it
    # hangs on; concepts by category and value
    predicates: Mapping[str, Tally]
    spent: RunCost  # its cost
    # the images (item and sample) that count as 0 because the gate of their group is closed
    gated: frozenset[tuple[str, int]] = frozenset()
    # what the observations of its judge tell about the judge: dropped boxes, disagreements, P(yes)
    quality: JudgeQuality = field(default_factory=JudgeQuality)
    # its numbers if all images without a verdict failed, and if all passed; None if all have one
    bounds: MissingBounds | None = None
    looks: AdaptiveLooks | None = None  # the looks of an adaptive run; None for others

    def bounds_of(self, value_of: Callable[[PointEstimates], float | None]) -> Interval | None:
        """Return the worst and the best value of a number; None if no verdict is missing."""
        if self.bounds is None:
            return None
        worst, best = (value_of(estimates) for estimates in self.bounds)
        return None if worst is None or best is None else Interval(worst, best)


def select_rated_rows(rows: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Return the rows that a comparison rates, leaving out its baselines.

    Built-in models are baselines of other models; among themselves, only ceiling and floor are, if there are others.
    """
    models = (row for row in rows if not is_built_in(row.manifest.model.name))
    between = (row for row in rows if row.manifest.model.name not in (CEILING, FLOOR))
    return tuple(models) or tuple(between) or tuple(rows)


_TONES = 6


def run_tones(rows: Sequence[RunRow], subject: int | None = None) -> tuple[str, ...]:
    """Return the CSS colour class of each run, with the accent for the first one."""
    tones: list[str] = []
    rated = select_rated_rows(rows) if subject is None else (rows[subject],)
    for row in rows:
        number = sum(tone != "bound" for tone in tones) % _TONES
        tones.append(f"tone-{number}" if row in rated else "bound")
    return tuple(tones)


def name_with_task(model: str, task: str, condition: str) -> str:
    """Return the name of a model with its task and condition, omitting the default task."""
    return ", ".join(filter(None, [model, f"{task} task" if task != "image" else "", condition]))


def identity_text(identity: Identity | None) -> str:
    """Return a model or judge with its settings, such as `icons (judging_rules=1)`, or `none`."""
    if identity is None:
        return "none"
    settings = settings_text(identity.settings)
    return f"{identity.name} ({settings})" if settings else identity.name


def settings_text(settings: Mapping[str, object]) -> str:
    """Return settings as text, such as `guidance=3.5, steps=20`."""
    return ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))


def run_names(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return a unique name for each run: its model, and the settings needed to distinguish it from other runs."""
    manifests = [run.manifest for run in runs]
    names = [name_with_task(manifest.model.name, manifest.task, manifest.condition) for manifest in manifests]
    for aspect in _ASPECTS:
        for name in sorted(set(names)):
            alike = [number for number, run_name in enumerate(names) if run_name == name]
            if len(alike) > 1:
                texts = aspect([runs[number] for number in alike])
                if len(set(texts)) > 1:
                    for number, text in zip(alike, texts, strict=True):
                        names[number] = ", ".join(filter(None, [name, text]))
    repeated = {name for name in names if names.count(name) > 1}
    return tuple(
        f"{name} ({names[: number + 1].count(name)})" if name in repeated else name for number, name in enumerate(names)
    )


def _differing_settings(runs: Sequence[RunRecord]) -> list[str]:
    run_settings = [run.manifest.model.settings for run in runs]
    keys = sorted({key for settings in run_settings for key in settings})
    differing = [key for key in keys if len({repr(settings.get(key)) for settings in run_settings}) > 1]
    return [" ".join(f"{key}={settings[key]}" for key in differing if key in settings) for settings in run_settings]


def _differing_judges(runs: Sequence[RunRecord]) -> list[str]:
    """Return the judge of each run as text, with the settings that differ between judges of the same name."""
    names = iter(judge_names([run.manifest.judge for run in runs if run.manifest.judge]))
    return [f"by {next(names)}" if run.manifest.judge else "not judged" for run in runs]


def _layouts_text(manifest: RunManifest) -> str:
    return f"layouts by {manifest.layouts.partition(' sha256')[0]}" if manifest.layouts else ""


_ASPECTS: tuple[Callable[[Sequence[RunRecord]], list[str]], ...] = (
    _differing_settings,
    lambda runs: [_layouts_text(run.manifest) for run in runs],
    lambda runs: [f"{run.manifest.style if run.manifest.style != 'none' else 'no'} style text" for run in runs],
    _differing_judges,
    lambda runs: [f"{run.manifest.size} px" for run in runs],
    lambda runs: [f"seed {run.manifest.seed}" for run in runs],
    lambda runs: [run.folder.name for run in runs],
)


@dataclass(frozen=True)
class PublishedRow:
    """Published numbers to compare runs with, which have no intervals."""

    model: str  # the model
    source: str  # where the numbers were published
    rates: Mapping[int, float]  # the rate, 0 to 1, for each level
    # the means of the rates as they were printed, or computed from the rates; None where neither is to be had
    bands: Mapping[str, float | None]
    generalizability: int | None  # the largest level up to which the rates hold, printed or computed; None as for bands
    judge: str = ""  # who graded the images, where that is not the same for all rows of a suite
    task: str = "image"  # what the model was asked for, and how, as in the manifest of a run
    condition: str = ""
    computed: tuple[str, ...] = ()  # which of its numbers were computed from the rates here
    digits: int | None = None  # the decimals that its printed percents have, where it is not one

    @property
    def name(self) -> str:
        """The model with its task and condition, and the judge where it matters."""
        by = f"by {self.judge}" if self.judge else ""
        return ", ".join(filter(None, [name_with_task(self.model, self.task, self.condition), by]))


@dataclass(frozen=True)
class Section:
    """All runs of one suite."""

    suite: Benchmark  # the suite
    epsilon: float | None  # the rate to hold for the generalizability; None where the suite has none
    rows: tuple[RunRow, ...]  # one for each run
    published: tuple[PublishedRow, ...]  # published numbers to compare with
    notes: tuple[str, ...]  # what a reader must know before comparing the rows
    tables: tuple[Table, ...] = ()  # the tables below the main one
    corrected: tuple[CorrectedRun, ...] = ()  # the numbers of the runs that have human labels, corrected by them
    # the ranks that each run may have, in the order of rows; none where runs cannot be ranked. Rows of several judges
    # are ranked judge by judge; None for the only row of its judge
    ranks: tuple[RankRange | None, ...] = ()
    ranked_by: str = ""  # the number that runs are ranked by
    pairs: tuple[RunPair, ...] = ()  # the paired differences of that number, as they are shown

    @property
    def title(self) -> str:
        """The title of the suite and the source of its items: `FormalImg Knolling, formalimg items v3`."""
        labels = {row.manifest.items_label for row in self.rows}
        return ", ".join(filter(None, [self.suite.title, *labels])) if len(labels) == 1 else self.suite.title

    @property
    def rated(self) -> tuple[RunRow, ...]:
        """The rows that are not baselines of other rows."""
        return select_rated_rows(self.rows)

    @property
    def is_ranked_by_people(self) -> bool:
        """Whether human labels decide every difference that is shown."""
        return bool(self.pairs) and all(pair.is_by_people for pair in self.pairs)

    @property
    def shown_tables(self) -> tuple[Table, ...]:
        """The tables that are shown to readers, without those that are only written to data files."""
        return tuple(table for table in self.tables if table.placement != "data")

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of all rows in order, including levels that an adaptive run did not reach."""
        levels = {
            level for row in self.rows for level in (*row.summary.levels, *(row.looks.levels if row.looks else ()))
        }
        levels.update(level for row in self.published for level in row.rates)
        return tuple(sorted(levels))


@dataclass(frozen=True)
class Comparison:
    """Runs side by side, suite by suite."""

    sections: tuple[Section, ...]  # one for each suite
    missing: MissingPolicy  # the rule for images without a verdict
    confidence: float  # the confidence level of the intervals
    threshold: float = 0.5  # the score that opens the gate of a group, for suites that have one
    profile: Profile = "paper"  # whose rules apply where a paper and its published code differ

    @property
    def how(self) -> HowCounted:
        """The rules for computing the numbers of the runs."""
        return HowCounted(self.missing, self.confidence, self.profile, False, self.threshold)


class SeenImage(NamedTuple):
    """An image of a run with its verdict."""

    item: str  # the item's id
    level: int  # the item's level
    passed: bool | None  # the verdict; None if unscored
    parts: tuple[Part, ...]  # the parts of the verdict; none if unscored
    looked_at: bool  # whether a judge looked at the image
    cost: float | None  # the cost of judging it, in US dollars; None if the price is unknown
    sample: int  # which of the item's images, from 0
    score: float | None  # the judge's score; None if unscored
    reason: str  # why it is unscored; empty if scored
    by_rule: bool  # whether it failed by a rule, before a judge looked at it


class GradedImage(NamedTuple):
    """An image of a suite whose images have scores."""

    item: str  # the item's id
    group: str  # the group that the item belongs to
    level: int  # the item's level
    sample: int  # which of the item's images, from 0
    score: float | None  # the judge's score; None if unscored
    counting: float | None  # the score after the gate; None if unscored, or if it is unknown whether the gate is open
    is_gated: bool  # whether it counts as 0 because the gate of its group is closed
    parts: tuple[Part, ...]  # the questions with their scores; none if unscored
    asked: frozenset[str]  # the dimensions that the item has questions about
    tags: tuple[str, ...]  # the tags of the item
    reason: str  # why it does not count; empty if it does


class SeenRun(NamedTuple):
    """A run as tables need it: name, record, numbers and images, with `graded` for suites that score images."""

    name: str
    record: RunRecord
    summary: Summary
    images: tuple[SeenImage, ...]
    graded: tuple[GradedImage, ...] = ()


class HowCounted(NamedTuple):
    """The rules for computing numbers."""

    missing: MissingPolicy  # the rule for images without a verdict
    confidence: float  # the confidence level of the intervals
    profile: Profile  # whose rules apply where a paper and its published code differ
    references: bool  # whether published numbers stand beside the runs
    threshold: float  # the score that opens the gate of a group, for suites that have one


def run_column(runs: Sized) -> tuple[Column, ...]:
    """Return the column with the name of the run, or nothing if there is only one run."""
    return (Column("run"),) if len(runs) > 1 else ()


def run_cell(name: str, runs: Sized) -> tuple[str, ...]:
    """Return the cell with the name of the run, or nothing if there is only one run."""
    return (name,) if len(runs) > 1 else ()


def table_of_rates(name: str, title: str, columns: tuple[Column, ...], rows: Sequence[TableRow], note: str) -> Table:
    """Return a table, with no rows if all of its rates and means are unknown."""
    table = Table(name, title, columns, tuple(rows), (note,))
    rates = [n for n, column in enumerate(columns) if column.type in ("percent", "score")]
    numbers = (number_in(table, row, n) for row in rows for n in rates)
    is_known = any(number is not None and number.value is not None for number in numbers)
    return table if is_known else replace(table, rows=())


def with_sentence(table: Table, sentence: str) -> Table:
    """Return a table with a sentence appended to its caption, provided that it has rates or scores."""
    if not sentence or not any(column.type in ("percent", "score", "points", "share") for column in table.columns):
        return table
    caption, *remarks = table.notes or ("",)
    return replace(table, notes=(f"{caption} {sentence}.".strip(), *remarks))
