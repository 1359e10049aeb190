"""`formalimg vocabulary`."""

from __future__ import annotations

from typing import Annotated

import typer

from formalimg.logic import vocabulary, vocabulary_names


def vocabulary_command(
    suite: Annotated[str, typer.Argument(help="knolling, natural, or a TOML file.", show_default=False)] = "",
) -> None:
    """Show the words and predicates that formulas of a suite are made of."""
    if not suite:
        typer.echo("\n".join(vocabulary_names()))
        return
    words = vocabulary(suite)
    for kind, listed in words.words.items():
        typer.echo(f"{kind} ({len(listed)}): {', '.join(listed)}\n")
    usages = {
        p.name: f"({' '.join([p.name, *(_placeholder(kind) for kind in p.arguments)])})"
        for p in words.predicates.values()
    }
    width = max(map(len, usages.values()))
    typer.echo(f"predicates ({len(usages)}):")
    for predicate in words.predicates.values():
        typer.echo(f"  {usages[predicate.name]:<{width}}  {predicate.meaning}")


def _placeholder(kind: str) -> str:
    return "?x" if kind == "variable" else f"'{kind}'"
