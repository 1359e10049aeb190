"""Speed of the viewer with hundreds of runs: 200 runs of 2,000 items, requested over loopback and shown by a browser.

Two runs, of two suites, are created by the engine. The others are copies whose manifest and verdicts are changed in
place, which takes a fraction of the time; the four runs that are compared have their images too. Each page is
requested nine times. The median and the maximum are shown: at the server until the last byte, and in Chromium until
the load event, if Playwright is installed. Cold is the first answer: of a server whose index is empty, of one that
finds the index of an earlier server on disk, and of a comparison that was not asked for before.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from viewer import environment, made, seconds

from formalimg.runs.manifest import Identity
from formalimg.runs.plan import judge_key

CHROMIUM = "/usr/bin/chromium"
JUDGES = ("bench/guesser", "bench/second")
COMPARED = 4
"""Number of runs that have their images: 0, 1, 2, 3 are of one suite."""

RUNS = {
    "runs": "/",
    "runs, page 2": "/?page=2",
    "runs, one judge": "/?judge=bench%2Fsecond",
    "runs, searched": "/?text=model-7",
    "runs, by overall": "/?sort=overall",
    "runs, grouped by suite": "/?group=suite",
    "runs, with a baseline": "/?baseline=run-000",
    "runs, by the difference": "/?baseline=run-000&sort=difference",
}
COMPARISONS = {
    "compare 2": "/compare?run=run-000&run=run-001",
    "compare 4": "/compare?run=run-000&run=run-001&run=run-002&run=run-003",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200, help="number of runs (default 200)")
    options.add_argument("--items", type=int, default=2000, help="items of each (default 2,000)")
    options.add_argument("--runs", type=Path, help="keep the runs in this folder, or use those that are there")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.runs or Path(temporary) / "runs"
        if not (folder / f"run-{chosen.count - 1:03}").exists():
            make_runs(folder, chosen.count, chosen.items)
        measure(folder, Path(temporary) / "cache")


def make_runs(folder: Path, count: int, items: int) -> None:
    first, other = folder / "run-000", folder / f"run-{COMPARED:03}"
    made(first, items)
    made(other, items, "natural")
    begun = time.perf_counter()
    for number in range(count):
        if number not in (0, COMPARED):
            copy_run(other if number > COMPARED and number % 4 == 0 else first, folder / f"run-{number:03}", number)
    print(f"{count - 2} copies made in {time.perf_counter() - begun:.1f} s")


def copy_run(source: Path, folder: Path, number: int) -> None:
    """Copy a run under the name of another model and judge, with a share of its verdicts turned."""
    chance = random.Random(number)
    folder.mkdir()
    (folder / "images").mkdir()
    if number < COMPARED:
        for image in (source / "images").iterdir():
            os.link(image, folder / "images" / image.name)
    judge = JUDGES[number % 5 == 0]
    manifest = (source / "run.toml").read_text(encoding="utf-8")
    manifest = manifest.replace('"bench/noise"', f'"bench/model-{number % 40}"').replace(JUDGES[0], judge)
    day = f"2026-{1 + number % 12:02}-{1 + number % 28:02}"
    manifest = re.sub(r'created = "\d+-\d+-\d+', f'created = "{day}', manifest)
    (folder / "run.toml").write_text(manifest, encoding="utf-8")
    shutil.copyfile(source / "results.sqlite", folder / "results.sqlite")
    turned = 0.02 + 0.01 * (number % 10)
    with closing(sqlite3.connect(folder / "results.sqlite")) as database:
        database.create_function("is_turned", 1, lambda _: chance.random() < turned)
        database.execute("UPDATE verdicts SET passed = 1 - passed WHERE is_turned(item)")
        key = judge_key(Identity(judge, {}))
        database.execute("UPDATE judges SET name = ?, key = ?", (judge, key))
        database.execute("UPDATE verdicts SET judge = ?", (key,))
        database.commit()


def measure(folder: Path, cache: Path) -> None:
    with served(folder, cache) as (site, _):
        print(f"cold, no index: first answer {1000 * seconds(site + '/'):.0f} ms", end=", ")
        begun = time.perf_counter()
        while "data-pending" in page_text(site + "/"):
            time.sleep(0.1)
        print(f"all runs shown {time.perf_counter() - begun:.1f} s later")
    with served(folder, cache) as (site, process):
        print(f"cold, index on disk: first answer {1000 * seconds(site + '/'):.0f} ms")
        for name, address in COMPARISONS.items():
            print(f"cold, {name}: {1000 * seconds(site + address):.0f} ms")
        print(f"cold, a new baseline: {1000 * seconds(site + RUNS['runs, with a baseline']):.0f} ms")
        show("server", lambda address: seconds(site + address))
        with browser() as load:
            if load is not None:
                show("chromium", lambda address: load(site + address))
        print(f"memory: peak {peak_memory(process.pid):.0f} MB")


def show(where: str, request: Callable[[str], float]) -> None:
    for name, address in {**RUNS, **COMPARISONS}.items():
        times = [1000 * request(address) for _ in range(9)]
        print(f"{where:9} {name:26} {statistics.median(times):6.0f} ms, at most {max(times):.0f}")


@contextmanager
def served(folder: Path, cache: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "formalimg", "view", str(folder), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(cache)) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[0].rstrip("/"), process
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Callable[[str], float] | None]:
    """Yield a function that loads a page and returns the seconds until its load event."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("no browser: pip install playwright")
        yield None
        return
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = opened.new_page(viewport={"width": 1280, "height": 900})

        def load(address: str) -> float:
            page.goto(address)
            timing = "performance.getEntriesByType('navigation')[0]"
            page.wait_for_function(f"{timing}.loadEventEnd > 0")
            return float(page.evaluate(f"{timing}.loadEventEnd")) / 1000

        yield load
        opened.close()


def page_text(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return bytes(answer.read()).decode()


def peak_memory(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


if __name__ == "__main__":
    main()
