"""Limits on answers: their size, and the memory of all together."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from formalimg._util.memory_gate import MemoryGate
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Failed
from formalimg.models.providers import limits
from formalimg.models.providers.limits import MAX_CHAT_BYTES, AnswerBody
from formalimg.models.providers.openai import open_openai_images
from tests.support.loopback.hostile import HostileServer, flood, whole
from tests.support.remote_calls import CALLERS, plant_keys, why_it_failed
from tests.support.remote_models import request, stand_alone
from tests.support.sizes import tries

SIZE = 500_000_000
MAX_MEMORY = 300
ROOT = Path(__file__).parents[2]

_MEASURE = """
import re, resource, sys
from pathlib import Path
from tests.support.remote_calls import why_it_failed

try:
    print(why_it_failed(sys.argv[1], sys.argv[2]))
except Exception as error:
    print(type(error).__name__, error)
status = Path("/proc/self/status")
# What getrusage tells may be the peak of the process that started this one.
peak = re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1] if status.exists() else resource.getrusage(0).ru_maxrss
print(int(peak) // 1024)
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)


def _limit(caller: str) -> str:
    return "16 MB" if caller.endswith("chat") else "100 MB"


@pytest.mark.parametrize(
    ("caller", "status", "encoding"),
    [
        ("openai images", 200, "gzip"),
        ("anthropic chat", 500, "gzip"),
        ("gemini images", 200, ""),
        ("hf images", 200, ""),
        ("hf chat", 500, ""),
    ][:: tries(4, 1)],
)
def test_an_oversized_answer_takes_little_memory(caller: str, status: int, encoding: str) -> None:
    with HostileServer(flood(SIZE, status, encoding)) as server:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, caller, server.url], capture_output=True, text=True, cwd=ROOT, timeout=120
        )
    assert done.returncode == 0, done.stderr
    reason, peak = done.stdout.splitlines()
    expected = f"wrong: the server answered with more than {_limit(caller)}"
    if status == 500:
        expected = "unavailable: 500: the server answered with more than 1 MB of error text"
    assert reason == expected
    assert int(peak) < MAX_MEMORY


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("caller", list(CALLERS)[:: tries(4, 1)])
def test_every_provider_gives_up_an_answer_that_is_too_large(caller: str, encoding: str) -> None:
    size = 17_000_000 if caller.endswith("chat") else 101_000_000
    with HostileServer(flood(size, 200, encoding)) as server:
        assert why_it_failed(caller, server.url) == f"wrong: the server answered with more than {_limit(caller)}"


@pytest.mark.parametrize("encoding", ["", "gzip"])
@pytest.mark.parametrize("caller", list(CALLERS)[:: tries(4, 1)])
def test_an_oversized_error_keeps_its_status_and_loses_its_text(caller: str, encoding: str) -> None:
    expected = "the server answered with more than 1 MB of error text"
    with HostileServer(flood(3_000_000, 503, encoding)) as server:
        assert why_it_failed(caller, server.url) == f"unavailable: 503: {expected}"
    with HostileServer(flood(3_000_000, 402, encoding)) as server, pytest.raises(FormalimgError, match=expected):
        why_it_failed(caller, server.url)


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip"])
@pytest.mark.parametrize("caller", list(CALLERS)[:: tries(4, 1)])
def test_only_gzip_is_asked_for_and_nothing_else_is_opened(caller: str, encoding: str) -> None:
    with HostileServer(flood(200_000_000, 200, encoding)) as server:
        reason = why_it_failed(caller, server.url)
    assert reason == f"wrong: the answer is compressed as {encoding}, which was not asked for"
    assert server.came[0][2]["accept-encoding"] == "gzip"


@pytest.mark.parametrize("caller", CALLERS)
def test_a_compressed_answer_is_read(caller: str) -> None:
    answer = {"error": {"code": 429, "message": "you are too fast", "status": "x"}}
    body = gzip.compress(json.dumps(answer).encode())
    with HostileServer(whole(body, 429, content_encoding="gzip")) as server:
        assert "you are too fast" in why_it_failed(caller, server.url)


