"""`formalimg report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.cli.printing import print_table
from formalimg.errors import FormalimgError
from formalimg.report import Format
from formalimg.stats import Missing
from formalimg.suites import Profile

if TYPE_CHECKING:
    from formalimg.report import Comparison, DrawingFormat
    from formalimg.runs import StoredRun

_PAPERS_GATE = 0.5


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.", show_default=False)],
    format: Annotated[  # noqa: A002  # what users call it
        Format | None,
        typer.Option(
            help="html: one page with figures and pictures. The others: tables. Default: by the ending of --out "
            "(html, md, tex, csv, json, txt); terminal without it.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file to write. Default: standard output; for html, report.html in the first run.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        Missing,
        typer.Option(help="Pictures without a verdict: leave them out, count them as failures, or accept none."),
    ] = "exclude",
    epsilon: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="The rate to hold for G. Default: the suite's, 0.7 for FormalImg.", show_default=False
        ),
    ] = None,
    reference: Annotated[bool, typer.Option("--reference", help="Put published figures beside the runs.")] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Show in the terminal what suites have to tell besides; other formats always do."
        ),
    ] = False,
    profile: Annotated[
        Profile,
        typer.Option(help="Whose rules hold where a paper and its published code sum up in different ways."),
    ] = "paper",
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="CF-World: a factual picture below this score closes the gate of its group. Default: 0.5.",
            show_default=False,
        ),
    ] = None,
    judges: Annotated[
        Literal["last", "all"],
        typer.Option(help="Whose verdicts: those of the judge that looked last, or a row for each judge of a run."),
    ] = "last",
    gallery: Annotated[int, typer.Option(min=0, help="How many pictures of each run an html page shows.")] = 24,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write figures for papers into this folder besides.", show_default=False),
    ] = None,
    figures_as: Annotated[
        str, typer.Option(metavar="FORMATS", help="How figures are written: any of svg, png, pdf, with commas.")
    ] = "svg,png",
) -> None:
    """Show runs side by side, with intervals, and with what could not be scored."""
    from formalimg.report import compare, format_of, render, terminal_table, write_html
    from formalimg.runs import write_atomically

    drawn_as = () if figures is None else _formats_of_figures(figures_as)
    form: Format = format or (format_of(out) if out else "terminal")
    with ExitStack() as opened:
        records = [
            opened.enter_context(closing(record)) for run in runs for record in _opened(_folder(run), judges == "all")
        ]
        for note in _without_effect({record.card.suite for record in records}, epsilon, threshold):
            typer.echo(note, err=True)
        gate = _PAPERS_GATE if threshold is None else threshold
        if form == "html":
            path = out or runs[0] / "report.html"
            write_html(
                records,
                path,
                missing=missing,
                epsilon=epsilon,
                references=reference,
                gallery=gallery,
                profile=profile,
                threshold=gate,
            )
            typer.echo(path)
            if figures is None:
                return
        comparison = compare(
            records, missing=missing, epsilon=epsilon, references=reference, profile=profile, threshold=gate
        )
    if figures is not None:
        _write_figures(comparison, figures, drawn_as)
    if form == "html":
        return
    if out is not None:
        write_atomically(out, [render(comparison, form, details=details).encode()])
        typer.echo(out)
    elif form == "terminal":
        print_table(terminal_table(comparison, details=details))
    else:
        typer.echo(render(comparison, form), nl=False)


def _formats_of_figures(listed: str) -> tuple[DrawingFormat, ...]:
    """The formats, known to be possible before any run is read."""
    from formalimg.report import drawing_formats

    return drawing_formats(listed)


def _write_figures(comparison: Comparison, folder: Path, formats: Sequence[DrawingFormat]) -> None:
    """Write the figures, and say so where no table is disturbed by it."""
    from formalimg.report import drawings_of, write_drawings

    drawings = drawings_of(comparison)
    if not drawings:
        raise FormalimgError("there is nothing to draw: no picture of these runs is scored yet")
    written = write_drawings(drawings, folder, formats)
    typer.echo(f"{len(drawings)} figures in {len(written)} files in {folder}", err=True)


def _without_effect(suites: set[str], epsilon: float | None, threshold: float | None) -> Iterator[str]:
    """Which of the options that were given change nothing, because of the suites."""
    from formalimg.suites import CF_WORLD, suite

    told = ", ".join(sorted(suites))
    if epsilon is not None and all(suite(name).kind == "counterfactual" for name in suites):
        yield f"--epsilon has no effect on {told}: there are mean scores, and no rates to be held"
    if threshold is not None and CF_WORLD not in suites:
        yield f"--threshold has no effect on {told}: only {CF_WORLD} has a gate"


def _opened(folder: Path, by_every_judge: bool) -> Iterator[StoredRun]:
    """The run as its last judge saw it, or once for each of its judges."""
    from formalimg.runs import open_run

    if not by_every_judge:
        yield open_run(folder)
        return
    with closing(open_run(folder)) as run:
        judges = run.judges()
    for judge in judges or (None,):
        yield open_run(folder, judge)


def _folder(run: Path) -> Path:
    """What is named as a run, if it may be one."""
    if not run.is_file():
        return run
    advice = f"give the folder {run.parent}" if run.name == "run.toml" else "leave it out"
    raise FormalimgError(f"{run} is a file, not a run folder: {advice}")
