"""Figures for papers, as several commands write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.reporting import Drawing, DrawingFormat

Figures = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write figures for papers into this folder besides.", show_default=False),
]
FiguresAs = Annotated[
    str, typer.Option(metavar="FORMATS", help="How figures are written: any of svg, png, pdf, with commas.")
]


def formats_of_figures(figures: Path | None, listed: str) -> tuple[DrawingFormat, ...]:
    """The formats, known to be possible before anything else is done; none if no figures are wanted.

    Raises:
        FormalimgError: if a format is unknown, or needs a library that is not installed.
    """
    if figures is None:
        return ()
    from formalimg.reporting import drawing_formats  # here, so that other commands start faster

    return drawing_formats(listed)


def put_figures(drawings: Sequence[Drawing], folder: Path, formats: Sequence[DrawingFormat], why_none: str) -> None:
    """Write figures, and say so where no table is disturbed by it.

    Raises:
        FormalimgError: if there are none, for the reason that is given; or if they cannot be written.
    """
    from formalimg.reporting import write_drawings

    if not drawings:
        raise FormalimgError(f"there is nothing to draw: {why_none}")
    written = write_drawings(drawings, folder, formats)
    typer.echo(f"{len(drawings)} figures in {len(written)} files in {folder}", err=True)
