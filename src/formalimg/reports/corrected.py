"""Correct the rates of a run with human labels for some of its images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import NamedTuple, TypeAlias

from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.agreement.rated_images import ImageName
from formalimg.reports.comparison_model import (
    BY_PEOPLE,
    GradedImage,
    HowCounted,
    Section,
    SeenImage,
    SeenRun,
    run_cell,
    run_column,
)
from formalimg.reports.main_table import generalizability_number
from formalimg.reports.tables.format import count_noun, epsilon_text, join_names, level_name
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.corrected import CorrectedRate
from formalimg.stats.corrected_summary import CellScore, LabelledObservation, estimate_cell_mean, summarize_corrected
from formalimg.stats.intervals import fraction_interval
from formalimg.stats.observations import Generalizability, Interval, Observation
from formalimg.stats.summary import summarize
from formalimg.types import Benchmark, Table

_ALL_IMAGES = "all images"


class CorrectedNumber(NamedTuple):
    """A rate or mean by the judge alone and corrected by human labels, or None where labels are missing."""

    name: str
    raw: Number
    corrected: CorrectedRate | None

    @property
    def number(self) -> Number:
        """The corrected rate as a table number, over the same images as the judge's rate."""
        rate, raw = self.corrected, self.raw
        if rate is None:
            return Number(None)
        interval = Interval(rate.low, rate.high)
        return Number(rate.estimate, interval, scored=raw.scored, expected=raw.expected, coverage=raw.coverage)


@dataclass(frozen=True)
class CorrectedRun:
    """The numbers of a run, raw and corrected."""

    name: str  # the name of the run in the report
    folder: Path  # its resolved folder
    labels: RunLabels
    levels: Mapping[int, CorrectedNumber]  # the rate, or the mean score, of each level
    others: tuple[CorrectedNumber, ...]  # bands, then all images
    # the mean fraction of what was asked for that is shown, by level and of all images; none where people did not say
    # it
    fractions: tuple[CorrectedNumber, ...]
    # G by the judge alone and by the corrected rates; None for suites without one, or where it is unknown
    held: tuple[Generalizability, Generalizability] | None
    label_count: int  # how many labels were used
    notes: tuple[str, ...]  # what was left out, and why

    @property
    def main_number(self) -> CorrectedNumber:
        """The headline number of the run: its last known band, or all images."""
        *bands, overall = self.others
        return next((band for band in reversed(bands) if band.corrected is not None), overall)

    def number(self, name: str) -> Number | None:
        """Return the corrected number of a band or of all images, or None where labels are missing."""
        numbers = (entry.number for entry in self.others if entry.name.lower() == name and entry.corrected is not None)
        return next(numbers, None)


def why_not_corrected(run: SeenRun, labels: RunLabels, suite: Benchmark) -> str:
    """Return why the labels cannot correct the numbers of a run, or an empty string if they can."""
    if labels.refused:
        return labels.refused
    if suite.has_scores and not labels.scores:
        return (
            f"{labels.source} has yes and no, and {suite.title} has mean scores: rate with `annotate --protocol scores`"
        )
    judge = run.record.manifest.judge
    if judge is None:
        return "the images have not been judged yet"
    design = labels.drawn_by
    verdicts = {ImageName(image.item, image.sample): image.passed for image in run.images}
    if design is not None and (
        judge.name != design.judge or any(verdicts.get(image) != answer for image, answer in design.answers.items())
    ):
        return (
            f"the images of {labels.source} were drawn by the answers of {design.judge} at that time, which are "
            "not those of this report: draw a new study with `formalimg annotate --for-correction`"
        )
    if all(verdicts.get(image) is None for image in (*labels.passed, *labels.scores)):
        return f"no image with a label in {labels.source} has a verdict: judge the run, or label others"
    return ""


