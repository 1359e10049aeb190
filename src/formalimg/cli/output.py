"""Printing tables: as wide as the terminal, and at a good width where there is none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from PIL.Image import Image
    from rich.console import RenderableType

    from formalimg.analysis import AgreementFormat
    from formalimg.reporting import Drawing, DrawingFormat
    from formalimg.runs import StoredRun


_WITHOUT_A_TERMINAL = 100
"""How wide tables are in files and pipes, unless COLUMNS says otherwise: enough for ten levels side by side."""


def print_table(table: RenderableType) -> None:
    """Print a table to standard output."""
    from rich.console import Console  # here, so that other commands start faster

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=_WITHOUT_A_TERMINAL)
    console.print(table)


def require_image_name(path: Path) -> None:
    """Refuse a name that no image can be written to, before the work is done."""
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
        raise FormalimgError(f"cannot draw into {path}: give a name such as out.png")
    if not path.parent.is_dir():
        raise FormalimgError(f"cannot draw into {path}: the folder {path.parent} does not exist")


def save_image(image: Image, path: Path) -> None:
    """Save an image; its kind is told by the name."""
    try:
        image.save(path)
    except OSError as error:
        raise FormalimgError(f"cannot write the image {path}: {error.strerror}") from error


_BY_ENDING: dict[str, AgreementFormat] = {".md": "md", ".csv": "csv", ".json": "json", ".txt": "terminal"}


OutputFormat = Annotated[
    Literal["terminal", "md", "csv", "json"] | None,
    typer.Option(
        help="csv and json hold everything. Default: by the ending of --out (md, csv, json, txt); terminal without it.",
        show_default=False,
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The file to write. Default: standard output.", show_default=False),
]


def output_format(format: AgreementFormat | None, out: Path | None, what: str) -> AgreementFormat:  # noqa: A002
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


def write_output(
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
def open_runs(folders: Sequence[Path], judge: str | None) -> Iterator[list[StoredRun]]:
    """Run folders, opened with the judge of this name or number; None for the last judge of each."""
    from formalimg.analysis import judge_named
    from formalimg.runs import open_run

    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder))) for folder in folders]
        if judge is not None:
            chosen = [judge_named(run, judge) for run in runs]
            runs = [opened.enter_context(closing(open_run(*pair))) for pair in zip(folders, chosen, strict=True)]
        yield runs


Figures = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write figures for papers into this folder besides.", show_default=False),
]
FiguresAs = Annotated[
    str, typer.Option(metavar="FORMATS", help="How figures are written: any of svg, png, pdf, with commas.")
]


def figure_formats(figures: Path | None, listed: str) -> tuple[DrawingFormat, ...]:
    """The formats, known to be possible before anything else is done; none if no figures are wanted.

    Raises:
        FormalimgError: if a format is unknown, or needs a library that is not installed.
    """
    if figures is None:
        return ()
    from formalimg.reporting import drawing_formats  # here, so that other commands start faster

    return drawing_formats(listed)


def write_figures(drawings: Sequence[Drawing], folder: Path, formats: Sequence[DrawingFormat], why_none: str) -> None:
    """Write figures, and say so where no table is disturbed by it.

    Raises:
        FormalimgError: if there are none, for the reason that is given; or if they cannot be written.
    """
    from formalimg.reporting import write_drawings

    if not drawings:
        raise FormalimgError(f"there is nothing to draw: {why_none}")
    written = write_drawings(drawings, folder, formats)
    typer.echo(f"{len(drawings)} figures in {len(written)} files in {folder}", err=True)
