"""Colours by CLIP: with random weights any of the words, the same each time, whatever was asked before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PIL import Image

from formalimg.benchmarks.geneval.form import parse_metadata
from formalimg.benchmarks.object_spec import OBJECT_COLORS
from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Verdict
from tests_local.tiny.words import clip_tokenizer

torch = pytest.importorskip("torch", reason="needs the libraries of local models: pip install 'formalimg[local]'")
pytest.importorskip("transformers", reason="needs the libraries of local models: pip install 'formalimg[local]'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPProcessor

    torch.manual_seed(10)
    path = tmp_path_factory.mktemp("clip")
    tokenizer = clip_tokenizer(48)
    narrow = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "max_position_embeddings": 48,
    }
    vision = {"image_size": 32, "patch_size": 8}
    config = CLIPConfig(text_config={**text, **narrow}, vision_config={**vision, **narrow}, projection_dim=32)
    CLIPModel(config).save_pretrained(path)
    side = {"height": 32, "width": 32}
    images = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=side)
    CLIPProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(path)
    return path


def test_names_are_of_the_list_and_do_not_depend_on_what_came_before(folder: Path) -> None:
    from formalimg.judges.grounders.colors import open_clip_colors

    image = Image.effect_noise((90, 60), 90).convert("RGB")
    boxes = [Box(0, 0, 500, 500), Box(400, 100, 1000, 1000), Box(999, 999, 1000, 1000)]
    reader = open_clip_colors(str(folder), OBJECT_COLORS)
    first, again = (reader.name_colors(image, boxes, "cup") for _ in range(2))
    assert first == again
    assert set(first) <= set(OBJECT_COLORS)
    other = open_clip_colors(str(folder), OBJECT_COLORS)
    assert [other.name_colors(image, [box], "cup")[0] for box in boxes] == first
    assert reader.name_colors(image, [], "cup") == []


def test_it_names_the_colours_of_a_judge(folder: Path) -> None:
    drawing = draw(Scene.of([SceneObject("cup", Box(400, 400, 600, 600), "red")]), 256)
    seen = []
    for color in OBJECT_COLORS:
        judge = open_judge("geneval", "builtin/icons", {"colors": "clip", "clip": str(folder)})
        assert judge.settings["clip"] == str(folder)
        metadata = {"tag": "colors", "include": [{"class": "cup", "count": 1, "color": color}]}
        item = Item("geneval", "0", 1, "a cup", parse_metadata(metadata))
        verdict = asyncio.run(judge.judge(item, LoadedImage(b"", drawing)))
        assert isinstance(verdict, Verdict)
        seen.append(verdict.passed)
    assert seen.count(True) == 1, "the cup has one of the ten colours"
