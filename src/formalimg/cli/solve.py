"""`formalimg formula solve`: find a scene for a formula."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.commands import option
from formalimg.cli.inputs import detect_vocabulary, formula_argument
from formalimg.cli.options import MAX_SEED
from formalimg.cli.output import require_image_name, save_image
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError
from formalimg.logic.parser import parse


def solve_command(
    formula: Annotated[str, option("TEXT|FILE", "The formula itself, or a file with it (- for standard input).")],
    instances: Annotated[int, option("N", "Minimum number of objects each forall ranges over.", min=1, max=12)] = 2,
    margin: Annotated[
        int, option("N", "Margin by which relations must hold, on the canvas of 1000.", min=0, max=1000)
    ] = 20,
    max_objects: Annotated[
        int, option("N", "Maximum number of objects, where the formula sets no bound itself.", min=1, max=20)
    ] = 6,
    seed: Annotated[int, option("N", "Seed of colours and positions.", min=-MAX_SEED, max=MAX_SEED)] = 0,
    image: Annotated[Path | None, option("--draw PNG", "Draw the witness into this file.")] = None,
    as_json: Annotated[bool, option("--json", "Print the result as JSON.")] = False,
) -> None:
    """Find a scene that satisfies a formula, or prove there is none.

    Exit code 0: there is a scene. 1: there is none, at all or up to --max-objects; the output says which. 2: wrong
    usage, or undecided.
    """
    from formalimg.drawing.icon_scene import draw
    from formalimg.scenes.scene import RECORDED_PREDICATES  # here, so that other commands start faster
    from formalimg.scenes.solver.results import Witness
    from formalimg.scenes.solver.search import solve
    from formalimg.scenes.solver.spatial import solve_natural

    if image is not None:
        require_image_name(image)
    instruction = formula_argument(formula)
    text = parse(instruction.text)
    if not RECORDED_PREDICATES.isdisjoint(detect_vocabulary(instruction).predicates):
        if image is not None:
            raise FormalimgError("only scenes of knolling objects can be drawn: leave --draw out")
        result = solve_natural(text, instances=instances, margin=margin, seed=seed)
    else:
        result = solve(text, instances=instances, margin=margin, seed=seed, max_objects=max_objects)
    if as_json:
        print_data(f"{json.dumps(result.to_json(), indent=2, ensure_ascii=False)}\n")
    else:
        echo(str(result))
    if image is not None and isinstance(result, Witness):
        save_image(draw(result.scene), image)
    raise typer.Exit(0 if isinstance(result, Witness) else 1)
