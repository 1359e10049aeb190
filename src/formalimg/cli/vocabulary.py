"""`formalimg vocabulary`: list classes and predicates."""

from __future__ import annotations

from typing import Annotated

import typer

from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError
from formalimg.logic import closest_match, vocabulary, vocabulary_names

_CONCEPTS = "conceptmix"


def vocabulary_command(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="knolling, natural, conceptmix, or a TOML file. Default: list them.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """List the classes and predicates of a suite, or its concepts."""
    if not suite:
        echo("\n".join(_names()))
        return
    if suite == _CONCEPTS:
        _show_concepts()
        return
    if suite not in _names() and not suite.endswith(".toml"):
        raise FormalimgError(_why_unknown(suite))
    terms = vocabulary(suite)
    for kind, listed in terms.words.items():
        echo(f"{kind} ({len(listed)}): {', '.join(listed)}\n")
    usages = {
        p.name: f"({' '.join([p.name, *(_placeholder(kind) for kind in p.arguments)])})"
        for p in terms.predicates.values()
    }
    width = max(map(len, usages.values()))
    echo(f"predicates ({len(usages)}):")
    for predicate in terms.predicates.values():
        echo(f"  {usages[predicate.name]:<{width}}  {predicate.meaning}")


def _names() -> list[str]:
    return [*vocabulary_names(), _CONCEPTS]


def _why_unknown(suite: str) -> str:
    from formalimg.suites import suite_names  # here, so that the command starts faster

    known = f"known are {', '.join(_names())}, or a .toml file"
    if suite in suite_names():
        return f"the prompts of {suite} are free text and have no vocabulary: {known}"
    near = closest_match(suite, _names())
    return f"unknown suite {suite!r}: {f'did you mean {near}?' if near else known}"


def _show_concepts() -> None:
    from formalimg.suites import count_bindings, count_combinations, load_pools

    pools = load_pools()
    for category, pool in pools.items():
        echo(f"{category} ({len(pool.values)}): {', '.join(pool.values)}")
        echo(f"    {pool.statement}\n")
    echo("k   different sets of concepts   and bindings to objects")
    for k in range(1, 8):
        echo(f"{k}   {count_combinations(k, pools):>26,}   {count_bindings(k, pools):>31,}")


def _placeholder(kind: str) -> str:
    return "?x" if kind == "variable" else f"'{kind}'"
