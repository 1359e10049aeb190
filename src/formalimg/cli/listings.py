"""`formalimg suites`, `models` and `formula vocabulary`: list what can be run, called and written."""

from __future__ import annotations

from typing import Annotated

from formalimg.cli.commands import argument, option
from formalimg.cli.streams import echo, print_json
from formalimg.errors import FormalimgError


def suites_command(as_json: Annotated[bool, option("--json", "Print the suites as JSON.")] = False) -> None:
    """List the suites: their items and levels, what judges their images, and where items come from.

    Any of them can be run, as in `formalimg run knolling`. Nothing is downloaded.
    """
    from formalimg.benchmarks.suite_summaries import summarize_suites  # these here, so that others start faster

    suites = summarize_suites()
    if as_json:
        print_json([suite.to_json() for suite in suites])
        return
    for suite in suites:
        first, *rest = suite.lines()
        echo("\n".join([first, *(f"    {line}" for line in rest)]))


def models_command(as_json: Annotated[bool, option("--json", "Print the providers as JSON.")] = False) -> None:
    """List the model providers, detectors, text readers and presets of open judges, and what is missing to use each.

    A model is named provider/model, as in openai/gpt-image-2. What answers, finds objects or reads text can judge. A
    preset stands for an open model on a server of yours, with its options. No provider is called, and keys are never
    printed.
    """
    from formalimg.judges.factory import list_grounders
    from formalimg.models.registry import list_presets, list_providers

    providers = [*list_providers(), *list_grounders(), *list_presets()]
    if as_json:
        print_json([provider.to_json() for provider in providers])
        return
    for provider in providers:
        abilities = {
            "images": provider.images,
            "answers": provider.answers,
            "finds objects": provider.finds,
            "reads text": provider.reads,
        }
        name = provider.name if "/" in provider.name else f"{provider.name}/…"
        actions = ", ".join(action for action, can in abilities.items() if can)
        echo(f"{'–' if provider.missing else '✓'} {name:<16} {actions}")
        for line in (*provider.summary, *(f"to do: {step}" for step in provider.missing)):
            echo(f"    {line}")


def vocabulary_command(
    suite: Annotated[str, argument("SUITE", "A suite such as knolling, or a TOML file. Default: list them.")] = "",
) -> None:
    """List the classes and predicates of a suite, or its concepts."""
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.benchmarks.registry import suite_names
    from formalimg.logic.vocabulary import closest_match, vocabulary, vocabulary_names

    other_suites = {name: lines for name in suite_names() if (lines := suite_of(name).word_lines()) is not None}
    names = [*vocabulary_names(), *other_suites]
    if not suite:
        echo("\n".join(names))
    elif suite in vocabulary_names() or suite.endswith(".toml"):
        terms = vocabulary(suite)
        for kind, words in terms.words.items():
            echo(f"{kind} ({len(words)}): {', '.join(words)}\n")
        usages = {}
        for predicate in terms.predicates.values():
            arguments = ["?x" if kind == "variable" else f"'{kind}'" for kind in predicate.arguments]
            usages[f"({' '.join([predicate.name, *arguments])})"] = predicate.meaning
        width = max(map(len, usages))
        echo(f"predicates ({len(usages)}):")
        for usage, meaning in usages.items():
            echo(f"  {usage:<{width}}  {meaning}")
    elif suite in other_suites:
        for line in other_suites[suite]:
            echo(line)
    else:
        choices = f"choose from {', '.join(names)}, or a .toml file"
        if suite in suite_names():
            raise FormalimgError(f"the prompts of {suite} are free text and have no vocabulary: {choices}")
        match = closest_match(suite, names)
        raise FormalimgError(f"unknown suite {suite!r}: {f'did you mean {match}?' if match else choices}")
