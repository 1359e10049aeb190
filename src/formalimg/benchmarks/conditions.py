"""Conditions: how the input of an image model is built from an item, for our own runs or for use elsewhere.

A prompt is plain, comes with a layout (FormalImg, sections 3.6 and B.2), or is rewritten by a chat model, which thinks
first. Prompts for use elsewhere include a file name per image, by which `--model folder/…` finds the images.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from formalimg._util.argument_types import require_types
from formalimg._util.text import csv_table, visible
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.scenes.scene import Scene
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.prompts import Prompt


LayoutForm: TypeAlias = Literal["plain", "rewritten", "text-layout", "image-layout"]
StyleText: TypeAlias = Literal["long", "short", "none"]
STYLES: tuple[StyleText, ...] = ("long", "short")  # The styles that have a text
_OURS = Path(__file__).parent / "prompts"
_IMAGE = 1024


class ModelInput(NamedTuple):
    """Input of an image model: a prompt, and a reference image if the condition has one."""

    prompt: str
    reference: bytes | None


@dataclass(frozen=True)
class Condition:
    """How an item is presented to an image model."""

    form: LayoutForm = "plain"  # the prompt alone, as a chat model has rewritten it, or with a layout as text or image
    with_prompt: bool = True  # whether the prompt is sent as well; False only together with a layout
    style: StyleText = "none"  # the text about the style of image that is put in front; only knolling has one
    prompts: Path | None = None  # a folder with texts that replace ours

    def __post_init__(self) -> None:
        require_types(Condition, vars(self))
        if not self.needs_layout and not self.with_prompt:
            raise FormalimgError(
                "a condition without prompt and layout asks for nothing: choose a layout, or keep the prompt"
            )

    @property
    def name(self) -> str:
        """Short name for tables and run names; empty for plain prompts."""
        if self.form == "plain":
            return ""
        return self.form if self.with_prompt else f"{self.form}-without-words"

    @property
    def needs_layout(self) -> bool:
        """Whether each item needs a layout."""
        return self.form in ("text-layout", "image-layout")

    @cached_property
    def rewriting(self) -> Prompt | None:
        """The prompt template of the rewriter; None if prompts are not rewritten."""
        return self._known["rewrite"] if self.form == "rewritten" else None

    @cached_property
    def texts(self) -> tuple[Prompt, ...]:
        """The prompt templates in use, in order of use."""
        chosen = [f"style_{self.style}"] if self.style != "none" and self.with_prompt else []
        if self.needs_layout:
            chosen.append(self.form.replace("-", "_") + ("" if self.with_prompt else "_only"))
        return tuple(self._known[name] for name in chosen)

    @cached_property
    def _known(self) -> Mapping[str, Prompt]:
        from formalimg.prompts import load_prompts  # here, because plain prompts need none

        return load_prompts(_OURS, self.prompts)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the prompt templates in use, for the record."""
        sent = self.texts if self.rewriting is None else (*self.texts, self.rewriting)
        return {prompt.name: prompt.version for prompt in sent}

    def model_input(self, item: Item[object], layout: Scene | None = None) -> ModelInput:
        """Return the image model's input for an item, before any rewriting."""
        if not self.needs_layout:
            # The authors put nothing between their text and the words.
            before = (prompt.fill({}) if prompt.origin else f"{prompt.text}\n\n" for prompt in self.texts)
            return ModelInput("".join([*before, item.prompt]), None)
        if layout is None:
            raise FormalimgError(f"there is no layout for item {item.id}: give layouts for all items")
        filled = [prompt.fill({"layout": layout_text(layout)}) for prompt in self.texts]
        # Style first, then what is asked, then the plan that does it.
        words = [*filled[:-1], item.prompt, filled[-1]] if self.with_prompt else filled
        return ModelInput("\n\n".join(words), layout_image(layout) if self.form == "image-layout" else None)


def layout_text(layout: Scene) -> str:
    """Return a layout as text: one object per line, in the published grounding format."""
    objects = layout.to_json()["objects"]
    assert isinstance(objects, list)
    return "[\n" + ",\n".join(f"  {json.dumps(entry, ensure_ascii=False)}" for entry in objects) + "\n]"


def layout_image(layout: Scene) -> bytes:
    """Return a layout as an image of labelled rectangles, as PNG bytes."""
    from formalimg.drawing.icon_scene import layout_png  # heavy, and needed for this condition only

    return layout_png(layout, _IMAGE)


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
