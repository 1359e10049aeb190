"""`formalimg share push`: publish a run as a dataset on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg import __version__
from formalimg.cli.streams import echo


def push_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.", show_default=False)],
    to: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The dataset, as in hf://datasets/OWNER/NAME.", show_default=False)
    ],
    images: Annotated[bool, typer.Option("--images/--no-images", help="Whether to push the images.")] = True,
    private: Annotated[bool, typer.Option("--private", help="Make a new dataset private.")] = False,
    licence: Annotated[
        str, typer.Option("--license", metavar="LICENCE", help="Licence of the dataset, as in cc-by-4.0.")
    ] = "",
) -> None:
    """Push a run to a dataset on the Hugging Face Hub: images, verdicts, manifest, bundle and data card.

    Needs formalimg[hf] and a token (HF_TOKEN, or `hf auth login`). Pushing again replaces what was there.
    """
    from formalimg.reports.sharing.bundle_format import digest_text  # here, so that other commands start faster
    from formalimg.reports.sharing.cards import push_run
    from formalimg.reports.tables.format import count_noun

    done = push_run(run, to, f"formalimg {__version__}", images=images, private=private, licence=licence)
    echo(f"{count_noun(done.images, 'image')} and {count_noun(done.rows, 'verdict')} in {done.address}")
    echo(f"commit {done.commit}, bundle {digest_text(done.digest)}")