@pytest.mark.parametrize("before", [b"", b" " * 200, b"\xef\xbb\xbf"])
@pytest.mark.parametrize("caller", list(CALLERS)[:: tries(4, 1)])
def test_json_of_very_many_items_is_not_parsed(caller: str, before: bytes) -> None:
    body = before + b'{"choices": [' + b"{}," * 600_000 + b"{}]}"
    with HostileServer(whole(body)) as server:
        reason = why_it_failed(caller, server.url)
    limit = "400,000" if caller.startswith(("gemini", "hf")) else "1,000,000"
    assert reason == f"wrong: the server answered with more than {limit} items of JSON"


def test_an_archive_that_is_broken_or_goes_on_is_no_crash() -> None:
    packed = gzip.compress(b"x" * 5_000_000)
    assert _collected([packed[i : i + 7] for i in range(0, len(packed), 7)]) == b"x" * 5_000_000
    assert _collected([packed, b"and more" * 100]) == b"x" * 5_000_000
    with pytest.raises(CallError, match="more than 16 MB"):
        _collected([packed, *[b"and more" * 100_000] * 30])
    with pytest.raises(CallError, match="cannot be decompressed"):
        _collected([b"no gzip at all"])


def _collected(chunks: list[bytes]) -> bytes:
    body = AnswerBody(httpx2.Response(200, headers={"content-encoding": "gzip"}), MAX_CHAT_BYTES)
    for chunk in chunks:
        assert body.add(chunk)
    return body.content()


def test_work_waits_in_turn_and_a_larger_piece_goes_alone() -> None:
    gate = MemoryGate(10)
    log: list[str] = []

    async def work(name: str, size: int) -> None:
        async with gate.reserve(size):
            log.append(f"{name} begins")
            await asyncio.sleep(0.01)
            log.append(f"{name} ends")

    async def all_work() -> None:
        await asyncio.gather(work("a", 6), work("b", 99), work("c", 4), work("d", 6))

    asyncio.run(all_work())
    assert log[:4] == ["a begins", "a ends", "b begins", "b ends"]
    assert sorted(log[4:6]) == ["c begins", "d begins"]


def test_who_is_cancelled_while_waiting_takes_nothing() -> None:
    gate = MemoryGate(10)

    async def all_work() -> None:
        release = await gate.acquire(10)
        waiting = [asyncio.create_task(gate.acquire(10)) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.gather(waiting[0], return_exceptions=True)
        release()
        (await asyncio.wait_for(waiting[1], 5))()
        (await asyncio.wait_for(gate.acquire(10), 5))()

    asyncio.run(all_work())


def test_a_thread_that_is_called_off_takes_nothing() -> None:
    gate = MemoryGate(10)
    release = gate.acquire_in_thread(10)

    def call_off() -> None:
        raise RuntimeError("nobody waits any more")

    with pytest.raises(RuntimeError, match="nobody waits"):
        gate.acquire_in_thread(10, call_off)
    release()
    gate.acquire_in_thread(10)()


class WatchedGate(MemoryGate):
    passed = held = most = 0

    async def acquire(self, size: int) -> Callable[[], None]:
        release = await super().acquire(size)
        self.passed += 1
        self.held += 1
        self.most = max(self.most, self.held)

        def leave() -> None:
            self.held -= 1
            release()

        return leave


def test_large_answers_of_a_server_are_read_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)
    gate = WatchedGate(7_000_000)
    monkeypatch.setattr(limits, "_IMAGE_ANSWERS", gate)
    body = json.dumps({"data": [{"b64_json": base64.b64encode(bytes(4_500_000)).decode()}]}).encode()
    with HostileServer(whole(body)) as server:
        model = open_openai_images("m", {"base_url": f"{server.url}/v1", "max_attempts": "1", "concurrency": "6"})

        async def ask() -> list[object]:
            return [answer async for answer in model.generate([request()])]

        async def ask_all() -> list[list[object]]:
            return await asyncio.gather(*(ask() for _ in range(6)))

        answers = asyncio.run(ask_all())
    assert (gate.passed, gate.held, gate.most) == (6, 0, 1)
    for (failed,) in answers:  # each was read to its end
        assert isinstance(failed, Failed)
        assert "the response is not a PNG" in failed.reason