def correct_run(
    run: SeenRun, labels: RunLabels, suite: Benchmark, epsilon: float | None, rules: HowCounted
) -> CorrectedRun:
    """Return the numbers of a run over its judged images, by the judge alone and corrected by human labels."""
    design, scored = labels.drawn_by, sum(image.passed is not None for image in run.images)
    notes = labels.notes
    if design is not None and design.images != scored:
        late = f"{scored:,} images have a verdict, {design.images:,} had one when images were drawn for labels."
        notes = (*notes, late)
    folder = run.record.folder.resolve()
    if suite.has_scores:  # scores before any gate
        passed = {(image.item, image.sample): image.passed for image in run.images}
        images = [
            (image.level, bool(passed[image.item, image.sample]), _cell_score(image, labels))
            for image in run.graded
            if image.score is not None
        ]
        used = sum(score.human is not None for *_, score in images)
        levels, total = _correct_means(images, suite, rules.confidence)
        return CorrectedRun(run.name, folder, labels, levels, (total,), (), None, used, notes)
    observations = [
        LabelledObservation(
            image.item, image.level, image.passed, labels.passed.get(ImageName(image.item, image.sample))
        )
        for image in run.images
    ]
    corrected = summarize_corrected(observations, bands=suite.bands, epsilon=epsilon, confidence=rules.confidence)
    raw = run.summary
    if rules.missing == "fail":  # the main table counts images without a verdict, which nobody can correct
        plain = [Observation(image.item, image.level, image.passed) for image in run.images]
        raw = summarize(plain, bands=suite.bands, epsilon=epsilon, confidence=rules.confidence)
    levels = {
        level: CorrectedNumber(level_name(suite, level), Number.of(rate), corrected.levels.get(level))
        for level, rate in raw.levels.items()
    }
    means = (
        *(CorrectedNumber(name, Number.of(band), corrected.bands.get(name)) for name, band in raw.bands.items()),
        CorrectedNumber(_ALL_IMAGES, Number.of(raw.overall), corrected.overall),
    )
    fractions: tuple[CorrectedNumber, ...] = ()
    if labels.scores:
        images = [
            (image.level, image.passed, _cell_score(image, labels))
            for image in run.images
            if image.score is not None and image.passed is not None
        ]
        by_level, mean_fraction = _correct_means(images, suite, rules.confidence)
        fractions = (*by_level.values(), mean_fraction)
    general = None
    if raw.generalizability is not None and corrected.generalizability is not None:
        general = raw.generalizability, corrected.generalizability
    return CorrectedRun(run.name, folder, labels, levels, means, fractions, general, corrected.labels, notes)


_MeasuredImage: TypeAlias = tuple[int, bool, CellScore]  # The level, the verdict, and the scores of an image


def _cell_score(image: SeenImage | GradedImage, labels: RunLabels) -> CellScore:
    human = labels.scores.get(ImageName(image.item, image.sample))
    # Weighted means of ones may be above 1 by rounding.
    return CellScore(image.item, min(1.0, image.score or 0.0), None if human is None else min(1.0, human))


def _correct_means(
    images: Sequence[_MeasuredImage], suite: Benchmark, confidence: float
) -> tuple[dict[int, CorrectedNumber], CorrectedNumber]:
    by_level: dict[int, list[_MeasuredImage]] = {level: [] for level in sorted({level for level, *_ in images})}
    for image in images:
        by_level[image[0]].append(image)
    levels = {level: _correct_mean(level_name(suite, level), group, confidence) for level, group in by_level.items()}
    return levels, _correct_mean(_ALL_IMAGES, images, confidence)


def _correct_mean(name: str, images: Sequence[_MeasuredImage], confidence: float) -> CorrectedNumber:
    scores = [score.judge for *_, score in images]
    if not scores:
        return CorrectedNumber(name, Number(None), None)
    interval = fraction_interval(scores, confidence, items=[score.item for *_, score in images])
    raw = Number(fsum(scores) / len(scores), interval, scored=len(scores), expected=len(scores))
    # By level and by the judge's answer, within which labels were drawn at random.
    cells: dict[tuple[int, bool], list[CellScore]] = {}
    for level, passed, score in images:
        cells.setdefault((level, passed), []).append(score)
    return CorrectedNumber(name, raw, estimate_cell_mean([*cells.values()], confidence))


# --- tables

# What holds for images drawn by `formalimg annotate`, and has to be assumed of others
ASSUMPTION = "assumes the labelled images are a random sample within each level and judge answer"

_RATES, _HELD, _FRACTIONS = "corrected", "corrected G", "corrected fractions"


def is_corrected(table: Table) -> bool:
    """Return whether a table contains corrected numbers."""
    return table.name in (_RATES, _HELD, _FRACTIONS, BY_PEOPLE)


def by_people_table(section: Section, rules: HowCounted) -> Table:
    """Return the table of labelled runs: the number by people and by the judge, G and rank."""
    suite, runs = section.suite, section.corrected
    is_ranked = section.ranks and section.is_ranked_by_people
    ranks = dict(zip((row.name for row in section.rows), section.ranks, strict=True)) if is_ranked else {}
    epsilon = next((run.held[0].epsilon for run in runs if run.held), None)
    rows = []
    for run in runs:
        number, rank = run.main_number, ranks.get(run.name)
        cells: list[Cell] = [run.name, number.number, Number(number.raw.value)]
        if epsilon is not None:
            cells.append(generalizability_number(run.held[1]) if run.held else Number(None))
        if ranks:
            cells.append(Number(rank.best, Interval(*rank)) if rank else Number(None))
        rows.append(TableRow((*cells, run.label_count), run.name))
    columns = (
        Column("run"),
        Column("by people", suite.scale, starts=True),
        Column("judge alone", suite.scale),
        *((Column("G by people", "level", subscript=epsilon_text(epsilon)),) if epsilon is not None else ()),
        *((Column("rank", "rank"),) if ranks else ()),
        Column("labels", "count", starts=True),
    )
    measure = "Mean score before any gate" if suite.has_scores else "Pass rate in percent"
    numbers = join_names(list(dict.fromkeys(run.main_number.name for run in runs)))
    label_rule = _label_rule(runs)
    caption = (
        f"{measure} ({numbers}), over images with a verdict, corrected by the labels of people for some of them"
        f"{f' ({label_rule})' if label_rule else ''}{_assumption_text(runs)}. Intervals: {100 * rules.confidence:g} %, "
        "errors of the judge included."
    )
    return Table(BY_PEOPLE, "By people", columns, tuple(rows), (caption,), "result")


