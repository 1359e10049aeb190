"""Adaptive runs on the command line: their options, and what they print at their end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formalimg.cli.help_groups import SECTIONS
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.cli.run import RunOptions

_WHAT, *_ = SECTIONS

Adaptive = Annotated[
    bool,
    typer.Option("--adaptive", help="Climb level by level; stop when G is clear.", rich_help_panel=_WHAT),
]
Against = Annotated[
    Path | None,
    typer.Option(
        "--against",
        metavar="RUN",
        help="With --adaptive: stop when better or worse than it.",
        show_default=False,
        rich_help_panel=_WHAT,
    ),
]


def require_adaptive(options: RunOptions) -> None:
    """Refuse options that do not go with an adaptive run.

    Raises:
        FormalimgError: naming the option to leave out.
    """
    if options.against is not None and not options.adaptive:
        raise FormalimgError("--against compares look by look: give --adaptive too")
    if not options.adaptive:
        return
    if options.engine != "local":
        raise FormalimgError("--adaptive makes few images at a time, in this process: leave --engine out")
    if len(options.judge or ()) > 1:
        raise FormalimgError("one judge decides an adaptive run: name one, and ask others later with `formalimg judge`")


def folder_kind(options: RunOptions) -> str:
    """Return what the name of the folder of an adaptive run says besides suite and model; empty for other runs."""
    if not options.adaptive:
        return ""
    return "adaptive" if options.against is None else f"adaptive against {options.against.absolute().name}"


def print_adaptive(folders: Iterable[Path]) -> None:
    """Print what the adaptive runs in these folders have found, and how many images they have saved."""
    from formalimg.reporting import adaptive_text  # here, because few runs are adaptive
    from formalimg.runs import read_looks

    for folder in folders:
        looks = read_looks(folder)
        if looks is not None:
            echo(f"{folder}: {adaptive_text(looks)}")
