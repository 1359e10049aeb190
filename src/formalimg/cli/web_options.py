"""Options that all commands with a site share, and what they say when the packages of sites are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from formalimg.errors import FormalimgError

Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="The address to listen on. With any other than this machine's own, the site can be reached from "
        "outside, and only by the link with its token.",
    ),
]

Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="PORT", help="The port to listen on; 0 for any that is free.")
]

Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser, or do not.")]

HERE = "127.0.0.1"
"""The address of this machine that nobody else can reach: the default of every site."""


@contextmanager
def needing_web(what: str) -> Iterator[None]:
    """Say in one line what to install, if one of the packages that sites are made with is missing.

    Args:
        what: what needs them, as in "the viewer".

    Raises:
        FormalimgError: if a package that is not our own is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("formalimg"):
            raise
        raise FormalimgError(f"{what} needs {error.name}: pip install 'formalimg[web]'") from error


def tell_address(address: str) -> None:
    """Print where a site is, and how it is ended."""
    typer.echo(f"{address}  (Ctrl+C ends it)")