def build_corrected_tables(suite: Benchmark, runs: Sequence[CorrectedRun], rules: HowCounted) -> tuple[Table, ...]:
    """Return tables of raw and corrected rates, of G, and of concept fractions, some possibly without rows."""
    if not runs:
        return ()
    confidence = f"Intervals: {100 * rules.confidence:g} %"
    measure = "mean score before any gate, from 0 to 1" if suite.has_scores else "pass rate in percent"
    sources = join_names(list(dict.fromkeys(run.labels.source for run in runs)))
    label_rule = _label_rule(runs)
    caption = (
        f"{suite.title}: {measure}, over images with a verdict. raw: by the judge alone. corrected: by the labels of "
        f"people for some of the same images ({sources}{f'; {label_rule}' if label_rule else ''})"
        f"{_assumption_text(runs)}. effective labels: how many labels alone would be as precise. "
        f"{confidence}; those of corrected numbers cover errors of the judge, those of raw numbers do not."
    )
    notes = [f"{run.name}: {note}" if len(runs) > 1 else note for run in runs for note in run.notes]
    # A level that is all images is not said twice.
    rates = [
        (run, number) for run in runs for number in (*(run.levels.values() if len(run.levels) > 1 else ()), *run.others)
    ]
    fractions = [(run, number) for run in runs for number in run.fractions]
    fraction_caption = (
        "Mean fraction of the concepts of a prompt that are shown, in percent: raw by the judge, and corrected by the "
        f"answers of most raters to each question. {confidence}."
    )
    return (
        _rate_table(_RATES, "Corrected by human labels", suite, rates, runs, (caption, *notes)),
        _held_table(suite, runs, confidence),
        _rate_table(
            _FRACTIONS, "Concept fractions corrected by human labels", suite, fractions, runs, (fraction_caption,)
        ),
    )


def _rate_table(
    name: str,
    title: str,
    suite: Benchmark,
    numbers: Iterable[tuple[CorrectedRun, CorrectedNumber]],
    runs: Sequence[CorrectedRun],
    notes: tuple[str, ...],
) -> Table:
    rows = []
    for run, number in numbers:
        rate = number.corrected
        labels = (0, None) if rate is None else (rate.labels, rate.effective_labels)
        rows.append(TableRow((*run_cell(run.name, runs), number.name, number.raw, number.number, *labels), run.name))
    columns = (
        *run_column(runs),
        Column("levels"),
        Column("raw", suite.scale, starts=True),
        Column("corrected", suite.scale),
        Column("labels", "count", starts=True),
        Column("effective labels", "decimal"),
    )
    return Table(name, title, columns, tuple(rows), notes, "detail")


def _held_table(suite: Benchmark, runs: Sequence[CorrectedRun], confidence: str) -> Table:
    """Return a table of G by the judge alone and by the corrected rates."""
    with_general = [(run, run.held) for run in runs if run.held is not None]
    subscript = epsilon_text(with_general[0][1][0].epsilon) if with_general else ""
    rows = [TableRow((run.name, *map(generalizability_number, general)), run.name) for run, general in with_general]
    columns = (
        Column("run"),
        Column("raw G", "level", subscript=subscript, starts=True),
        Column("corrected G", "level", subscript=subscript),
    )
    note = (
        f"The largest {suite.level} up to which the rate holds: by the judge alone, and by the corrected rates. "
        f"{confidence}."
    )
    return Table(_HELD, "G corrected by human labels", columns, tuple(rows), (note,), "detail")


def _label_rule(runs: Sequence[CorrectedRun]) -> str:
    """Return the rule that turns raters' answers into labels, and the number of raters per image."""
    rules = " / ".join(dict.fromkeys(run.labels.rule for run in runs if run.labels.rule))
    fewest = min(run.labels.raters[0] for run in runs)
    largest = max(run.labels.raters[1] for run in runs)
    raters = (
        f"{fewest} to {largest} raters an image" if fewest < largest else f"{count_noun(largest, 'rater')} an image"
    )
    return ", ".join(filter(None, [rules, raters if largest else ""]))


def _assumption_text(runs: Sequence[CorrectedRun]) -> str:
    return f"; this {ASSUMPTION}" if any(run.labels.assumed for run in runs) else ""
