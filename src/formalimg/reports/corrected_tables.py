"""Tables of rates corrected by human labels, beside the rates by the judge alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from formalimg.reports.comparison_model import BY_PEOPLE, HowCounted, Section, run_cell, run_column
from formalimg.reports.corrected import CorrectedNumber, CorrectedRun
from formalimg.reports.main_table import generalizability_number
from formalimg.reports.tables.format import count_noun, epsilon_text, join_names
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.stats.observations import Interval
from formalimg.types import Benchmark, Table

ASSUMPTION = "assumes the labelled images are a random sample within each level and judge answer"
"""What holds for images drawn by `formalimg annotate`, and has to be assumed of others."""


_NAMES = ("corrected", "corrected G", "corrected fractions")


def by_people_table(section: Section, how: HowCounted) -> Table:
    """Return one row for each run that people labelled: its number by people and by the judge, G and rank."""
    about, runs = section.suite, section.corrected
    is_ranked = section.ranks and section.is_ranked_by_people
    ranks = dict(zip((row.name for row in section.rows), section.ranks, strict=True)) if is_ranked else {}
    has_held = any(run.held is not None for run in runs)
    rows = []
    for run in runs:
        number = run.main_number
        rank = ranks.get(run.name)
        held = (generalizability_number(run.held.corrected) if run.held else Number(None),) if has_held else ()
        place = (Number(rank.best, Interval(*rank)) if rank else Number(None),) if ranks else ()
        rows.append(TableRow((run.name, number.number, Number(number.raw.value), *held, *place, run.labels), run.name))
    epsilon = next((run.held.raw.epsilon for run in runs if run.held), None)
    columns = (
        Column("run"),
        Column("by people", about.scale, starts=True),
        Column("judge alone", about.scale),
        *((Column("G by people", "level", subscript=epsilon_text(epsilon)),) if epsilon is not None else ()),
        *((Column("rank", "rank"),) if ranks else ()),
        Column("labels", "count", starts=True),
    )
    what = "Mean score before any gate" if about.has_scores else "Pass rate in percent"
    numbers = join_names(list(dict.fromkeys(run.main_number.name for run in runs)))
    rules = rule_text(runs)
    caption = (
        f"{what} ({numbers}), over images with a verdict, corrected by the labels of people for some of them"
        f"{f' ({rules})' if rules else ''}{_assumption(runs)}. Intervals: {100 * how.confidence:g} %, errors of the "
        "judge included."
    )
    return Table(BY_PEOPLE, "By people", columns, tuple(rows), (caption,), "result")


def rule_text(runs: Sequence[CorrectedRun]) -> str:
    """Return how raters' answers become labels, and how many raters an image has."""
    rules = " / ".join(dict.fromkeys(run.rule for run in runs if run.rule))
    fewest, most = min(run.raters[0] for run in runs), max(run.raters[1] for run in runs)
    raters = f"{fewest} to {most} raters an image" if fewest < most else f"{count_noun(most, 'rater')} an image"
    return ", ".join(filter(None, [rules, raters if most else ""]))


def corrected_tables(about: Benchmark, runs: Sequence[CorrectedRun], how: HowCounted) -> tuple[Table, ...]:
    """Return raw and corrected rates side by side, then G, then fractions of concepts; tables may have no rows."""
    if not runs:
        return ()
    scores = about.has_scores
    rates = _table(
        _NAMES[0],
        "Corrected by human labels",
        about,
        [(run, number) for run in runs for number in _numbers(run)],
        runs,
        _caption(about, runs, how, "mean score before any gate, from 0 to 1" if scores else "pass rate in percent"),
    )
    fractions = _table(
        _NAMES[2],
        "Concept fractions corrected by human labels",
        about,
        [(run, number) for run in runs for number in run.fractions],
        runs,
        "Mean fraction of the concepts of a prompt that are shown, in percent: raw by the judge, and corrected by the "
        f"answers of most raters to each question. Intervals: {100 * how.confidence:g} %.",
    )
    return rates, _held_table(about, runs, how), fractions


def _numbers(run: CorrectedRun) -> Iterable[CorrectedNumber]:
    """Return the numbers of a run; a level that is all images is not said twice."""
    return (*(run.levels.values() if len(run.levels) > 1 else ()), *run.others)


def is_corrected(table: Table) -> bool:
    """Return whether a table is one of these."""
    return table.name in (*_NAMES, BY_PEOPLE)


def _table(
    name: str,
    title: str,
    about: Benchmark,
    numbers: Sequence[tuple[CorrectedRun, CorrectedNumber]],
    runs: Sequence[CorrectedRun],
    caption: str,
) -> Table:
    rows = [
        TableRow((*run_cell(run.name, runs), number.name, number.raw, number.number, *_labels(number)), run.name)
        for run, number in numbers
    ]
    columns = (
        *run_column(runs),
        Column("levels"),
        Column("raw", about.scale, starts=True),
        Column("corrected", about.scale),
        Column("labels", "count", starts=True),
        Column("effective labels", "decimal"),
    )
    notes = (caption, *_notes(runs)) if name == _NAMES[0] else (caption,)
    return Table(name, title, columns, tuple(rows), notes, "detail")


def _labels(number: CorrectedNumber) -> tuple[Number, Number]:
    found = number.corrected
    return (Number(0), Number(None)) if found is None else (Number(found.labels), Number(found.effective_labels))


def _held_table(about: Benchmark, runs: Sequence[CorrectedRun], how: HowCounted) -> Table:
    """Return G by the judge alone, and by the corrected rates."""
    known = [(run, run.held) for run in runs if run.held is not None]
    subscript = epsilon_text(known[0][1].raw.epsilon) if known else ""
    rows = [TableRow((run.name, *map(generalizability_number, held)), run.name) for run, held in known]
    return Table(
        _NAMES[1],
        "G corrected by human labels",
        (
            Column("run"),
            Column("raw G", "level", subscript=subscript, starts=True),
            Column("corrected G", "level", subscript=subscript),
        ),
        tuple(rows),
        (
            f"The largest {about.level} up to which the rate holds: by the judge alone, and by the corrected rates. "
            f"Intervals: {100 * how.confidence:g} %.",
        ),
        "detail",
    )


def _caption(about: Benchmark, runs: Sequence[CorrectedRun], how: HowCounted, what: str) -> str:
    sources = join_names(list(dict.fromkeys(run.source for run in runs)))
    rules = f"; {rule_text(runs)}" if rule_text(runs) else ""
    return (
        f"{about.title}: {what}, over images with a verdict. raw: by the judge alone. corrected: by the labels of "
        f"people for some of the same images ({sources}{rules}){_assumption(runs)}. effective labels: how many labels "
        f"alone would be as precise. Intervals: {100 * how.confidence:g} %; those of corrected numbers cover errors of "
        "the judge, those of raw numbers do not."
    )


def _assumption(runs: Sequence[CorrectedRun]) -> str:
    return f"; this {ASSUMPTION}" if any(run.assumed for run in runs) else ""


def _notes(runs: Sequence[CorrectedRun]) -> Iterator[str]:
    for run in runs:
        yield from (f"{run.name}: {note}" if len(runs) > 1 else note for note in run.notes)
