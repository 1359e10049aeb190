"""`formalimg items review`: review the items of a suite."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.commands import GroupedCommand, argument, option
from formalimg.cli.options import LOOPBACK, Host, OpenBrowser, Port, print_address, require_web_extra
from formalimg.cli.streams import echo

_NAMED = 10  # So many groups are named in a line; review.json has all of them
review_app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Review written groups of items: export a queue, decide in the browser, import the decisions.",
)


@review_app.command("export", cls=GroupedCommand, short_help="Write groups to a queue file.")
def export_queue_command(
    source: Annotated[
        str,
        argument(
            "DIR_OR_SUITE", "A folder with groups.jsonl, such a file, or the suite whose groups ship with formalimg."
        ),
    ],
    out: Annotated[Path, option("FILE", "The queue to write, as in queue.jsonl.")],
) -> None:
    """Write groups to a queue file, one line each, with the findings of the checker and an empty decision.

    Decide with `formalimg items review open`, or in the file: set the decision of each line to accept, reject, or
    edit; to edit, change the fields of the line itself.
    """
    from formalimg.benchmarks.authoring.task import reviewing  # here, so that other commands start faster

    count = reviewing().export_queue(source, out)
    echo(f"{count:,} group{'s' * (count != 1)} in {out}: set each decision to accept, reject or edit")


@review_app.command("open", cls=GroupedCommand, short_help="Review the groups of a queue in the browser.")
def open_queue_command(
    queue: Annotated[Path, argument("FILE", "The queue, as `items review export` wrote it.")],
    port: Port = 8423,
    host: Host = LOOPBACK,
    browser: OpenBrowser = True,
) -> None:
    """Review the groups of a queue in the browser: accept, reject, or edit them with the checker running.

    Every decision is written to the file at once; `items review import` reads it afterwards.
    """
    with require_web_extra("the review page"):
        from formalimg.web.review import serve_review
    serve_review(queue, host=host, port=port, open_browser=browser, on_ready=print_address)


@review_app.command("import", cls=GroupedCommand, short_help="Read the decisions, write what was accepted.")
def import_queue_command(
    queue: Annotated[Path, argument("FILE", "The queue with its decisions.")],
    out: Annotated[Path, option("DIR", "The folder to write groups, items and review.json to.")],
    version: Annotated[str, option("The version that the items carry.")] = "",
) -> None:
    """Read the decisions, and write the accepted groups with their items and a report.

    Exit code 1 if some are undecided, or none is kept; 2 if a line makes no sense, and then nothing is written.
    """
    from formalimg.benchmarks.authoring.task import reviewing

    review = reviewing().import_queue(queue, out, version)
    for decision in ("accept", "edit", "reject"):
        count = list(review.decisions.values()).count(decision)
        echo(f"{decision:<12}{count:>6,}")
    if review.overruled:
        echo(f"kept though the checker objects: {_list_names(review.overruled)}")
    if review.undecided:
        echo(f"undecided, and left out: {_list_names(review.undecided)}")
    echo("no groups are kept" if review.path is None else f"{review.items:,} items in {review.path}")
    if review.undecided or review.path is None:
        raise typer.Exit(1)


def _list_names(groups: Collection[str]) -> str:
    names = ", ".join(list(groups)[:_NAMED])
    return names if len(groups) <= _NAMED else f"{names} and {len(groups) - _NAMED:,} more"
