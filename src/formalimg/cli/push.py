"""`formalimg share push`: publish a run as a dataset on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from formalimg import __version__
from formalimg.cli.commands import argument, option
from formalimg.cli.streams import echo


def push_command(
    run: Annotated[Path, argument("RUN", "A run folder.")],
    to: Annotated[str, option("ADDRESS", "The dataset, as in hf://datasets/OWNER/NAME.")],
    images: Annotated[bool, option("--images/--no-images", "Whether to push the images.")] = True,
    private: Annotated[bool, option("--private", "Make a new dataset private.")] = False,
    licence: Annotated[str, option("--license LICENCE", "Licence of the dataset, as in cc-by-4.0.")] = "",
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
