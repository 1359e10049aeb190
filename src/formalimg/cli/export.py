"""`formalimg export`: export a suite or a run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError
from formalimg.suites import suite_names


def export_command(
    what: Annotated[str, typer.Argument(metavar="SUITE|RUN", help="A suite, or a run folder.", show_default=False)],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to write to. For a run, it may hold other models already.")
    ],
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Suite: load the items from here. Default: the suite shipped with formalimg."
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="Suite: also write DIR/published, in the format of the authors' files."),
    ] = False,
    licence: Annotated[
        str,
        typer.Option(
            "--license",
            metavar="LICENCE",
            help="Suite: licence of your own items; an SPDX id such as CC-BY-4.0, or a URL.",
        ),
    ] = "",
    creator: Annotated[str, typer.Option(metavar="NAME", help="Suite: creator of your own items.")] = "",
    made: Annotated[
        str, typer.Option(metavar="SENTENCE", help="Suite: how your own items were made, in a sentence.")
    ] = "",
    url: Annotated[str, typer.Option(metavar="URL", help="Suite: where it will be published.")] = "",
    date: Annotated[str, typer.Option(metavar="DATE", help="Suite: date of publication, as in 2026-01-31.")] = "",
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Run: name of the model in the export. Default: the name of the run folder."),
    ] = None,
) -> None:
    """Export a suite with metadata, or a run in the layout of the benchmark's authors.

    A suite becomes a folder with items.jsonl, DATASHEET.md, croissant.json and LICENSE.md. A run becomes images with
    groundings and verdicts (FormalImg), with result.json and files of scores (ConceptMix), or with score files
    (CF-World), where the published scripts have them.
    """
    of_suites = {
        "--items": items,
        "--published": published,
        "--license": licence,
        "--creator": creator,
        "--made": made,
        "--url": url,
        "--date": date,
    }
    if what in suite_names():
        _refuse("a suite", {"--name": name})
        _export_suite(what, out, items, published, (licence, creator, made, url, date))
    elif Path(what).is_dir():
        _refuse("a run", of_suites)
        _export_run(Path(what), out, name)
    else:
        raise FormalimgError(
            f"{what} is neither a suite nor a run folder: check the path, or name one of {', '.join(suite_names())}"
        )


def _export_suite(
    name: str, out: Path, items: Path | None, published: bool, imprint: tuple[str, str, str, str, str]
) -> None:
    from formalimg.suites import PublisherInfo, export_suite  # here, so that other commands start faster

    done = export_suite(name, out, items=items, published=published, imprint=PublisherInfo(*imprint))
    echo(f"{done.items:,} items of {name} in {done.folder}, licence {done.licence}: {', '.join(done.files)}")
    if done.missing:
        echo(f"before you publish croissant.json, it needs: {', '.join(done.missing)}")


def _export_run(run: Path, out: Path, name: str | None) -> None:
    from formalimg.reporting import export_run
    from formalimg.runs import open_run

    called = name or run.resolve().name
    with closing(open_run(run)) as opened:
        done = export_run(opened, out, called)
    echo(f"{done.images:,} images in {done.folder}, {done.scored:,} with scores")
    for reason, count in sorted(done.without.items()):
        echo(f"{count:,} without scores: {reason}")


def _refuse(what: str, options: Mapping[str, object]) -> None:
    """Refuse options that are for the other kind of export."""
    unsupported = [option for option, value in options.items() if value]
    if unsupported:
        raise FormalimgError(f"an export of {what} has no {unsupported[0]}: leave it out")
