"""Time and memory of large runs: items, run, resume, report, viewer and bundle at 1,000, 10,000 and 100,000 items.

The items are those that ship with the package, in turn and with new ids. Image model and judge cost nothing: a tiny
image, and a verdict of two parts; what is measured is what formalimg adds. Each step runs in its own process. The first
step, `load`, comes with an empty cache, so that all items are checked; later ones may know the file. A run is stopped
in the middle and goes on in the next step, so that both halves together are the whole. Slopes are those of the last two
sizes on a log-log scale: 1 grows as the items do.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # each step is measured with what it loads
    from formalimg.judges.base import LoadedImage
    from formalimg.models.base import ImageRequest, ImageResult
    from formalimg.types import Item, Setting, Verdict

STEPS = ("load", "plan", "run", "resume-half", "resume-done", "report", "view", "bundle")


class Measured(NamedTuple):
    """Seconds in all, seconds to the first image (or page), peak memory in MB, and processor seconds of the process."""

    seconds: float
    first: float | None
    peak: float
    cpu: float = 0.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,10000,100000", help="numbers of items (default 1000,10000,100000)")
    options.add_argument("--suite", default="knolling", help="whose items are repeated (default knolling)")
    options.add_argument("--steps", default=",".join(STEPS), help=f"what to measure (default {','.join(STEPS)})")
    options.add_argument("--folder", type=Path, help="keep items and runs here, or use those that are there")
    options.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        print(json.dumps(CHILDREN[chosen.child[0]](chosen.suite, Path(chosen.child[1]), float(chosen.child[2]))))
        return
    sizes = [int(text) for text in chosen.sizes.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        table = {size: measure(chosen.suite, size, folder / str(size), chosen.steps.split(",")) for size in sizes}
    print_table(chosen.suite, table)


def measure(suite: str, size: int, folder: Path, steps: Sequence[str]) -> dict[str, Measured]:
    """Measure the steps at one size, in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "items.jsonl").exists():
        write_repeated(suite, size, folder / "items.jsonl")
    if "run" in steps:
        shutil.rmtree(folder / "run", ignore_errors=True)
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    if "load" in steps:
        shutil.rmtree(folder / "cache", ignore_errors=True)
    found = {}
    for step in steps:
        command = [sys.executable, __file__, "--suite", suite, "--child", step, str(folder), str(time.time())]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit(f"{step} of {size:,} items failed:\n{done.stderr[-2000:]}")
        found[step] = Measured(*json.loads(done.stdout.splitlines()[-1]))
        seconds, first, peak, cpu = found[step]
        to_first = "" if first is None else f", first {first:.1f} s"
        print(f"{size:>9,} {step:<12}{seconds:>9.1f} s{to_first}, {peak:,.0f} MB, {cpu:.1f} s CPU", flush=True)
    return found


