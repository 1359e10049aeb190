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
    port: Port = 8421,
    host: Host = LOOPBACK,
    browser: OpenBrowser = True,
) -> None:
    """Browse runs, images and explanations in the browser.

    Shows curves, failures, and every image with the reasons behind its verdict.
    """
    with require_web_extra("the viewer"):
        from formalimg.web import Site, serve_viewer
    serve_viewer(Site(runs), host=host, port=port, open_browser=browser, on_ready=print_address)
