"""How studies of runs are put out: as tables in the terminal, as texts, or into files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.cli.printing import print_table
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from formalimg.analysis import AgreementFormat
    from formalimg.runs import StoredRun


_BY_ENDING: dict[str, AgreementFormat] = {".md": "md", ".csv": "csv", ".json": "json", ".txt": "terminal"}


StudyFormat = Annotated[
    Literal["terminal", "md", "csv", "json"] | None,
    typer.Option(
        help="csv and json hold everything. Default: by the ending of --out (md, csv, json, txt); terminal without it.",
        show_default=False,
    ),
]
StudyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The file to write. Default: standard output.", show_default=False),
]


def studied_format(format: AgreementFormat | None, out: Path | None, what: str) -> AgreementFormat:  # noqa: A002
    """The format that was asked for, by name or by the ending of a file.

    Raises:
        FormalimgError: if no format of studies has this ending.
    """
    if format or not out:
        return format or "terminal"
    found = _BY_ENDING.get(out.suffix.lower())
    if found is None:
        *endings, last = _BY_ENDING
        advice = f"end the name in {', '.join(endings)} or {last}, or give --format"
        raise FormalimgError(f"cannot tell from the name {out} how {what} is to be written: {advice}")
    return found


def put_out(
    form: AgreementFormat, out: Path | None, text: Callable[[], str], table: Callable[[], RenderableType]
) -> None:
    """Write a text to a file and tell its name, or print it; tables for the terminal are as wide as it is."""
    from formalimg._util.io import atomic_write

    if out is not None:
        atomic_write(out, [text().encode()])
        typer.echo(out)
    elif form == "terminal":
        print_table(table())
    else:
        typer.echo(text(), nl=False)


@contextmanager
def runs_judged_by(folders: Sequence[Path], judge: str | None) -> Iterator[list[StoredRun]]:
    """Run folders, opened with the judge of this name or number; None for the last judge of each."""
    from formalimg.analysis import judge_named
    from formalimg.runs import open_run

    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in folders]
        if judge is not None:
            chosen = [judge_named(run, judge) for run in runs]
            runs = [opened.enter_context(closing(open_run(*pair))) for pair in zip(folders, chosen, strict=True)]
        yield runs
