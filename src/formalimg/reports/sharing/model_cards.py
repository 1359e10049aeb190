"""The model-card section of a run: its numbers with intervals, figures, what fails, and how to reproduce it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import RunRow, Section, Tally
from formalimg.reports.figures.figure_files import FigureFormat, write_figures
from formalimg.reports.figures.runs import comparison_figures
from formalimg.reports.figures.svg import Figure
from formalimg.reports.plain_captions import is_whole, plain_caption, plain_main_table
from formalimg.reports.results.failures import Failure
from formalimg.reports.results.result import Evaluation
from formalimg.reports.sharing.reproduction_commands import reproduction
from formalimg.reports.tables.format import count_noun, format_interval, format_value, join_names
from formalimg.reports.tables.markdown import markdown_code, markdown_escape, render_markdown
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Interval

_MAX_FIGURES = 2
_MAX_FAILURES = 3
_MAX_WEAK = 3
_MIN_ASKED = 5
"""Of fewer clauses, a share says nothing."""


class ModelCard(NamedTuple):
    """A section of a model card."""

    text: str  # the section, in Markdown; it refers to its figures by file name
    figures: tuple[Path, ...]  # the files of its figures


def model_card(
    folder: str | Path,
    *,
    judge: Identity | None = None,
    figures: Path | None = None,
    beside: Path | None = None,
    formats: Sequence[FigureFormat] = ("png",),
    heading: int = 2,
) -> ModelCard:
    """Return the model-card section of a run."""
    with closing(open_run(folder, judge)) as run:
        comparison = compare([run])
        again = reproduction(run)
    section = comparison.sections[0]
    row = section.rows[0]
    drawn = comparison_figures(comparison)[:_MAX_FIGURES] if figures is not None else []
    written = write_figures(drawn, figures, formats) if figures is not None and drawn else ()
    shown = [path for path in written if path.suffix == f".{formats[0]}"]
    marks = "#" * (heading + 1)
    parts = [
        f"{'#' * heading} {markdown_escape(section.title)}\n",
        f"{headline(row, section)}\n",
        _without_heading(render_markdown(plain_main_table(section, comparison))),
        *(_figure(path, figure, beside, is_whole(section)) for path, figure in zip(shown, drawn, strict=True)),
        *_failures(folder, judge, row, section, marks),
        f"{marks} How to reproduce\n",
        *_reproduction(again.commands, again.notes, row),
    ]
    return ModelCard("\n".join(parts).rstrip() + "\n", written)


def headline(row: RunRow, section: Section) -> str:
    """Return the result in a sentence or two: the overall rate with its interval, coverage, and G."""
    overall, manifest = row.summary.overall, row.manifest
    judge = manifest.judge.name if manifest.judge else None
    name = f"**{markdown_escape(manifest.model.name)}**"
    if overall.value is None:
        return f"{name}: no image is scored{'' if judge else ', because none is judged'}."
    has_scores = section.suite.has_scores
    found, interval = _overall(row)
    scale = section.suite.scale
    unit = "" if has_scores else " %"
    value = f"{format_value(found, scale)}{unit}"
    ends = format_interval(interval, scale, compact=True)
    within = f" ({100 * row.summary.confidence:g} % interval {ends}{unit})" if ends else ""
    did = "has a mean score of" if has_scores else "passes"
    of = "over" if has_scores else "of"
    sentences = [f"{name} {did} **{value}** {of} {count_noun(overall.scored, 'image')}{within}"]
    if overall.scored < overall.expected:
        sentences.append(f"Not scored: {overall.expected - overall.scored:,} of {overall.expected:,} images")
    held = row.summary.generalizability
    if held is not None and held.value is not None:
        rate, within = f"a rate of {100 * held.epsilon:g} %", f"(interval {held.low} to {held.high})"
        level = section.suite.level
        sentences.append(
            f"It holds {rate} up to {level} {held.value} {within}"
            if held.value
            else f"It does not hold {rate} even at the first {level} {within}"
        )
    return f"{'. '.join(sentences)}. Judged by {markdown_escape(judge or 'nobody')}."


def _overall(row: RunRow) -> tuple[float, Interval | None]:
    """Return the number that stands for the run, as the main table has it: the mean of all levels, or of all images."""
    overall = row.summary.overall
    every = {level for band in row.summary.bands.values() for level in band.levels}
    for band in row.summary.bands.values():
        if set(band.levels) == every and band.value is not None:
            return band.value, band.interval
    assert overall.value is not None, "an image is scored"
    return overall.value, overall.interval


def _without_heading(table: str) -> str:
    return table.split("\n", 2)[2]


def _figure(path: Path, figure: Figure, beside: Path | None, whole: bool) -> str:
    link = quote(Path(os.path.relpath(path, beside) if beside else path).as_posix())
    note = plain_caption(figure.note, is_whole=whole)
    return f"![{markdown_escape(figure.title)}]({link})\n\n*{markdown_escape(figure.title)}.* {markdown_escape(note)}\n"


def _failures(folder: str | Path, judge: Identity | None, row: RunRow, section: Section, marks: str) -> Iterator[str]:
    """Yield which kinds of clauses fail most, and some images that failed, in words."""
    evaluation = Evaluation(Path(folder), judge=judge)
    with closing(evaluation.run):
        found = evaluation.failures(limit=_MAX_FAILURES)
    if not found or section.suite.has_scores:
        return
    yield f"{marks} What fails\n"
    weak = sorted(_weak(row.predicates), key=lambda one: -one[1].share)[:_MAX_WEAK]
    if weak:
        shares = [f"{markdown_escape(name)} ({tally.failed:,} of {tally.asked:,})" for name, tally in weak]
        yield f"Most often: {join_names(shares)}.\n"
    yield "".join(f"- {_failure(failure)}\n" for failure in found)


def _weak(tallies: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    return [(name, tally) for name, tally in tallies.items() if tally.asked >= _MIN_ASKED and tally.failed]


def _failure(failure: Failure) -> str:
    prompt = " ".join(failure.prompt.split())
    missing = "; ".join(text.rstrip(".") for text in failure.what_failed[:_MAX_WEAK])
    return f"item {markdown_escape(failure.item)}, “{markdown_escape(prompt)}”: {markdown_escape(missing)}"


def _reproduction(commands: Sequence[str], notes: Sequence[str], row: RunRow) -> Iterator[str]:
    if commands:
        yield markdown_code(commands, "sh")
    digest = f"The items have the digest {row.manifest.items_digest}."
    yield "".join(f"- {markdown_escape(note)}\n" for note in (*notes, digest))
