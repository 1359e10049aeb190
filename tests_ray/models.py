"""Image models that workers open: they wait, raise, or die, and write down what they were asked and where."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.models import NumberJudge, speckled_for

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.types import Setting


@dataclass
class Marked:
    """Paints speckles; what it does with an item can be said by the item's id.

    Attributes:
        log: a line for each request: item, node, process.
        seconds: waits so long before each answer.
        gate: after so many requests, of all copies together, all others wait for this file.
        raises: items for which it raises, and with them their whole batch.
        exits: items for which it calls `sys.exit()`, in a thread as models of one's own do.
        ends: items at which it ends the run, in the middle of their batch.
        dies: items at which its process ends.
        odd: items that it answers with something that cannot travel.
        dollars: what each image costs.
    """

    log: str
    seconds: float = 0.0
    gate: tuple[int, str] | None = None
    raises: tuple[str, ...] = ()
    exits: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    dies: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    dollars: float = 0.0
    batch: int = 1
    concurrency: int = 2
    name: str = "test/marked"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"version": 1})
    sees_spec: bool = False

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        node = _node()
        with Path(self.log).open("a", encoding="utf-8") as file:
            file.writelines(f"{request.item} {node} {os.getpid()}\n" for request in requests)
        await asyncio.sleep(self.seconds)
        if self.gate and len(_noted(self.log)) > self.gate[0]:
            while not Path(self.gate[1]).exists():
                await asyncio.sleep(0.01)
        for request in requests:
            if request.item in self.dies:
                os._exit(1)
            if request.item in self.raises:
                raise ValueError(f"item {request.item} cannot be painted")
            if request.item in self.exits:
                await asyncio.to_thread(sys.exit, "no more")
        for request in requests:
            if request.item in self.ends:
                raise FormalimgError("there is no credit left")
            answer = speckled_for(request)
            assert isinstance(answer, Generated)
            served: Any = {"lock": threading.Lock()} if request.item in self.odd else {}
            yield Generated(answer.data, served, self.dollars)


def of_this_process() -> Marked:
    """A model that is another in each process."""
    return Marked("", settings={"process": os.getpid()})


def opened_nowhere_else(log: str, here: int) -> Marked:
    """A model that takes for ever to open in any process but this one; each of these is noted."""
    if os.getpid() != here:
        _note(log, os.getpid())
        time.sleep(3600)
    return Marked(log)


def open_judge(**changes: Any) -> NumberJudge:
    return NumberJudge(**changes)


def paint(prompt: str, seed: int, size: int, log: str, allowed: str) -> Any:
    """For the command line, as python/tests_ray/models.py:paint; waits until the file `allowed` allows one more."""
    from PIL import Image

    _note(f"{log}.processes", os.getpid())
    while len(_noted(log)) >= int(_noted(allowed)[-1]):
        time.sleep(0.01)
    _note(log, seed)
    return Image.radial_gradient("L").resize((size, size)).convert("RGB").point(lambda value: (value + seed) % 256)


def _note(path: str, number: int) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")


def _noted(path: str) -> list[str]:
    """The lines of a file that may just be written to."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1] if Path(path).exists() else []


def _node() -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id()) if ray.is_initialized() else "here"
