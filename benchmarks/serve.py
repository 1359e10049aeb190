"""Load on the reward server: scenes and images over HTTP on loopback, and memory over minutes.

The server runs on one core, the clients on another. 32 clients send one scene per request: wrk, if
it is installed (`apt install wrk`), and Python clients, first as fast as they can, then at a steady rate. With
clients that send as fast as they can, the median latency is 32 divided by the rate, and carries no other information.

    python benchmarks/serve.py [--seconds 10] [--rate 200] [--minutes 0]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from best_binding import disturbed

from formalimg import load
from formalimg.drawing.icon_scene import draw
from formalimg.rewards.server.client import RewardClient
from formalimg.types import Item

CLIENTS = 32
CORES = sorted(os.sched_getaffinity(0))


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seconds", type=float, default=10.0, help="how long each measurement takes")
    given.add_argument("--rate", type=float, default=200.0, help="requests a second, where the rate is steady")
    given.add_argument("--minutes", type=float, default=0.0, help="how long memory is watched under load")
    given.add_argument("--without-parts", action="store_true", help="ask for scores only, not for parts and reasons")
    options = given.parse_args()
    items = [item for item in load("knolling") if item.level == 10]
    bodies = [scene_body(item, number, not options.without_parts) for number, item in enumerate(items)]
    with served() as (url, process):
        os.sched_setaffinity(0, {CORES[-1]})
        asyncio.run(closed(url, bodies, 1.0))  # formulas are made ready once
        print(f"{len(bodies)} formulas of K = 10, each with a JSON scene, one in a request, {CLIENTS} clients")
        for name, rate in (("as fast as they can", None), (f"{options.rate:g} requests/s", options.rate)):
            with processor(process) as used:
                found = asyncio.run(closed(url, bodies, options.seconds, rate))
            show(f"own clients, {name}", found, options.seconds, used)
        by_wrk(url, bodies, options.seconds)
        print("images of 512 x 512 through builtin/icons, 4 in a request, one process that looks")
        images(url, items, options.seconds)
        if options.minutes:
            watch(url, bodies, process, options)


def scene_body(item: Item[Any], number: int, parts: bool) -> bytes:
    scene = disturbed(item.spec, random.Random(f"reward {number}"), 0)
    asked = {"formula": str(item.spec.formula), "vocabulary": "knolling"}
    return json.dumps({"items": [asked], "images": [{"scene": scene.to_json()}], "parts": parts}).encode()


@contextlib.contextmanager
def served() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "formalimg", "serve", "--port", "0", "--processes", "1", "--max-concurrent", "64"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {CORES[0]})
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[0], process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, "the server did not end as it should"


async def closed(url: str, bodies: Sequence[bytes], seconds: float, rate: float | None = None) -> list[float]:
    """The latencies of requests, in milliseconds, by clients that each wait for a response before the next request.

    With a rate, latencies are counted from when a request was due, so that a server that falls behind does not hide it.
    """
    place = urlsplit(url)
    waiting, found = cycle(bodies), list[float]()
    end = time.perf_counter() + seconds

    async def ask(number: int) -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        due = time.perf_counter() + (0 if rate is None else number / rate)
        while True:
            if rate is None:
                due = time.perf_counter()
            elif (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            if due > end or time.perf_counter() > end:
                break
            body = next(waiting)
            head = f"POST /v1/score HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
            writer.write(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer[:100]
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split()[1]))
            found.append(1000 * (time.perf_counter() - due))
            due += 0 if rate is None else CLIENTS / rate
        writer.close()

    await asyncio.gather(*(ask(number) for number in range(CLIENTS)))
    return found


def show(name: str, found: Sequence[float], seconds: float, used: list[float]) -> None:
    at = sorted(found)
    cost = 1000 * used[0] / len(at)
    print(
        f"  {name:36} {len(at) / seconds:6.0f} verdicts/s, median {statistics.median(at):.1f} ms, "
        f"99 % {at[int(len(at) * 0.99)]:.1f} ms, max {at[-1]:.0f} ms; {cost:.2f} ms of the processor each"
    )


@contextlib.contextmanager
def processor(process: subprocess.Popen[str]) -> Iterator[list[float]]:
    """CPU seconds that the server uses meanwhile."""
    used: list[float] = []
    before = _processor(process)
    yield used
    used.append(_processor(process) - before)


def _processor(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def by_wrk(url: str, bodies: Sequence[bytes], seconds: float) -> None:
    if shutil.which("wrk") is None:
        print("  wrk is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bodies").write_bytes(b"\n".join(bodies))
        script = Path(folder) / "post.lua"
        script.write_text(
            f"""local bodies, at = {{}}, 0
for line in io.lines("{folder}/bodies") do bodies[#bodies + 1] = line end
function request()
  at = at % #bodies + 1
  return wrk.format("POST", "/v1/score", {{["Content-Type"] = "application/json"}}, bodies[at])
end"""
        )
        command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds:.0f}s", "--latency", f"-s{script}", url]
        print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip())


def images(url: str, items: Sequence[Item[Any]], seconds: float) -> None:
    drawn = [(draw(item.spec.witness, 512), item) for item in items[::20] if item.spec.witness is not None]
    batches = cycle([drawn[start : start + 4] for start in range(0, len(drawn) - 3, 4)])
    client, count, begun = RewardClient(url), 0, time.perf_counter()
    while time.perf_counter() < begun + seconds:
        found = client.score_all(next(batches))
        assert all(scored.passed for scored in found)
        count += len(found)
    took = time.perf_counter() - begun
    print(f"  {count / took:.1f} images/s, {1000 * took / count:.0f} ms each")


def watch(url: str, bodies: Sequence[bytes], process: subprocess.Popen[str], options: argparse.Namespace) -> None:
    print(f"memory of the server in MB over {options.minutes:g} minutes of load, every 30 seconds:")
    end, count = time.perf_counter() + 60 * options.minutes, 0
    while (left := end - time.perf_counter()) > 1:
        count += len(asyncio.run(closed(url, bodies, min(30.0, left))))
        print(f"  {resident(process):.1f}", end="", flush=True)
    print(f"\n  after {count:,} requests")


def resident(process: subprocess.Popen[str]) -> float:
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
