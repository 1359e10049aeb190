"""Processes that look at images may die: nothing is lost by it, and none is left behind."""

from __future__ import annotations

import asyncio
import io
import multiprocessing
import os
from collections.abc import Sequence

import pytest

from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.rewards.server.processes import ProcessGrounder
from formalimg.runs.inspection import inspect
from tests.rewards_server.servers import knolling


def _image() -> LoadedImage:
    file = io.BytesIO()
    draw(knolling()[500].spec.witness, 128).save(file, "PNG")
    found = inspect(file.getvalue())
    assert isinstance(found, LoadedImage)
    return found


def test_an_image_is_looked_at_again_and_the_others_end_too() -> None:
    image, before = _image(), set(multiprocessing.active_children())
    grounder = ProcessGrounder("builtin/icons", 2)
    try:
        asyncio.run(grounder.warm_up())
        first, second = set(multiprocessing.active_children()) - before
        first.kill()
        first.join()
        found = asyncio.run(grounder.ground(image, ["cup"]))
        assert isinstance(found, Grounding)
        assert found == asyncio.run(open_grounder("builtin/icons").ground(image, ["cup"]))
        second.join(30)
        left = second.is_alive()
        second.kill()  # so that the test ends even where it fails
        assert not left
    finally:
        grounder.close()
    assert set(multiprocessing.active_children()) == before


def _die(data: bytes, classes: Sequence[str]) -> None:
    os._exit(1)


def test_an_image_that_kills_whoever_looks_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.rewards.server.processes._ground_in_worker", _die)
    grounder = ProcessGrounder("builtin/icons", 1)
    try:
        with pytest.raises(RuntimeError, match="died, one after the other"):
            asyncio.run(grounder.ground(_image(), ["cup"]))
    finally:
        grounder.close()
