"""The seconds that images take are recorded once: those of a batch share its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from formalimg.models.base import ImageRequest, ImageResult
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import open_run
from tests.support.models import Speckles, small_items, speckled_for


class Batches(Speckles):
    """Makes all images of a batch before it gives the first, as local models do."""

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        await asyncio.sleep(0.2)
        for request in requests:
            yield speckled_for(request)


def test_a_batch_is_counted_once(tmp_path: Path) -> None:
    order = RunConfig(small_items(8), Batches(batch=8, concurrency=1), size=16, made_with="formalimg")
    execute(order, tmp_path / "run")
    seconds = open_run(tmp_path / "run").image_seconds()
    assert len(seconds) == 8
    assert sum(seconds) >= 0.2
    assert sum(seconds) < 4 * max(seconds), "the whole batch was counted for each of its images"
