"""`formalimg pull`."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from formalimg.suites import Pulled


def pull_command(
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="formalimg, cf-world or conceptmix.", show_default=False)
    ],
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="The folder to make.")],
    origin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PATH|URL",
            help="Take it from here: a git address, a folder, or an archive (.zip, .tar.gz, .tgz). "
            "Default: the authors' repository.",
        ),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="Take this commit. Default: the one we tested against.")
    ] = None,
) -> None:
    """Download the data of a published benchmark.

    Takes the authors' public repository at a pinned commit and keeps only its data files. No credentials are used and
    nothing of what is brought is run. Exit code 0: it is there. 2: it could not be brought, and nothing was written.
    """
    from formalimg.suites import pull  # here, so that other commands start faster

    signal.signal(signal.SIGTERM, _leave)
    _show(pull(benchmark, to, origin, revision))


def _show(pulled: Pulled) -> None:
    at = f" at {pulled.commit}" if pulled.commit else ""
    typer.echo(pulled.source.title)
    typer.echo(f"from     {pulled.origin}{at}")
    typer.echo(f"licence  {pulled.source.licence}")
    typer.echo(f"kept     {pulled.files:,} files, {pulled.bytes:,} bytes, {pulled.digest}")
    typer.echo(f"in       {pulled.folder}")
    if not pulled.proven:
        typer.echo("note: nothing proves that these are the files of the pinned commit; git would", err=True)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """End as on Ctrl-C, so that what was begun is cleared away."""
    sys.exit(143)
