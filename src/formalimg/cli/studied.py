"""How studies of runs are put out: as tables in the terminal, as texts, or into files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from formalimg.cli.printing import print_table
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from formalimg.runs import StoredRun
    from formalimg.studies import AgreementFormat


def studied_format(format: AgreementFormat | None, out: Path | None, what: str) -> AgreementFormat:  # noqa: A002
    """The format that was asked for, by name or by the ending of a file."""
    from formalimg.report import format_of  # here, so that other commands start faster

    form = format or (format_of(out) if out else "terminal")
    if form == "html" or form == "latex":  # one by one, so that mypy knows what is left
        raise FormalimgError(f"{what} is not written as {form}: end --out in .md, .csv, .json or .txt")
    return form


def put_out(
    form: AgreementFormat, out: Path | None, text: Callable[[], str], table: Callable[[], RenderableType]
) -> None:
    """Write a text to a file and tell its name, or print it; tables for the terminal are as wide as it is."""
    from formalimg.runs import write_atomically

    if out is not None:
        write_atomically(out, [text().encode()])
        typer.echo(out)
    elif form == "terminal":
        print_table(table())
    else:
        typer.echo(text(), nl=False)


@contextmanager
def runs_judged_by(folders: Sequence[Path], judge: str | None) -> Iterator[list[StoredRun]]:
    """Run folders, opened with the judge of this name or number; None for the last judge of each."""
    from formalimg.runs import open_run
    from formalimg.studies import judge_named

    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in folders]
        if judge is not None:
            chosen = [judge_named(run, judge) for run in runs]
            runs = [opened.enter_context(closing(open_run(*pair))) for pair in zip(folders, chosen, strict=True)]
        yield runs
