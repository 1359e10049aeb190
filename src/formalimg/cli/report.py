"""`formalimg report`."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Literal

import typer

Format = Literal["terminal", "md", "latex", "csv", "json", "html"]
Missing = Literal["exclude", "fail", "error"]


def report_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.", show_default=False)],
    format: Annotated[  # noqa: A002  # what users call it
        Format, typer.Option(help="html: one page with figures and pictures. The others: tables.")
    ] = "terminal",
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
    gallery: Annotated[int, typer.Option(min=0, help="How many pictures of each run an html page shows.")] = 24,
) -> None:
    """Show runs side by side, with intervals, and with what could not be scored."""
    from formalimg.report import compare, render, terminal_table, write_html, write_text
    from formalimg.runs import open_run

    with ExitStack() as opened:
        records = [opened.enter_context(closing(open_run(run))) for run in runs]
        if format == "html":
            path = out or runs[0] / "report.html"
            write_html(records, path, missing=missing, epsilon=epsilon, references=reference, gallery=gallery)
            typer.echo(path)
            return
        comparison = compare(records, missing=missing, epsilon=epsilon, references=reference)
    if out is not None:
        write_text(render(comparison, format), out)
        typer.echo(out)
    elif format == "terminal":
        from rich.console import Console

        Console(highlight=False).print(terminal_table(comparison))
    else:
        typer.echo(render(comparison, format), nl=False)
