"""Speed and memory of the viewer: a run with 20,000 images, requested over loopback.

The run is created by the engine, with small images of noise and verdicts of six parts each. The site runs in its own
process. Each page is requested nine times; the median and the maximum are shown. The summary of a run is
computed once after each change, and when the site starts; how long that takes is shown too.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.base import LoadedImage
from formalimg.logic.parser import parse
from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.types import Item, Part, Setting, Verdict

CLASSES = ("cup", "hammer", "book", "plate", "hat", "phone")
PREDICATES = ("LeftOf", "RightOf", "Above", "Below", "LargerThan", "SmallerThan")

ADDRESSES = {
    "all runs": "/",
    "run": "/run?run=large",
    "gallery, first page": "/gallery?run=large",
    "gallery, last page": "/gallery?run=large&page=417",
    "gallery, failed, K 7": "/gallery?run=large&level=7&outcome=fail",
    "gallery, by kind": "/gallery?run=large&kind=relation",
    "gallery, by kind and word": "/gallery?run=large&kind=relation&word=Above",
    "gallery, four choices": "/gallery?run=large&level=7&outcome=fail&kind=relation&about=cup",
    "gallery, by words": "/gallery?run=large&text=hammer",
    "gallery, nothing found": "/gallery?run=large&text=nowhere",
    "image": "/item?run=large&item=10000&sample=0",
    "item over all runs": "/items/knolling/10000?run=large",
    "image, among failures": "/item?run=large&item=10000&sample=0&kind=relation&word=Above",
    "thumbnail": "/thumbnail?run=large&item=10000&sample=0",
}


class Guesser:
    """A judge that finds most objects, at random."""

    name, concurrency = "bench/guesser", 4
    settings: Mapping[str, Setting] = {}

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        chance = random.Random(item.id)
        parts = [Part(f"(Is ?x{n} '{CLASSES[n]}')", "object", 1.0, about=("Is",)) for n in range(3)]
        for n in range(3):
            predicate = chance.choice(PREDICATES)
            holds = chance.random() < 1 - 0.04 * item.level
            reason = f"?x{n} = cup #{n}, ?x0 = hammer #0: bottom edge {chance.randrange(1000)} < centre y 825"
            name = f"({predicate} ?x{n} ?x0)"
            parts.append(Part(name, "relation", float(holds), about=(predicate,), reason=reason))
        passed = all(part.score for part in parts)
        return Verdict(passed, tuple(parts), {"explanation": "as it was guessed\n" * 10})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--items", type=int, default=20000, help="images of the run (default 20,000)")
    options.add_argument("--runs", type=Path, help="keep the run in this folder, or use the one that is there")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.runs or Path(temporary) / "runs"
        if not (folder / "large").exists():
            made(folder / "large", chosen.items)
        measure(folder, Path(temporary) / "cache")


def made(folder: Path, count: int, suite: str = "knolling") -> None:
    begun = time.perf_counter()
    formula = parse("(exists ?x (Is ?x 'cup'))")
    items = [
        Item(suite, str(n), n % 10 + 1, f"A {CLASSES[n % 6]} above a {CLASSES[n // 6 % 6]}.", FormulaSpec(formula))
        for n in range(count)
    ]
    order = RunConfig(items, CallableModel(noise, name="bench/noise"), size=64)
    execute(order, folder, Guesser())
    print(f"{count:,} images made in {time.perf_counter() - begun:.1f} s")


def noise(prompt: str, seed: int) -> Image.Image:
    return Image.frombytes("RGB", (64, 64), random.Random(seed).randbytes(64 * 64 * 3))


def measure(folder: Path, cache: Path) -> None:
    command = [sys.executable, "-m", "formalimg", "view", str(folder), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(cache)) as server:
        try:
            assert server.stdout is not None
            site = server.stdout.readline().split()[0].rstrip("/")
            print(
                f"first answer of the run page, right after the start: {1000 * seconds(site + ADDRESSES['run']):.0f} ms"
            )
            for name, address in ADDRESSES.items():
                times = [1000 * seconds(site + address) for _ in range(9)]
                print(f"{name:26} {statistics.median(times):6.0f} ms, at most {max(times):.0f}")
            for line in Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmHWM"):
                    print(f"memory: peak {int(line.split()[1]) / 1024:.0f} MB")
        finally:
            server.terminate()


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "FORMALIMG_CACHE": str(cache), "PYTHONUNBUFFERED": "1"}


def seconds(address: str) -> float:
    begun = time.perf_counter()
    with urllib.request.urlopen(address) as answer:
        answer.read()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
