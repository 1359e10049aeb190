"""Requests that are large when they are read are refused before they take memory; large images give it back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.request_body import Limits
from tests.rewards_server.servers import CUP, asked, connected, head, until_closed, visitor
from tests.support.sizes import only_in_full

START = "import typer; from formalimg.cli.serve import serve_command; typer.run(serve_command)"
MEGABYTE = 1024 * 1024
LENGTH = 20 * MEGABYTE


def filled(start: str, part: str, end: str) -> bytes:
    return (start + part * ((LENGTH - len(start) - len(end)) // len(part)) + end).encode()


def disjunction(number: int, words: int) -> str:
    pairs = [f"(and (Is ?x '{'a' * words}{number}-{index}') (Is ?x 'b{index}'))" for index in range(10)]
    return f"(exists ?x (or {' '.join(pairs)}))"


OVERSIZED: dict[str, tuple[Callable[[], str | bytes], int]] = {
    "numbers": (lambda: filled('{"items": [0', ",0", "]}"), 413),
    "lists": (lambda: filled('{"items": [[]', ",[]", "]}"), 413),
    "objects": (lambda: filled('{"items": [{"a":0}', ',{"a":0}', "]}"), 413),
    "keys": (lambda: '{"items": {' + ",".join(f'"{n}":0' for n in range(1_600_000)) + "}}", 413),
    "nested": (lambda: b"[" * LENGTH, 413),
    "nested, within the limit": (lambda: b"[" * 400_000, 400),
    "within the limit": (lambda: '{"items": [' + '{"a":0},' * 340_000 + "0]}", 413),
    "keys within the limit": (lambda: '{"items": {' + ",".join(f'"{n}":0' for n in range(500_000)) + "}}", 400),
    "wide characters": (lambda: '{"items": ["\U0001f600' + "x" * (LENGTH - 50) + '"]}', 400),
    "a long number": (lambda: filled('{"items": [', "1", "]}"), 400),
    "an open string": (lambda: filled('{"items": ["', '\\"', ""), 400),
    "a long label": (
        lambda: json.dumps(asked({"scene": {"objects": [{**CUP["objects"][0], "label": "x" * LENGTH}]}})),
        400,
    ),
    "problems": (lambda: json.dumps(asked({"scene": CUP}, item={"formula": ")" * 100_000})), 400),
    "many clauses": (
        lambda: json.dumps(
            {
                "items": [{"formula": disjunction(n, 180)} for n in range(100)],
                "images": [{"scene": {"objects": [{**CUP["objects"][0], "label": "y" * 200}]}}] * 100,
            }
        ),
        413,
    ),
    "one formula, many images": (
        lambda: json.dumps(
            asked(
                *[{"scene": {"objects": [{**CUP["objects"][0], "label": "y" * 200}]}}] * 100,
                item={"formula": disjunction(0, 180)},
            )
        ),
        413,
    ),
}


@contextmanager
def served() -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-c", START, "--port", "0", "--processes", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
        try:
            assert server.stdout is not None
            yield urlsplit(server.stdout.readline().split()[0]).port or 0, server.pid
        finally:
            server.kill()


def peak_megabytes(process: int) -> int:
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) // 1024


@only_in_full
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of another process's memory is known on Linux only")
@pytest.mark.parametrize("name", OVERSIZED)
def test_no_request_takes_much_more_memory_than_its_length(name: str) -> None:
    request, status = OVERSIZED[name]
    sent = request()
    body = sent if isinstance(sent, bytes) else sent.encode()
    with served() as (port, process), connected(port) as connection:
        connection.settimeout(60)
        connection.sendall(head(f"Connection: close\r\nContent-Length: {len(body)}") + body)
        answer = until_closed(connection)
        peak = peak_megabytes(process)
    print(f"{name:26} {len(body) / MEGABYTE:6.1f} MB  {status}  peak {peak} MB")
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert len(answer) < 100_000
    assert b"error" in answer
    assert peak < 300


def test_what_strings_contain_is_not_counted() -> None:
    words = "{[:,]}" * 200_000
    answer = visitor().post("/v1/score", json=asked({"base64": words}))
    assert answer.json()["error"] == "images[0].base64: this is not base64"


def test_as_many_objects_as_scenes_have_are_read() -> None:
    scene = {"objects": [CUP["objects"][0]] * 200}
    found = visitor().post("/v1/score", json={**asked(*[{"scene": scene}] * 256), "parts": False}).json()["results"]
    assert [one["score"] for one in found] == [0.5] * 256


def test_an_answer_has_a_limit() -> None:
    body = asked(*[{"scene": CUP}] * 2, item={"formula": disjunction(0, 1)})
    assert visitor().post("/v1/score", json=body).status_code == 200
    small = visitor(limits=Limits(max_body_bytes=300_000))
    assert small.post("/v1/score", json=body).json() == {
        "error": 'the answer would have more than 300,000 bytes: send fewer items at once, or "parts": false'
    }
    assert small.post("/v1/score", json={**body, "parts": False}).status_code == 200


@pytest.mark.parametrize("letter", ["\U0001f600", "\x01", "\x7f", "é"])
def test_the_limit_of_an_answer_counts_what_is_escaped(letter: str) -> None:
    scene = {"objects": [{"label": letter * 200, "color": letter * 200, "box_2d": [0, 0, 1, 1]}]}
    server = visitor(limits=Limits(max_body_bytes=200_000))
    answer = server.post(
        "/v1/score",
        content=json.dumps(asked(*[{"scene": scene}] * 60), ensure_ascii=letter < " ").encode(),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 413, (answer.status_code, len(answer.content))
    assert "the answer would have more than 200,000 bytes" in answer.json()["error"]


@only_in_full
def test_formulas_are_kept_by_the_memory_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.rewards.tasks._MAX_CACHED_BYTES", 13_000_000)  # two of these
    scorer = Scorer()
    first = scorer.prepare({"formula": disjunction(0, 1)})
    assert scorer.prepare({"formula": disjunction(0, 1)}) is first
    assert first.formula is not None
    assert 3e6 < first.formula.estimated_bytes < 8e6
    second, third = (scorer.prepare({"formula": disjunction(number, 1)}) for number in (1, 2))
    assert scorer.prepare({"formula": disjunction(1, 1)}) is second
    assert scorer.prepare({"formula": disjunction(2, 1)}) is third
    assert scorer.prepare({"formula": disjunction(0, 1)}) is not first


READ = """
import io, threading
from PIL import Image
from formalimg.rewards.inputs import load_image
from formalimg.rewards.server.app import resident_bytes
from formalimg.rewards.server.http_server import release_large_blocks

release_large_blocks()
file = io.BytesIO()
Image.linear_gradient("L").resize((4000, 4000)).convert("RGB").save(file, "PNG", compress_level=1)
barrier = threading.Barrier(4)

def read():
    load_image(file.getvalue())
    barrier.wait()  # so that no thread ends, and is used again, before all have read

before = resident_bytes()
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print((resident_bytes() - before) // 2**20)
"""


@only_in_full
@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux keeps what others give back")
def test_what_large_images_took_is_given_back() -> None:
    told = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True, timeout=60)
    assert int(told.stdout) < 40  # megabytes; one image has 64 of them, and each thread would keep its own
