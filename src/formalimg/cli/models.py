"""`formalimg models`: list model providers."""

from __future__ import annotations

import json
from typing import Annotated

from formalimg.cli.commands import option
from formalimg.cli.streams import echo, print_data


def models_command(
    as_json: Annotated[bool, option("--json", "Print the providers as JSON.")] = False,
) -> None:
    """List the model providers, detectors, text readers and presets of open judges, and what is missing to use each.

    A model is named provider/model, as in openai/gpt-image-2. What answers, finds objects or reads text can judge. A
    preset stands for an open model on a server of yours, with its options. No provider is called, and keys are never
    printed.
    """
    from formalimg.judges.factory import list_grounders  # these here, so that others start faster
    from formalimg.models.registry import list_presets, list_providers

    found = [*list_providers(), *list_grounders(), *list_presets()]
    if as_json:
        print_data(f"{json.dumps([provider.to_json() for provider in found], indent=2, ensure_ascii=False)}\n")
        return
    for provider in found:
        abilities = {"images": provider.images, "answers": provider.answers, "finds objects": provider.finds}
        abilities |= {"reads text": provider.reads}
        does = ", ".join(word for word, can in abilities.items() if can)
        name = provider.name if "/" in provider.name else f"{provider.name}/…"
        echo(f"{'–' if provider.missing else '✓'} {name:<16} {does}")
        for line in (*provider.summary, *(f"to do: {step}" for step in provider.missing)):
            echo(f"    {line}")
