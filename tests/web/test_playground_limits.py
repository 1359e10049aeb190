"""Hostile input to the playground: it ends in time, in little memory, and with a short answer."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from formalimg.drawing.icon_scene import draw
from formalimg.web.playground.routes import playground_routes
from formalimg.web.playground.worker_pool import WORKER, InputTooLargeError, JobPool, WorkersBusyError
from formalimg.web.server import build_app
from tests.support.sizes import only_in_full, tries
from tests.web.test_playground import RED, Visitor

CUP = "(exists ?c (Is ?c 'cup'))"
PAIRS = " ".join("(and (Is ?x 'cup') (Has ?x 'red'))" for _ in range(10))
MANY_CLAUSES = f"(exists ?x (or {PAIRS}))"
"""A short formula with 1,024 clauses of ten literals."""

DISTINCT_PAIRS = " ".join(f"(and (Is ?x 'a{n}') (Is ?x 'b{n}'))" for n in range(10))
MANY_WORDS = f"(exists ?x (or {DISTINCT_PAIRS}))"

VERIFIED = {"formula": CUP, "vocabulary": "knolling", "semantics": "strict", "style": None, "draws": False}


@pytest.fixture(scope="module")
def visitor() -> Visitor:
    return Visitor(build_app(playground_routes(), token=None, command="formalimg view"))


def test_a_scene_is_counted_before_it_is_parsed(visitor: Visitor) -> None:
    told = visitor.refusal(413, "verify", formula=CUP, scene="[" + "[]," * 4_000_000 + "0]")
    assert told == "the scene has more than 200,000 values: verify a smaller one here"


def test_an_object_with_endless_words_is_refused(visitor: Visitor) -> None:
    scene = {"objects": [{"label": "x" * 2_000_000, "box_2d": [0, 0, 10, 10]}]}
    told = visitor.refusal(413, "verify", formula=CUP, scene=json.dumps(scene))
    assert told == "an object has more than 1000 characters of words: choose shorter ones"


def test_very_many_clauses_are_counted_and_not_listed(visitor: Visitor) -> None:
    reply = visitor.reply("check", formula=MANY_CLAUSES)
    assert (reply["clauses"], reply["k"]) == (None, 1)
    assert reply["unlisted"] == "it has 1,024 clauses: too many to be listed here"


def test_long_formulas_have_short_words(visitor: Visitor) -> None:
    name = "x" * 300
    told = visitor.refusal(413, "check", formula=f"(exists ?{name} (or {PAIRS.replace('?x', f'?{name}')}))")
    assert told == "a word of the formula has more than 200 characters: choose a shorter one"


def test_a_result_that_is_too_large_is_not_sent() -> None:
    pool = JobPool(1)
    scene = {"objects": [{"label": "y" * 900, "color": "red", "box_2d": [0, 0, 10, 10]}]}
    with pytest.raises(InputTooLargeError, match=r"the result has .* bytes, too many to be shown"):
        pool.run("verify", 30.0, **{**VERIFIED, "formula": MANY_WORDS}, scene=json.dumps(scene))
    found = pool.run("verify", 30.0, **VERIFIED, scene=json.dumps(RED.to_json()))
    assert found["passed"] is True


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process")
def test_a_worker_that_needs_too_much_memory_says_so() -> None:
    greedy = (
        "from formalimg.web.playground import worker_pool as pool; pool._MAX_MEMORY = 1024**3; pool.limit_memory(); "
    )
    greedy += "print(pool.execute(lambda _: bytearray(2**31), {}))"
    told = subprocess.run([sys.executable, "-c", greedy], capture_output=True, text=True, check=True, timeout=60)
    assert "this takes too much memory here" in told.stdout


@pytest.mark.parametrize("matter", ["verify", "check", "solve"][: tries(1, 3)])
@pytest.mark.parametrize(
    "formula",
    [
        "(iff (exists ?x (Is ?x 'cup')) " * 190 + CUP + ")" * 190,
        "(or " + " ".join(f"(exists ?x{n} (and (Is ?x{n} 'cup') (Has ?x{n} 'red')))" for n in range(300)) + ")",
        "".join(f"(exists ?x{n} (forall ?y{n} (implies (Is ?y{n} 'cup') (and (LeftOf ?x{n} ?y{n}) " for n in range(9))
        + CUP
        + "))))" * 9,
    ],
    ids=["iff", "or", "alternation"],
)
def test_hostile_formulas_end_in_time(visitor: Visitor, matter: str, formula: str) -> None:
    began = time.monotonic()
    scene = {"scene": json.dumps(RED.to_json())} if matter == "verify" else {}
    sent = json.dumps({"vocabulary": "knolling", "formula": formula, **scene})
    answer = visitor.client.post(f"/playground/{matter}", content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 413, 422), answer.text
    assert len(answer.content) < 8 * 1024 * 1024
    assert time.monotonic() - began < 30  # the timeouts are 8 seconds


def test_a_formula_that_is_nested_too_deep_is_not_solved(visitor: Visitor) -> None:
    formula = "(iff (exists ?x (Is ?x 'cup')) " * 190 + CUP + ")" * 190
    reply = visitor.reply("solve", formula=formula)
    assert reply == {"outcome": "unknown", "words": "the formula is nested too deep to be solved: write it flatter"}


def _drawing(side: int) -> str:
    """A drawing of so many pixels on each side, partly transparent."""
    file = io.BytesIO()
    image = draw(RED, 256).resize((side, side)).convert("RGBA")
    image.putpixel((0, 0), (255, 255, 255, 0))
    image.save(file, "PNG", compress_level=1)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _memory_of_children() -> int:
    """Megabytes that the processes take together that this one has started."""
    total = 0
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                if WORKER not in Path(f"/proc/{child}/cmdline").read_text():
                    continue  # not yet: it still has the memory of this process
                total += int(Path(f"/proc/{child}/statm").read_text().split()[1]) * 4096
    return total // 1_000_000


@only_in_full
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_large_images_share_the_memory_of_the_playground(record_property: Callable[[str, object], None]) -> None:
    image = _drawing(tries(4000, 4990))
    pool = JobPool(3, queue_timeout=60.0)
    app = build_app(playground_routes(pool), token=None, command="formalimg view")
    before, peak, is_over = _memory_of_children(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(0.005):
            peak = max(peak, _memory_of_children() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(3) as visitors:
            replies = list(visitors.map(lambda _: Visitor(app).reply("verify", formula=CUP, image=image), range(3)))
    finally:
        is_over.set()
        watcher.join()
    record_property("peak", peak)
    assert [reply["passed"] for reply in replies] == [True] * 3
    assert peak < 600


def test_only_some_jobs_wait_for_a_worker_and_others_are_refused_at_once() -> None:
    pool = JobPool(workers=0, queue_timeout=0.6)
    waits: list[float] = []

    def ask() -> None:
        began = time.monotonic()
        with pytest.raises(WorkersBusyError):
            pool.run("words", 1.0)
        waits.append(time.monotonic() - began)

    threads = [threading.Thread(target=ask) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(waits) == 30
    assert sum(wait >= 0.5 for wait in waits) == 8
