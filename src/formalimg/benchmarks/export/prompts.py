"""The prompts of a suite for external image generation: text, JSON Lines or CSV, with a file name per image.

What is made under these names, or described by the file itself, is matched again by `--model folder/…`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.text import csv_table, visible
from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.types import Item

PromptFormat: TypeAlias = Literal["txt", "jsonl", "csv"]
PROMPT_FORMATS: tuple[PromptFormat, ...] = get_args(PromptFormat)


class PromptRow(NamedTuple):
    """One image to generate."""

    file: str  # by whose name it is matched to its item
    item: str
    sample: int  # from 0
    level: int
    prompt: str


def prompt_rows(
    items: Sequence[Item[object]], *, style: StyleText | Literal["auto"] = "auto", samples: int = 1
) -> Iterator[PromptRow]:
    """Yield the images to generate, in item order."""
    name = items[0].suite
    if style not in ("auto", "none") and not suite(name).has_style_text:
        styled = ", ".join(suite_name for suite_name in suite_names() if suite(suite_name).has_style_text)
        raise FormalimgError(f"only {styled} has a style text: leave --style out for {name}")
    chosen: StyleText = ("long" if suite(name).has_style_text else "none") if style == "auto" else style
    condition = Condition(style=chosen)
    ids = {item.id for item in items}
    # With items a and a_1, the file a_1.png could be an image of either.
    flat = not any(f"{item.id}_{sample}" in ids for item in items for sample in range(samples))
    for item in items:
        prompt = condition.model_input(item).prompt
        for sample in range(samples):
            stem = item.id if samples == 1 else f"{item.id}{'_' if flat else '/'}{sample}"
            yield PromptRow(f"{stem}.png", item.id, sample, item.level, prompt)


def format_prompts(rows: Sequence[PromptRow], form: PromptFormat) -> str:
    """Return the prompts as file content in the given format."""
    match form:
        case "txt":
            return "".join(f"{row.file}\t{visible(' '.join(row.prompt.split()))}\n" for row in rows)
        case "jsonl":
            return "".join(f"{json.dumps(row._asdict(), ensure_ascii=False)}\n" for row in rows)
        case "csv":
            return csv_table([PromptRow._fields, *rows])