def write_repeated(suite: str, size: int, path: Path) -> None:
    """Write an items file of this size: the items of a suite in turn, each with an id of its own."""
    from formalimg.benchmarks.items_file import encode_item
    from formalimg.benchmarks.loader import load

    records = [json.loads(encode_item(item)) for item in load(suite)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(size):
            record = {**records[number % len(records)], "id": str(number)}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def print_table(suite: str, table: Mapping[int, Mapping[str, Measured]]) -> None:
    sizes = list(table)
    print(f"\n{suite}: seconds (to the first image or page) and peak MB")
    print(f"  {'':<12}" + "".join(f"{size:>26,}" for size in sizes) + f"{'slopes: time, memory':>24}")
    for step in table[sizes[0]]:
        cells = [table[size][step] for size in sizes]
        text = "".join(
            f"{cell.seconds:>10.1f}{'' if cell.first is None else f'({cell.first:.1f})':>8}{cell.peak:>8,.0f}"
            for cell in cells
        )
        slopes = ""
        if len(sizes) > 1:
            slopes = f"{slope(sizes, [c.seconds for c in cells]):.2f}, {slope(sizes, [c.peak for c in cells]):.2f}"
        print(f"  {step:<12}{text}{slopes:>24}")


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the growth exponent between the last two sizes."""
    return math.log(max(values[-1], 1e-3) / max(values[-2], 1e-3)) / math.log(sizes[-1] / sizes[-2])


# --- the steps, each in a process of its own


def load_items(suite: str, folder: Path, began: float) -> Measured:
    from formalimg.runs.config import RunOptions

    options = RunOptions(suite=suite, items=folder / "items.jsonl")
    assert len(options.suite_items)
    return measured(began)


def dry_run(suite: str, folder: Path, began: float) -> Measured:
    parties = "--model", f"python/{__file__}:draw", "--judge", f"builtin/{'icons' if 'knolling' in suite else 'drawn'}"
    place = "--items", folder / "items.jsonl", "--out", folder / "none"
    return command(began, "run", suite, *parties, *place, "--dry-run")


def first_half(suite: str, folder: Path, began: float) -> Measured:
    return execute_run(suite, folder, began, stop_after=sum(1 for _ in (folder / "items.jsonl").open("rb")) // 2)


def whole_run(suite: str, folder: Path, began: float) -> Measured:
    return execute_run(suite, folder, began)


def execute_run(suite: str, folder: Path, began: float, stop_after: int | None = None) -> Measured:
    import formalimg
    from formalimg.runs.progress import Progress

    def watch(progress: Progress) -> None:
        if stop_after is not None and progress.judged >= stop_after:
            progress.stopped = True

    model = FreeModel()
    formalimg.run(
        suite,
        model,
        FreeJudge(),
        items=folder / "items.jsonl",
        folder=folder / "run",
        size=64,
        style="none",
        progress=False,
        on_progress=watch,
    )
    return measured(began, model.began - began if model.began else None)


def report(suite: str, folder: Path, began: float) -> Measured:
    return command(began, "report", folder / "run")


def bundle(suite: str, folder: Path, began: float) -> Measured:
    (folder / "bundle.zip").unlink(missing_ok=True)
    return command(began, "bundle", folder / "run", "--out", folder / "bundle.zip")


def view(suite: str, folder: Path, began: float) -> Measured:
    """The viewer in a process of its own: to its first page, and to the first page of the gallery."""
    port = 8000 + os.getpid() % 1000
    arguments = [sys.executable, "-m", "formalimg", "view", str(folder / "run"), "--port", str(port), "--no-browser"]
    site = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert site.stdout is not None
    try:
        address = next(word for line in site.stdout for word in line.split() if word.startswith("http://"))
        seen = urllib.request.urlopen(address, timeout=600)
        seen.read()
        first = time.time() - began
        urllib.request.urlopen(f"{address.rstrip('/')}/gallery?run=run", timeout=600).read()
        seconds, peak = time.time() - began, peak_memory(site.pid)
    finally:
        site.terminate()
        site.wait()
    return Measured(seconds, first, peak)


CHILDREN: Mapping[str, Callable[[str, Path, float], Measured]] = {
    "load": load_items,
    "plan": dry_run,
    "run": first_half,
    "resume-half": whole_run,
    "resume-done": whole_run,
    "report": report,
    "view": view,
    "bundle": bundle,
}


def command(began: float, *arguments: object) -> Measured:
    """Run a command of formalimg in this process."""
    from contextlib import redirect_stdout

    from formalimg.cli import main as run_command

    sys.argv = ["formalimg", *map(str, arguments)]
    with redirect_stdout(io.StringIO()):
        try:
            run_command()
        except SystemExit as ended:
            if ended.code not in (0, None):
                raise
    return measured(began)


def measured(began: float, first: float | None = None) -> Measured:
    return Measured(time.time() - began, first, peak_memory(os.getpid()), time.process_time())


def peak_memory(process: int) -> float:
    """Return the peak memory of a process in MB; `ru_maxrss` would count that of the process that started it too."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# --- an image model and a judge that cost nothing


def draw(prompt: str) -> bytes:
    """Return a small image; the same for every prompt."""
    from PIL import Image

    file = io.BytesIO()
    Image.radial_gradient("L").resize((64, 64)).convert("RGB").save(file, "PNG")
    return file.getvalue()


@dataclass
class FreeModel:
    """Answers at once; records the time of the first request."""

    name: str = "benchmark/free"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    batch: int = 1
    concurrency: int = 8
    sees_spec: bool = False
    began: float = 0.0
    image: bytes = field(default_factory=lambda: draw(""))

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        from formalimg.models.base import Generated

        self.began = self.began or time.time()
        for request in requests:
            await asyncio.sleep(0)
            # What follows the end of a PNG file is ignored: each image has its own bytes.
            yield Generated(self.image + request.item.encode())


@dataclass
class FreeJudge:
    """Passes the images of two items of three."""

    name: str = "benchmark/free"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = 8

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        from formalimg.types import Part, Verdict

        holds = float(int(item.id) % 3 > 0)
        parts = Part("(Is ?x 'cup')", "object", 1.0, about=("Is",)), Part("(OnLeftSide ?x)", "relation", holds)
        return Verdict(bool(holds), parts, {"explanation": type(item.spec).__name__})


if __name__ == "__main__":
    main()
