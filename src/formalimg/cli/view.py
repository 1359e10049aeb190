"""`formalimg view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg.errors import FormalimgError


def view_command(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS_DIR", help="The folder that holds the runs, or one run.")
    ] = Path("runs"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any that is free.")] = 8421,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. With any other than this machine's own, the site can be reached from "
            "outside, and only by the link with its token."
        ),
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(" /--no-browser", help="Do not open a browser.", show_default=False)] = True,
) -> None:
    """Look at runs in the browser: curves, failures, every picture and the reasons behind its verdict."""
    try:
        from formalimg.web import Site, serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("formalimg"):
            raise
        raise FormalimgError(f"the viewer needs {error.name}: pip install 'formalimg[web]'") from error
    serve(Site(runs), host=host, port=port, opens_browser=browser, tell=_tell)


def _tell(address: str) -> None:
    typer.echo(f"{address}  (Ctrl+C ends it)")
