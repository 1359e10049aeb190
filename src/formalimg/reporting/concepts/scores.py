"""The two scores of ConceptMix by k: full marks (its Table 4) and concept fractions (its Table 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from formalimg.reporting.concepts.answers import MarkedImage, MarkedRun
from formalimg.reporting.reading import HowCounted, SeenRun
from formalimg.reporting.reference import ReferenceRow, reference_rows
from formalimg.reporting.tables import Cell, Figure, Table, TableRow
from formalimg.reporting.words import rule_text
from formalimg.stats import Interval, mean_interval
from formalimg.suites import Suite


def full_marks(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """How many images show all that was asked, as the paper prints it."""
    shares = {
        run.name: {level: Figure.of_rate(rate, "share") for level, rate in run.summary.levels.items()} for run in runs
    }
    return _by_level(
        suite,
        shares,
        reference_rows(suite.name) if how.references else (),
        "full mark",
        f"Full-mark score by {suite.level}: the share of images that show all concepts",
        f"± is the larger side of the exact {100 * how.confidence:g} % interval (Clopper and Pearson), as in the "
        f"paper. {rule_text(how.missing)}.",
    )


def concept_fractions(suite: Suite, runs: Sequence[MarkedRun], how: HowCounted) -> Table:
    """How much of what was asked images show."""
    fractions: dict[str, Mapping[int, Figure]] = {}
    for run in runs:
        levels = sorted({image.level for image in run.images})
        fractions[run.name] = {
            level: _fraction([image for image in run.images if image.level == level], how) for level in levels
        }
    mean = (
        "The mean over images of the share of their concepts that is shown"
        if how.profile == "paper"
        else "The share of all questions that were answered yes, as in the published code; the paper speaks of the "
        "mean over images"
    )
    return _by_level(
        suite,
        fractions,
        reference_rows(suite.name, "concept fraction") if how.references else (),
        "concept fraction",
        f"Concept fraction by {suite.level}: the share of concepts that is shown",
        f"{mean}. ± is 1.96 standard errors, and not there where all are alike. {rule_text(how.missing)}.",
    )


def _fraction(images: Sequence[MarkedImage], how: HowCounted) -> Figure:
    answered = [image for image in images if image.is_answered]
    shares: list[float] = []
    items: list[str] = []
    for image in images if how.missing == "fail" else answered:
        scores = [answer.score or 0.0 for answer in image.answers]
        new = scores if how.profile == "official-code" else [fmean(scores) if scores else 0.0]
        shares += new
        items += [image.item] * len(new)
    interval = mean_interval(shares, how.confidence, items=items)
    return Figure(
        fmean(shares) if shares else None,
        "share",
        # The normal interval reaches beyond 0 and 1, which no share does; the ± stays what it is.
        None if interval is None else Interval(max(0.0, interval.low), min(1.0, interval.high)),
        None if interval is None else (interval.high - interval.low) / 2,
        scored=len(answered),
        expected=len(images),
    )


def _by_level(
    suite: Suite,
    runs: Mapping[str, Mapping[int, Figure]],
    published: Sequence[ReferenceRow],
    name: str,
    title: str,
    note: str,
) -> Table:
    """A row for each run and a column for each level."""
    levels = sorted(
        {level for figures in runs.values() for level in figures} | {n for row in published for n in row.rates}
    )
    rows = [TableRow(run, (run, *_cells(figures, levels), _scored(figures.values()))) for run, figures in runs.items()]
    for row in published:
        printed = {level: Figure(rate, "share", plus_minus=row.margins.get(level)) for level, rate in row.rates.items()}
        rows.append(TableRow(row.name, (row.name, *_cells(printed, levels), "published"), row.model, row.judge))
    sources = "; ".join(dict.fromkeys(row.source for row in published))
    there = any(figure.value is not None for figures in runs.values() for figure in figures.values())
    return Table(
        name,
        title,
        f"{note} Published: {sources}." if sources else note,
        ("run", *(f"{suite.level} {level}" for level in levels), "scored"),
        tuple(rows) if there else (),
    )


def _cells(figures: Mapping[int, Figure], levels: Iterable[int]) -> tuple[Cell, ...]:
    return tuple(figures.get(level, Figure(None, "share")) for level in levels)


def _scored(figures: Iterable[Figure]) -> str:
    those = list(figures)
    return f"{sum(one.scored or 0 for one in those)}/{sum(one.expected or 0 for one in those)}"
