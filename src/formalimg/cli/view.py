"""`formalimg view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.web_options import HERE, Browser, Host, Port, needing_web, tell_address


def view_command(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS_DIR", help="The folder that holds the runs, or one run.")
    ] = Path("runs"),
    port: Port = 8421,
    host: Host = HERE,
    browser: Browser = True,
) -> None:
    """Browse runs, images and explanations in the browser.

    Curves, failures, every image and the reasons behind its verdict.
    """
    with needing_web("the viewer"):
        from formalimg.web import Site, serve
    serve(Site(runs), host=host, port=port, opens_browser=browser, tell=tell_address)
