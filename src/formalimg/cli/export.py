"""`formalimg export`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer


def export_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of conceptmix.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to; other models may be there.")],
    name: Annotated[
        str | None, typer.Option(help="What the model is called there. Default: the name of the run folder.")
    ] = None,
) -> None:
    """Write a run in the form of the authors' own scripts: pictures, result.json, and files of scores."""
    from formalimg.report import export_concepts  # here, so that other commands start faster
    from formalimg.runs import open_run

    with closing(open_run(run)) as opened:
        done = export_concepts(opened, out, name or run.resolve().name)
    typer.echo(
        f"{done.pictures:,} pictures in {done.folder / (name or run.resolve().name)}, {done.scored:,} with scores"
    )
    for reason, count in sorted(done.without.items()):
        typer.echo(f"{count:,} without scores: {reason}")
