"""Speed of the run engine through the real openai library, against a server on this machine that only waits.

The server, in its own process, answers each request after 100 ms. The lower bound is the time of the
connections alone: n images, each 100 ms, 64 at a time. Each measurement runs in its own process:

- `images`: images are requested over HTTP, and judged in the same process;
- `images and verdicts`: a chat model on the same server judges them concurrently, with one question per image.

The machine should be idle otherwise: two processes are busy, and other load on their cores distorts the result.
Where aiohttp is installed, the library uses it, which is faster.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.logic.parser import parse
from formalimg.models.registry import open_image_model
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.progress import Progress
from formalimg.types import Item, Judge, Part, Setting, Verdict

LATENCY = 0.1
CONNECTIONS = 64
SORTS = ("pictures", "images and verdicts")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--items", type=int, default=5000, help="images to make and judge (default 5,000)")
    options.add_argument("--times", type=int, default=3, help="how often each is measured (default 3)")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--alone", choices=SORTS, help=argparse.SUPPRESS)
    options.add_argument("--url", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        serve()
    elif chosen.alone:
        print(json.dumps(measured(chosen.alone, chosen.url, chosen.items)))
    else:
        report(chosen.items, chosen.times)


def report(items: int, times: int) -> None:
    ideal = items * LATENCY / CONNECTIONS
    load = f"{CONNECTIONS} connections, {LATENCY * 1000:.0f} ms an answer"
    way = "with aiohttp" if find_spec("aiohttp") else "without aiohttp"
    print(f"{items:,} images, {load}: ideal {ideal:.2f} s; {os.cpu_count()} cores; {way}")
    for sort in SORTS:
        for _ in range(times):
            busy = os.getloadavg()[0]
            found = in_its_own_process(sort, items)
            print(
                f"{sort}: {found['seconds']:.2f} s, {ideal / found['seconds']:.2f} of the ideal; "
                f"{found['cpu'] / items * 1e3:.2f} ms of processor time per image, "
                f"{found['server'] / items * 1e3:.2f} ms in the server; load before: {busy:.1f}"
            )


def in_its_own_process(sort: str, items: int) -> Mapping[str, float]:
    with serving() as (url, server):
        done = subprocess.run(
            [sys.executable, __file__, "--alone", sort, "--url", url, "--items", str(items)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found: dict[str, float] = json.loads(done.stdout)
        found["server"] = processor_seconds(server)
    return found


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """The address and the number of a server process that ends with this context."""
    started = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.stdin.close()


def processor_seconds(process: int) -> float:
    """CPU seconds of a process so far; NaN where the system does not report them."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- the server


def serve() -> None:
    """Print the address, and serve until the input ends."""
    from tests.support.loopback import Asked, Loopback, Wish

    gradient = small_image()

    def paint(wish: Wish) -> bytes:
        # What follows the end of a PNG file is ignored: each image has its own bytes.
        return gradient + wish.prompt.encode()

    def reply(asked: Asked) -> str:
        return json.dumps({"objects": [{"label": "cup", "color": "red", "box_2d": [100, 100, 300, 300]}]})

    with Loopback(latency=LATENCY, paint=paint, reply=reply) as server:
        print(server.url, flush=True)
        sys.stdin.read()


def small_image() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.radial_gradient("L").resize((64, 64)).convert("RGB").save(file, "PNG")
    return file.getvalue()


# --- what is measured


def measured(sort: str, url: str, count: int) -> dict[str, float]:
    """Seconds from the beginning of the work to the last verdict, and processor seconds from the first to the last."""
    spec = FormulaSpec.of(parse("(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))"))
    items = [Item("knolling", str(number), 1, f"A red cup, number {number}.", spec, (), "1") for number in range(count)]
    options = {"base_url": f"{url}/v1", "concurrency": str(CONNECTIONS)}
    os.environ.setdefault("OPENAI_API_KEY", "not-a-key-of-anyone")
    judge: Judge = PassingJudge()
    if sort == "images and verdicts":
        judge = open_judge("knolling", "openai/looker", {**options, "cache": "off"})
    model = open_image_model("openai/painter", options)
    steps: list[tuple[float, float]] = []

    def told(progress: Progress) -> None:
        steps[1:] = [(time.monotonic(), time.process_time())]

    with tempfile.TemporaryDirectory() as place:
        done = execute(RunConfig(items, model, size=64), Path(place) / "run", judge, on_progress=told)
    assert (done.made, done.passed) == (count, count), done
    (_, cpu_at_first), (ended, cpu_at_last) = steps
    return {"seconds": ended - done.started, "cpu": cpu_at_last - cpu_at_first}


@dataclass
class PassingJudge:
    """Passes each image at once."""

    name: str = "benchmark/passing"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    concurrency: int = CONNECTIONS

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict:
        return Verdict(True, (Part("shown", "object", 1.0),), {"explanation": item.prompt})


if __name__ == "__main__":
    main()
