"""Conditions: what an image model is sent for an item, with and without words, with and without a layout."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from formalimg import Box, FormalimgError, Scene, SceneObject, parse
from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import read_layout
from formalimg.types import Item

LAYOUT = Scene.of(
    [SceneObject("cup", Box(100, 100, 300, 300), "red"), SceneObject("cutting_board", Box(500, 500, 900, 800), "brown")]
)
ITEM = Item[object](
    "knolling", "7", 1, "There is a cup {here}.", FormulaSpec.of(parse("(exists ?c (Is ?c 'cup'))"), LAYOUT)
)


@pytest.mark.parametrize("style", ["long", "short"])
def test_the_style_stands_in_front(style: str) -> None:
    condition = Condition(style=style)  # type: ignore[arg-type]
    prompt, reference = condition.model_input(ITEM)
    assert prompt.endswith(f"\n\n{ITEM.prompt}")
    assert "knolling" in prompt.lower()
    assert "version:" not in prompt
    assert reference is None
    assert condition.versions == {f"style_{style}": "version 2" if style == "long" else "version 1"}


def test_a_layout_as_text_follows_the_words() -> None:
    prompt, reference = Condition("text-layout", style="short").model_input(ITEM, LAYOUT)
    assert reference is None
    assert ITEM.prompt in prompt
    assert Scene.from_json({"objects": json.loads(prompt[prompt.rindex("[\n") :])}) == LAYOUT


def test_a_layout_alone_leaves_out_words_and_style() -> None:
    condition = Condition("text-layout", with_prompt=False, style="long")
    prompt, _ = condition.model_input(ITEM, LAYOUT)
    assert ITEM.prompt not in prompt
    assert "cutting_board" in prompt
    assert list(condition.versions) == ["text_layout_only"]
    assert condition.name == "text-layout-without-words"


@pytest.mark.parametrize("words", [True, False])
def test_a_layout_as_an_image(words: bool) -> None:
    prompt, reference = Condition("image-layout", with_prompt=words).model_input(ITEM, LAYOUT)
    assert (ITEM.prompt in prompt) == words
    assert "box_2d" not in prompt
    assert reference is not None
    with Image.open(io.BytesIO(reference)) as image:
        assert image.size == (1024, 1024)
        assert read_layout(image) == LAYOUT


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(FormalimgError, match="asks for nothing"):
        Condition(with_prompt=False)
    with pytest.raises(FormalimgError, match="no layout for item 7"):
        Condition("text-layout").model_input(ITEM)


def test_texts_of_ones_own_replace_ours(tmp_path: Path) -> None:
    (tmp_path / "style_short.txt").write_text("Flat lay, please.")
    condition = Condition(style="short", prompts=tmp_path)
    assert condition.model_input(ITEM).prompt == f"Flat lay, please.\n\n{ITEM.prompt}"
    assert "the user's own" in condition.versions["style_short"]
    (tmp_path / "text_layout.txt").write_text("No plan here.")
    with pytest.raises(FormalimgError, match=r"has no \{layout\}"):
        Condition("text-layout", prompts=tmp_path).model_input(ITEM, LAYOUT)
