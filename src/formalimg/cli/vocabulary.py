"""`formalimg vocabulary`."""

from __future__ import annotations

from typing import Annotated

import typer

from formalimg.logic import vocabulary, vocabulary_names


def vocabulary_command(
    suite: Annotated[
        str, typer.Argument(help="knolling, natural, conceptmix, or a TOML file.", show_default=False)
    ] = "",
) -> None:
    """Show the words and predicates that formulas of a suite are made of, or the concepts of ConceptMix."""
    if not suite:
        typer.echo("\n".join([*vocabulary_names(), "conceptmix"]))
        return
    if suite == "conceptmix":
        _show_concepts()
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


def _show_concepts() -> None:
    from formalimg.suites import count_bindings, count_combinations, load_pools

    pools = load_pools()
    for category, pool in pools.items():
        typer.echo(f"{category} ({len(pool.values)}): {', '.join(pool.values)}")
        typer.echo(f"    {pool.statement}\n")
    typer.echo("k   different sets of concepts   and ways to bind them to objects")
    for k in range(1, 8):
        typer.echo(f"{k}   {count_combinations(k, pools):>26,}   {count_bindings(k, pools):>31,}")


def _placeholder(kind: str) -> str:
    return "?x" if kind == "variable" else f"'{kind}'"
