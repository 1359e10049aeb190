"""Speed and memory of the run engine: models and judges that only wait, against a plain loop without overlap.

The lower bound is the time of the connections alone: n images, each 50 ms, 64 at a time, and 0.1 s until
the first image is through both stages. The plain loop generates all images and then judges all, with as many
connections; it decodes the images, but stores nothing. Each measurement runs in its own process.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.base import LoadedImage
from formalimg.logic.parser import parse
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item, Part, Setting, Verdict

WAIT = 0.05
CONNECTIONS = 64


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--items", type=int, default=5000, help="images to make and judge (default 5,000)")
    options.add_argument("--alone", choices=["engine", "plain"], help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.alone:
        print(json.dumps(measured(chosen.alone, chosen.items)))
        return
    ideal = chosen.items * WAIT / CONNECTIONS + 2 * WAIT
    load = f"{CONNECTIONS} connections each, {WAIT * 1000:.0f} ms an answer"
    print(f"{chosen.items:,} images, {load}: ideal {ideal:.2f} s")
    engine = in_its_own_process("engine", chosen.items)
    plain = in_its_own_process("plain", chosen.items)
    for name, found in (("engine", engine), ("plain loop, keeps nothing", plain)):
        print(
            f"{name}: {found['seconds']:.2f} s from the first request to the last answer, "
            f"{ideal / found['seconds']:.2f} of the ideal; {found['whole']:.2f} s in all, "
            f"{found['cpu'] / chosen.items * 1e6:.0f} µs of processor time per image"
        )
    few = in_its_own_process("engine", chosen.items // 5)
    growth = (engine["peak"] - few["peak"]) / 1024
    print(f"memory: peak {engine['peak'] / 1024:.0f} MB, {growth:+.1f} MB against {chosen.items // 5:,} images")


def in_its_own_process(sort: str, items: int) -> Mapping[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--alone", sort, "--items", str(items)], check=True, capture_output=True, text=True
    )
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


def measured(sort: str, count: int) -> dict[str, float]:
    """Seconds from the first request to the last answer and in all, processor seconds, and peak memory (KB)."""
    spec = FormulaSpec.of(parse("(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"))
    items = [Item("knolling", str(number), 1, f"A red cup, number {number}.", spec, (), "1") for number in range(count)]
    model, judge = WaitingModel(small_image()), WaitingJudge()
    called = time.monotonic()
    if sort == "plain":
        asyncio.run(plain_loop(items, model, judge))
    else:
        with tempfile.TemporaryDirectory() as place:
            execute(RunConfig(items, model, size=64), Path(place) / "run", judge)
    whole = time.monotonic() - called
    cpu = time.process_time() - model.began[1]
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"seconds": judge.ended - model.began[0], "whole": whole, "cpu": cpu, "peak": usage.ru_maxrss}


async def plain_loop(items: Sequence[Item[object]], model: WaitingModel, judge: WaitingJudge) -> None:
    images: dict[str, bytes] = {}

    async def make(left: Iterator[Item[object]]) -> None:
        for item in left:
            async for answer in model.generate([ImageRequest(item.id, 0, item.prompt, 1, 64)]):
                assert isinstance(answer, Generated)
                images[item.id] = answer.data

    async def look(left: Iterator[Item[object]]) -> None:
        for item in left:
            data = images[item.id]
            await judge.judge(item, LoadedImage(data, Image.open(io.BytesIO(data)).convert("RGB")))

    for work in (make, look):
        left = iter(items)
        await asyncio.gather(*(work(left) for _ in range(CONNECTIONS)))


def small_image() -> bytes:
    file = io.BytesIO()
    Image.radial_gradient("L").resize((64, 64)).convert("RGB").save(file, "PNG")
    return file.getvalue()


@dataclass
class WaitingModel:
    """Answers each request after a delay; records the time of the first one."""

    image: bytes
    name: str = "benchmark/waiting"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    batch: int = 1
    concurrency: int = CONNECTIONS
    sees_spec: bool = False
    began: tuple[float, float] = (0.0, 0.0)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        if not self.began[0]:
            self.began = time.monotonic(), time.process_time()
        for request in requests:
            await asyncio.sleep(WAIT)
            # What follows the end of a PNG file is ignored: each image has its own bytes.
            yield Generated(self.image + request.item.encode())


@dataclass
class WaitingJudge:
    """Passes each image after a delay; records the time of the last one."""

    name: str = "benchmark/waiting"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = CONNECTIONS
    ended: float = 0.0

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        await asyncio.sleep(WAIT)
        self.ended = time.monotonic()
        return Verdict(True, (Part("shown", "object", 1.0),), {"scene": [], "explanation": item.prompt})


if __name__ == "__main__":
    main()
