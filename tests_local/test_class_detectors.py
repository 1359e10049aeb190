"""Detectors and segmenters with fixed classes: with random weights they find noise, but always on the canvas."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from PIL import Image

from formalimg.benchmarks.geneval.form import parse_metadata
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.judges.grounders.detector import open_detector
from formalimg.scenes.objects import CANVAS
from formalimg.types import Item, Unscored, Verdict

pytest.importorskip("torch", reason="needs the libraries of local models: pip install 'formalimg[local]'")
pytest.importorskip("transformers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

LABELS = dict(enumerate(("cup", "dog", "mouse")))


def save_tiny_yolos(folder: Path) -> Path:
    """YOLOS, a detector."""
    import torch
    from transformers import YolosConfig, YolosForObjectDetection, YolosImageProcessorPil

    torch.manual_seed(8)
    config = YolosConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        image_size=[64, 64],
        patch_size=16,
        num_detection_tokens=10,
        id2label=LABELS,
        label2id={name: number for number, name in LABELS.items()},
    )
    YolosForObjectDetection(config).save_pretrained(folder)
    YolosImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 64}).save_pretrained(folder)
    return folder


def save_tiny_mask2former(folder: Path) -> Path:
    """Mask2Former, a segmenter."""
    import torch
    from transformers import (
        Mask2FormerConfig,
        Mask2FormerForUniversalSegmentation,
        Mask2FormerImageProcessorPil,
        SwinConfig,
    )

    torch.manual_seed(9)
    config = Mask2FormerConfig(
        backbone_config=SwinConfig(
            image_size=64,
            embed_dim=16,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 1, 1],
            window_size=7,
            out_features=["stage1", "stage2", "stage3", "stage4"],
        ),
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=37,
        encoder_layers=2,
        decoder_layers=2,
        num_attention_heads=4,
        dim_feedforward=37,
        num_queries=10,
        id2label=LABELS,
        label2id={name: number for number, name in LABELS.items()},
    )
    Mask2FormerForUniversalSegmentation(config).save_pretrained(folder)
    Mask2FormerImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder


TINY: Mapping[str, Callable[[Path], Path]] = {"yolos": save_tiny_yolos, "mask2former": save_tiny_mask2former}


@pytest.fixture(scope="module", params=list(TINY))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TINY[request.param](tmp_path_factory.mktemp("models") / request.param)


def noise(width: int = 90, height: int = 60) -> LoadedImage:
    return LoadedImage(b"", Image.effect_noise((width, height), 90).convert("RGB"))


def test_whatever_is_found_lies_on_the_canvas_under_the_words_that_were_asked_for(folder: Path) -> None:
    grounder = open_detector(str(folder), {"threshold": "0", "overlap": "1"})
    found = asyncio.run(grounder.ground(noise(), ("cup", "computer mouse", "dog")))
    assert isinstance(found, Grounding)
    assert found.scene.objects or found.evidence.get("dropped")
    for one in found.scene.objects:
        assert one.label in ("cup", "computer mouse", "dog")
        assert 0 <= one.box.xmin < one.box.xmax <= CANVAS
        assert 0 <= one.box.ymin < one.box.ymax <= CANVAS
    assert len(found.evidence["found"]) == len(found.scene.objects)  # type: ignore[arg-type]


def test_a_class_that_it_was_not_trained_on_is_unscored(folder: Path) -> None:
    found = asyncio.run(open_detector(str(folder), {}).ground(noise(), ("cup", "zebra")))
    assert isinstance(found, Unscored)
    assert "zebra" in found.detail


def test_it_judges_items_of_objects(folder: Path) -> None:
    judge = open_judge("geneval", f"detector/{folder}", {"confidence": "0"})
    metadata = {"tag": "single_object", "include": [{"class": "cup", "count": 1}]}
    verdict = asyncio.run(judge.judge(Item("geneval", "0", 1, "a cup", parse_metadata(metadata)), noise()))
    assert isinstance(verdict, Verdict)
