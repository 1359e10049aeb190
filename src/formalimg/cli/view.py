"""`formalimg view`: the viewer of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.options import LOOPBACK, Host, OpenBrowser, Port, print_address, require_web_extra


def view_command(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS_DIR", help="The folder that holds the runs, or one run.")
    ] = Path("runs"),
    human: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="STUDY",
            help="A study whose human labels correct the rates of its run. Those in the folder studies beside the "
            "runs that were drawn for correction are found without it.",
            show_default=False,
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Do not let visitors edit the tags and notes of runs.")
    ] = False,
    port: Port = 8421,
    host: Host = LOOPBACK,
    browser: OpenBrowser = True,
) -> None:
    """Browse runs, images and explanations in the browser.

    Shows curves, failures, and every image with the reasons behind its verdict.
    """
    with require_web_extra("the viewer"):
        from formalimg.web import Site, serve_viewer
    serve_viewer(
        Site(runs, human or ()),
        host=host,
        port=port,
        open_browser=browser,
        read_only=read_only,
        on_ready=print_address,
    )
