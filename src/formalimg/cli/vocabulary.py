"""`formalimg formula vocabulary`: list classes and predicates."""

from __future__ import annotations

from typing import Annotated

from formalimg.cli.commands import argument
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match, vocabulary, vocabulary_names


def vocabulary_command(
    suite: Annotated[str, argument("SUITE", "A suite such as knolling, or a TOML file. Default: list them.")] = "",
) -> None:
    """List the classes and predicates of a suite, or its concepts."""
    if not suite:
        echo("\n".join(_names()))
        return
    if suite not in vocabulary_names() and not suite.endswith(".toml"):
        _show_own_words(suite)
        return
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
    from formalimg.benchmarks.registry import suite, suite_names  # here, so that the command starts faster

    return [*vocabulary_names(), *(name for name in suite_names() if suite(name).word_lines() is not None)]


def _show_own_words(suite: str) -> None:
    """Print the words of a suite without a formula vocabulary."""
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.benchmarks.registry import suite_names

    lines = suite_of(suite).word_lines() if suite in suite_names() else None
    if lines is None:
        raise FormalimgError(_why_unknown(suite))
    for line in lines:
        echo(line)


def _why_unknown(suite: str) -> str:
    from formalimg.benchmarks.registry import suite_names

    known = f"known are {', '.join(_names())}, or a .toml file"
    if suite in suite_names():
        return f"the prompts of {suite} are free text and have no vocabulary: {known}"
    near = closest_match(suite, _names())
    return f"unknown suite {suite!r}: {f'did you mean {near}?' if near else known}"


def _placeholder(kind: str) -> str:
    return "?x" if kind == "variable" else f"'{kind}'"
