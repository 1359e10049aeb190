"""Export of a run in the layout of its benchmark's published scripts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.runs.image_store import ImageLocation
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Item, Unscored


class ExportedRun(NamedTuple):
    """The result of an export."""

    folder: Path  # the folder
    images: int  # the number of images
    scored: int  # the number of images with scores or verdicts
    without: Mapping[str, int]  # the number of images that are missing or have no scores, by reason


def export_run(run: StoredRun, folder: str | Path, name: str) -> ExportedRun:
    """Write the images and the verdicts or scores of a run in the layout of its benchmark's published scripts."""
    exported = suite(run.manifest.suite).export_run(run, folder, name)
    if exported is None:
        raise FormalimgError(
            f"{run.manifest.suite} has no published layout: `formalimg report --format json` writes its numbers, and "
            "the images are in the run folder"
        )
    return exported


def require_model_name(name: str, *reserved: str) -> None:
    """Raise an error if a model name cannot be used as a folder name."""
    if not re.fullmatch(r"[\w.-]{1,100}", name) or name in (".", "..", *reserved):
        raise FormalimgError(f"{name!r} cannot be a folder: name the model with letters, digits, . _ -")


def copy_image(image: ImageLocation, path: Path) -> None:
    """Copy an image of a run byte by byte, creating the target folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        data = image.read_bytes()
    except OSError as error:
        raise FormalimgError(f"cannot copy {image}: {error.strerror}") from error
    path.write_bytes(data)


def unscored_text(images: Sequence[Judged], items: Mapping[str, Item[object]]) -> str:
    """Return a JSON list of the unscored images with reasons, as published layouts have no field for them."""
    records = [{**image.outcome._asdict(), "prompt": items[image.outcome.item].prompt} for image in images]
    return json.dumps(records, indent=4, ensure_ascii=False) + "\n"


def count_unscored(images: Sequence[Judged]) -> Mapping[str, int]:
    """Return the number of images without a verdict, by reason."""
    return Counter(image.verdict.reason for image in images if isinstance(image.verdict, Unscored))
