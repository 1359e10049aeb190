"""The published FormalImg sample and ConceptMix prompts, where they lie beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.loader import load
from formalimg.types import Item

FOLDER = Path(__file__).parents[3] / "shared" / "official" / "formalimg" / "benchmarks"


class Instance(NamedTuple):
    """One published instruction."""

    suite: str
    id: str
    data: dict[str, Any]


def published_instances() -> list[Instance]:
    """Return all instances of the sample; skip the test where the sample is missing."""
    paths = sorted(FOLDER.glob("*/*.json"))
    if not paths:
        pytest.skip(f"the published sample is not at {FOLDER}")
    return [Instance(path.parent.name, path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


CONCEPTS = FOLDER.parents[1] / "conceptmix"


def published_concepts() -> Path:
    """Return the folder of the published ConceptMix data; skip the test where it is missing."""
    if not (CONCEPTS / "sentence_collection").is_dir():
        pytest.skip(f"the published prompts of ConceptMix are not at {CONCEPTS}")
    return CONCEPTS


@cache
def published_concept_items() -> list[Item[ConceptSpec]]:
    """Return the items of the published ConceptMix data, which take a second to read; skip where it is missing."""
    return load("conceptmix", published_concepts())
