"""`formalimg census`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from formalimg.suites import FormulaSpec, Item, load


def census_command(
    suite: Annotated[str, typer.Argument(help="knolling or natural.", show_default=False)],
    items: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where the items lie. Default: the default suite.")
    ] = None,
) -> None:
    """Show what the items of a suite are made of: predicates, classes, patterns of quantifiers."""
    show_census(suite, load(suite, items))


def show_census(suite: str, items: Sequence[Item[FormulaSpec]]) -> None:
    """Print how often everything comes up; 1.00 is the mean of its kind."""
    from formalimg.suites import take_census  # here, so that other commands start faster

    census = take_census(suite, items)
    levels = ", ".join(f"K={level}: {count}" for level, count in sorted(census.levels.items()))
    typer.echo(f"{census.items} items of {suite} ({levels})")
    patterns = ", ".join(f"{name} {count / census.items:.0%}" for name, count in sorted(census.patterns.items()))
    typer.echo(f"quantifiers: {patterns}")
    typer.echo("\npredicates, as multiples of their mean:")
    for name, share in sorted(census.predicate_shares.items(), key=lambda entry: -entry[1]):
        typer.echo(f"  {name:<20} {share:5.2f}  {census.predicates[name]:>6}  {'█' * round(share * 20)}")
    shares = sorted(census.class_shares.items(), key=lambda entry: -entry[1])
    typer.echo(f"\nclasses, as multiples of their mean ({shares[-1][1]:.2f} to {shares[0][1]:.2f}):")
    cells = [f"{name} {share:.2f}" for name, share in shares]
    width = max(map(len, cells)) + 2
    for start in range(0, len(cells), 5):
        typer.echo("  " + "".join(f"{cell:<{width}}" for cell in cells[start : start + 5]).rstrip())
