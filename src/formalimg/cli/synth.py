"""`formalimg synth`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.census import show_census
from formalimg.cli.options import read_levels
from formalimg.cli.progress import progress_of
from formalimg.errors import FormalimgError
from formalimg.suites import write_items, write_published


def synth_command(
    suite: Annotated[str, typer.Argument(help="knolling or natural.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write items.jsonl to.")],
    levels: Annotated[str, typer.Option(help="Which K, as in 1-10 or 1,2,5.")] = "1-10",
    per_level: Annotated[int, typer.Option(min=1, help="How many items of each level.")] = 200,
    seed: Annotated[int, typer.Option(help="Another seed, other items.")] = 1,
    objects: Annotated[
        int | None, typer.Option(help="Several components of the level each, with so many things in all.")
    ] = None,
    connectives: Annotated[
        bool, typer.Option("--connectives", help="Some items have an or or a not, which published ones never have.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Also write DIR/published/benchmarks/<suite>/<id>.json.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes. Default: one per core.")] = None,
) -> None:
    """Make instructions whose satisfiability is certain.

    The same options give the same bytes on any machine. Knolling items come with a witness, a scene that shows them.
    """
    from formalimg.suites import Recipe, instruction_digest, make_items  # here, so that other commands start faster

    if published and (out / "published").exists():
        raise FormalimgError(f"{out / 'published'} is there already: move it away, or choose another folder")
    recipe = Recipe(suite, read_levels(levels), per_level, seed, objects, connectives)
    with progress_of(f"making {suite}", len(recipe.levels) * per_level) as told:
        made = make_items(recipe, jobs=jobs or os.cpu_count() or 1, told=told)
    path = write_items(made.items, out)
    if published:
        write_published(made.items, out / "published")
    show_census(suite, made.items)
    given_up = ", ".join(f"{count} {reason}" for reason, count in sorted(made.given_up.items())) or "none"
    typer.echo(f"\ndraws given up: {given_up}")
    typer.echo(
        f"{len(made.items)} item{'s' * (len(made.items) != 1)} in {path}, instructions {instruction_digest(made.items)}"
    )
