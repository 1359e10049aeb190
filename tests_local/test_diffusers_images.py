"""Local pipelines make images in runs like any other model: reproducible, in batches, on record."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.support.models import NumberJudge, small_items
from tests.support.run_contents import contents, order, outcomes, rows

from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.local.diffusers_model import DiffusersModel, open_diffusers
from formalimg.models.local.diffusers_pipeline import LoadedPipeline
from formalimg.runs.execution import execute
from tests_local.tiny.pipelines import TINY_PIPELINES

pytest.importorskip("diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

WORDS = ["a red cup", "two pens left of a book", "a blue bottle above a plate"]


@pytest.fixture(scope="module", params=list(TINY_PIPELINES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TINY_PIPELINES[kind](tmp_path_factory.mktemp(kind))


@pytest.fixture(scope="module")
def model(folder: Path) -> DiffusersModel:
    """Loaded once for all tests that need nothing special."""
    return open_diffusers(str(folder), {"steps": "2", "batch": "3"})


def test_a_run_made_twice_is_the_same_to_the_last_byte(kind: str, folder: Path, tmp_path: Path) -> None:
    items = small_items(5)
    found = []
    for name in ("one", "two"):
        model = open_diffusers(str(folder), {"steps": "2", "batch": "2"})
        progress = execute(order(model, items), tmp_path / name, NumberJudge())
        assert progress.made == 5
        found.append(contents(tmp_path / name))
    assert found[0] == found[1]
    assert all(outcome.passed is not None for outcome in outcomes(tmp_path / "one"))
    assert len({data for name, data in found[0]["files"].items() if name.endswith(".png")}) == 5
    for seed, served in rows(tmp_path / "one", "SELECT seed, served FROM pictures"):
        told = json.loads(served)
        assert told["pipeline"] == kind
        assert (told["seed"], told["steps"], told["size"], told["device"]) == (seed, 2, "64x64", "cpu")
        assert {"diffusers", "torch", "guidance", "dtype", "model"} <= set(told)


def test_batches_equal_singles(model: DiffusersModel) -> None:
    requests = [ImageRequest(str(number), 0, words, 40 + number, 64) for number, words in enumerate(WORDS)]
    together = made(model, requests)
    alone = [made(model, [request])[0] for request in requests]
    for one, other in zip(together, alone, strict=True):
        difference = np.abs(pixels(one) - pixels(other))
        assert difference.max() <= 2
        assert difference.mean() < 0.05


def test_words_and_seeds_make_a_difference(model: DiffusersModel) -> None:
    first = ImageRequest("1", 0, WORDS[0], 7, 64)
    again, other_words, other_seed = (
        ImageRequest("1", 0, WORDS[0], 7, 64),
        ImageRequest("1", 0, WORDS[1], 7, 64),
        ImageRequest("1", 0, WORDS[0], 8, 64),
    )
    one, same, *others = (made(model, [request])[0] for request in (first, again, other_words, other_seed))
    assert one.data == same.data
    for other in others:
        assert np.abs(pixels(one) - pixels(other)).mean() > 0.2


def test_sizes_are_what_the_pipeline_can_make_and_are_on_record(model: DiffusersModel) -> None:
    requests = [ImageRequest("1", 0, WORDS[0], 7, 50), ImageRequest("2", 0, WORDS[0], 7, 80)]
    for answer, side in zip(made(model, requests), (48, 80), strict=True):
        assert pixels(answer).shape == (side, side, 3)
        assert answer.served["size"] == f"{side}x{side}"


def test_words_that_nobody_reads_are_on_record(kind: str, model: DiffusersModel) -> None:
    long = ImageRequest("1", 0, "many objects " * 20, 7, 64)
    reads_far = kind == "FluxPipeline"
    assert (made(model, [long])[0].served["tokens_cut"] == 0) == reads_far
    assert made(model, [ImageRequest("1", 0, "few objects", 7, 64)])[0].served["tokens_cut"] == 0


def test_the_loop_stays_free_while_images_are_made(model: DiffusersModel, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    paint = LoadedPipeline.generate

    def waiting_for_the_loop(self: LoadedPipeline, requests: Sequence[ImageRequest]) -> Any:
        assert free.wait(20), "the loop did nothing meanwhile"
        return paint(self, requests)

    async def meanwhile() -> None:
        making = asyncio.create_task(answered(model, [ImageRequest("1", 0, WORDS[0], 7, 64)]))
        await asyncio.sleep(0.05)
        free.set()
        assert isinstance((await making)[0], Generated)

    monkeypatch.setattr(LoadedPipeline, "generate", waiting_for_the_loop)
    asyncio.run(meanwhile())


def made(model: DiffusersModel, requests: Sequence[ImageRequest]) -> list[Generated]:
    answers = asyncio.run(answered(model, requests))
    assert all(isinstance(answer, Generated) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, Generated)]


async def answered(model: DiffusersModel, requests: Sequence[ImageRequest]) -> list[ImageResult]:
    return [answer async for answer in model.generate(requests)]


def pixels(answer: Generated) -> Any:
    return np.asarray(Image.open(io.BytesIO(answer.data)), dtype=float)
