"""The functions of the lmms-eval task beside this file: prompts of exported items, and verdicts of a formalimg judge.

The judge is the one that FORMALIMG_JUDGE names; without it the one that works offline, which reads drawings only.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from formalimg.benchmarks import Condition, Item, load
from formalimg.judges import Judge, LoadedImage, Unscored, open_judge

FOLDER = "knolling-items"
"""What `formalimg export` wrote: `dataset_path` of the task."""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Image.Image]:
    """Return the images that go with the prompt: none."""
    return []


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """Return the prompt of an item, with the text about style in front, as `formalimg run` sends it."""
    return Condition().model_input(_items(doc["suite"])[doc["id"]]).prompt


def process_results(doc: Mapping[str, Any], results: Sequence[str], **_: Any) -> dict[str, float]:
    """Return the metrics of one item; without an image or a verdict, that it is not covered."""
    path = _image_path(results[0] if results else "")
    if path is None:
        return {"coverage": 0.0}
    with Image.open(path) as opened:
        image = LoadedImage(path.read_bytes(), ImageOps.exif_transpose(opened).convert("RGB"))
    verdict = asyncio.run(_judge(doc["suite"]).judge(_items(doc["suite"])[doc["id"]], image))
    if isinstance(verdict, Unscored):
        return {"coverage": 0.0}
    return {"coverage": 1.0, "passed": float(verdict.passed), "score": verdict.score}


def mean(values: Sequence[float]) -> float:
    """Return the mean over the items that have this metric."""
    return sum(values) / len(values) if values else float("nan")


def _image_path(answer: str) -> Path | None:
    try:
        images = json.loads(answer)["images"]
    except (ValueError, TypeError, KeyError):
        return None
    return Path(images[0]) if images and Path(images[0]).is_file() else None


@cache
def _items(suite: str) -> dict[str, Item[Any]]:
    return {item.id: item for item in load(suite, FOLDER)}


@cache
def _judge(suite: str) -> Judge:
    return open_judge(suite, os.environ.get("FORMALIMG_JUDGE") or None)
