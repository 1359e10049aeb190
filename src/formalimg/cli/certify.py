"""`formalimg certify`: measure precision and recall of a grounder."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from formalimg.cli.options import MAX_COUNT, MAX_SEED
from formalimg.cli.streams import echo, print_data


def certify_command(
    grounder: Annotated[str, typer.Argument(metavar="GROUNDER", help="The grounder to measure.")] = "builtin/icons",
    scenes: Annotated[int, typer.Option(min=1, max=MAX_COUNT, metavar="N", help="Number of random scenes.")] = 300,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, metavar="N", help="Seed of the scenes.")] = 7,
    others: Annotated[
        int, typer.Option(min=0, max=MAX_COUNT, metavar="N", help="Number of images that are not drawings.")
    ] = 50,
    require: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Minimum precision, recall and F1 on clean images, else exit code 1."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
) -> None:
    """Measure precision and recall of a grounder.

    Uses drawings of random scenes whose content is known.

    An object counts as found if its class is right and the boxes overlap by 0.9. Drawings are used as they are, and
    after compression, scaling, blur and noise. With --require, all other images must be refused, too.
    """
    from formalimg.judges import certify, open_grounder  # here, so that other commands start faster

    certificate = certify(open_grounder(grounder), scenes=scenes, seed=seed, others=others)
    if as_json:
        print_data(f"{json.dumps(certificate.to_json(), indent=2, ensure_ascii=False)}\n")
    else:
        echo(str(certificate))
    raise typer.Exit(1 if require is not None and not certificate.reaches(require) else 0)
