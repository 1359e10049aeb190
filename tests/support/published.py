"""The published FormalImg sample and ConceptMix prompts, where they lie beside the checkout."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SAMPLE = Path(__file__).parents[3] / "shared" / "official" / "formalimg" / "benchmarks"

ODD = {"natural/1244.json", "natural/1578.json"}
"""Published instances with predicates that the published configuration of their suite does not have."""


def _without_odd() -> Path:
    """Return a copy of the sample without the odd instances, or the missing folder itself."""
    if not SAMPLE.is_dir():
        return SAMPLE
    home = tempfile.mkdtemp(prefix="published-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    folder = Path(home) / SAMPLE.name
    for path in SAMPLE.rglob("*"):
        name = path.relative_to(SAMPLE)
        if path.is_file() and name.as_posix() not in ODD:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
    return folder


FOLDER = _without_odd()


class Instance(NamedTuple):
    """One published instruction."""

    suite: str
    id: str
    data: dict[str, Any]


def published_instances() -> list[Instance]:
    """Return all instances of the sample but the odd ones; skip the test where the sample is missing."""
    paths = sorted(FOLDER.glob("*/*.json"))
    if not paths:
        pytest.skip(f"the published sample is not at {SAMPLE}")
    return [Instance(path.parent.name, path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


CONCEPTS = SAMPLE.parents[1] / "conceptmix"


def published_concepts() -> Path:
    """Return the folder of the published ConceptMix data; skip the test where it is missing."""
    if not (CONCEPTS / "sentence_collection").is_dir():
        pytest.skip(f"the published prompts of ConceptMix are not at {CONCEPTS}")
    return CONCEPTS
