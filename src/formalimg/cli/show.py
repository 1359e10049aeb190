"""`formalimg show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from formalimg.cli.pictures import require_picture_name, save_picture
from formalimg.errors import FormalimgError
from formalimg.logic import clauses, complexity, to_pretty_text
from formalimg.suites import FormulaSpec, Item, load


def show_command(
    item: Annotated[
        str, typer.Argument(metavar="SUITE/ID", help="Which item, such as knolling/7.", show_default=False)
    ],
    items: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where the items lie. Default: the default suite.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--draw", metavar="PNG", help="Draw the witness into this file.")
    ] = None,
) -> None:
    """Show an item: its words, its formula, its clauses, and the scene that proves it can be satisfied."""
    if picture is not None:
        require_picture_name(picture)
    found = _find(item, items)
    spec = found.spec
    typer.echo(f"{found.suite}/{found.id}, K = {complexity(spec.formula)}\n\n{found.prompt}\n")
    typer.echo(to_pretty_text(spec.formula))
    typer.echo("\nclauses")
    for clause in clauses(spec.formula):
        typer.echo(f"  {clause.kind:<9}  {clause.text}")
    if spec.witness is not None:
        typer.echo("\nwitness")
        for number, thing in enumerate(spec.witness.things):
            typer.echo(f"  #{number:<2} {thing.looks():<24} {thing.box}")
    if picture is not None:
        if spec.witness is None:
            raise FormalimgError(f"{item} has no witness to draw: only items made by formalimg synth knolling have one")
        from formalimg.scenes import draw  # here, so that other commands start faster

        save_picture(draw(spec.witness), picture)


def _find(name: str, path: Path | None) -> Item[FormulaSpec]:
    suite, slash, number = name.partition("/")
    if not slash or not number:
        raise FormalimgError(f"cannot find {name!r}: name an item as SUITE/ID, such as knolling/7")
    for item in load(suite, path):
        if item.id == number:
            return item
    raise FormalimgError(f"{suite} has no item {number}: ids are those in its items.jsonl or file names")
