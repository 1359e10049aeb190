"""Too much, too slow, too many, and clients that leave: answered properly, on real connections."""

from __future__ import annotations

import base64
import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.client import RewardClient
from formalimg.rewards.server.request_body import Limits
from formalimg.rewards.server.score_request import ImageRoot
from formalimg.rewards.tasks import RewardTask, TaskLike
from tests.rewards_server.servers import (
    CUP,
    RED_CUP,
    SlowGrounder,
    asked,
    connected,
    head,
    image_request,
    on_a_port,
    until_closed,
    until_there,
    visitor,
)
from tests.support.run_contents import until

LIMITS = Limits(max_body_bytes=20_000, timeout=0.6, max_concurrency=2, max_waiting=1, max_wait=0.5)
SLOW = SlowGrounder(0.3)
LONG = {"formula": "(exists ?x (Is ?x 'cup'))"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port(Scorer(SLOW), LIMITS) as port:
        yield port


def trickle(connection: socket.socket, data: bytes, pause: float) -> bytes:
    connection.settimeout(pause)
    for byte in data:
        try:
            connection.sendall(bytes([byte]))
            if got := connection.recv(65536):
                return got + until_closed(connection)
            return b""
        except TimeoutError:
            continue
        except ConnectionError:
            return b""
    raise AssertionError("the server took it all")


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(port: int) -> None:
    with connected(port) as connection:
        assert trickle(connection, head("Content-Length: 10"), 0.1) == b""


def test_a_body_that_comes_byte_by_byte_is_not_waited_for(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(head("Content-Length: 60"))
        answer = trickle(connection, b" " * 60, 0.1)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"was not sent in 0.6 seconds" in answer


def test_a_connection_without_a_request_is_closed(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert until_closed(connection).endswith(b"ok\n")  # and closed, after a while


def test_what_is_too_large_is_refused_before_it_is_read(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(head("Content-Length: 1000000000000"))
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"send no more than 20,000 bytes" in answer


def test_what_does_not_say_how_large_it_is_is_refused_once_it_is_too_large(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        for _ in range(5):
            connection.sendall(b"1388\r\n" + b" " * 5000 + b"\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 413 ")


def test_no_more_is_taken_on_than_fits(port: int) -> None:
    body = image_request()
    answers: list[bytes] = []

    def ask() -> None:
        with connected(port) as connection:
            connection.sendall(head(f"Connection: close\r\nContent-Length: {len(body)}") + body)
            answers.append(until_closed(connection))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    statuses = sorted(answer[:12] for answer in answers)
    # Two are worked on, one waits, and the others come again.
    assert statuses == [b"HTTP/1.1 200"] * 3 + [b"HTTP/1.1 503"] * 3
    assert all(b"retry-after: 1\r\n" in answer.lower() for answer in answers if b" 503 " in answer[:13])


def test_who_comes_when_there_are_too_many_connections_is_told_to_come_back_and_counted() -> None:
    def answer(connection: HTTPConnection, path: str) -> tuple[int, str | None, str]:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.getheader("Retry-After"), response.read().decode()

    with on_a_port(limits=Limits(max_connections=2)) as port, connected(port) as busy, connected(port) as busier:
        for connection in (busy, busier):
            connection.sendall(head("Content-Length: 10"))  # and the body is still to come
        idle, third, watching = (HTTPConnection("127.0.0.1", port, timeout=5) for _ in range(3))
        with closing(idle), closing(third), closing(watching):
            assert answer(idle, "/healthz")[2] == "ok\n"  # which is answered all the same
            assert answer(third, "/v1/about")[:2] == (503, "1")
            assert 'path="/v1/about",status="503"} 1\n' in answer(watching, "/metrics")[2]
            busy.sendall(b"{} not JSON")
            assert until_there(busy, b"}").startswith(b"HTTP/1.1 400 ")
            assert answer(idle, "/v1/about")[0] == 200  # now that one of the two is done


def test_a_request_that_takes_long_does_not_hold_up_all_others() -> None:
    class Pondering(Scorer):
        def prepare(self, task: TaskLike) -> RewardTask:
            if task == LONG:
                let_go.wait(10)
            return super().prepare(task)

    let_go = threading.Event()
    with on_a_port(Pondering()) as port, ThreadPoolExecutor(4) as threads:
        client = RewardClient(f"http://127.0.0.1:{port}")
        try:
            long = threads.submit(client.score, [CUP], [LONG])
            others = [threads.submit(client.score, [CUP], [RED_CUP]) for _ in range(3)]
            assert [other.result(5)[0].score for other in others] == [0.5] * 3
            assert not long.done()
        finally:
            let_go.set()
        assert long.result(5)[0].score == 1


def test_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    class Reading(ImageRoot):
        held = max_held = 0

        def read(self, path: str, max_bytes: int) -> bytes:
            self.held += 1
            self.max_held = max(self.held, self.max_held)
            return super().read(path, max_bytes)

    class OneByOne(SlowGrounder):
        concurrency = 1

        async def ground(self, *given: Any) -> Any:
            found = await super().ground(*given)
            root.held -= 1
            return found

    (tmp_path / "a.png").write_bytes(base64.b64decode(json.loads(image_request())["images"][0]["base64"]))
    root = Reading(tmp_path)
    answer = visitor(Scorer(OneByOne(0)), root=root).post("/v1/score", json=asked(*[{"path": "a.png"}] * 20))
    assert [one["score"] for one in answer.json()["results"]] == [0.0] * 20
    assert root.max_held == 1  # else a small request could fill all memory


def test_a_client_that_does_not_read_is_not_waited_for() -> None:
    scenes = [{"scene": CUP}] * 1000
    body = json.dumps(asked(*scenes)).encode()
    with on_a_port(limits=Limits(timeout=0.6, max_items=1000)) as port, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(5)
        connection.connect(("127.0.0.1", port))
        connection.sendall(head(f"Content-Length: {len(body)}") + body)
        answer = connection.recv(1024)
        time.sleep(1.2)
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        assert len(answer) + len(until_closed(connection)) < length


def test_so_many_pixels_are_not_decoded() -> None:
    file = io.BytesIO()
    Image.new("1", (9000, 9000)).save(file, "PNG")
    sent = {"base64": base64.b64encode(file.getvalue()).decode()}
    [found] = visitor().post("/v1/score", json=asked(sent)).json()["results"]
    assert (found["score"], found["unscored"]) == (None, "too large")


def test_all_that_is_held_at_once_has_a_limit() -> None:
    limits = Limits(max_body_bytes=1000)
    assert limits.max_held_bytes == 8000 + 100 * limits.max_values  # as sent, and the values of one as parsed
    small = visitor(limits=limits)
    assert small.post("/v1/score", json=asked({"scene": CUP})).status_code == 200
    assert "\nformalimg_held_bytes 0\n" in small.get("/metrics").text


def numbers(port: int) -> str:
    with connected(port) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return until_closed(connection).decode()


def test_clients_that_leave_are_not_worked_for() -> None:
    very_slow = SlowGrounder(60)
    with on_a_port(Scorer(very_slow)) as here:
        with connected(here) as connection:
            body = image_request()
            connection.sendall(head(f"Content-Length: {len(body)}") + body)
            until(lambda: very_slow.begun == 1)
            assert "\nformalimg_in_flight 1\n" in numbers(here)
        until(lambda: 'path="/v1/score",status="499"' in numbers(here))
        assert very_slow.finished == 0
        assert "\nformalimg_in_flight 0\n" in numbers(here)
        assert "\nformalimg_held_bytes 0\n" in numbers(here)


def test_scenes_are_not_judged_for_clients_that_have_left() -> None:
    class Pondering(Scorer):
        def prepare(self, task: TaskLike) -> RewardTask:
            if task == LONG:
                begun.set()
                let_go.wait(20)
            return super().prepare(task)

        def score_all(self, *given: Any, **named: Any) -> list[RewardScore]:
            scored.append(1)
            return super().score_all(*given, **named)

    begun, let_go, scored = threading.Event(), threading.Event(), list[int]()
    body = json.dumps(asked(*[{"scene": CUP}] * 5, item=LONG)).encode() + b" " * 300_000
    with on_a_port(Pondering()) as here:
        try:
            with connected(here) as connection:
                connection.sendall(head(f"Content-Length: {len(body)}") + body)
                assert begun.wait(20)
            until(lambda: 'path="/v1/score",status="499"' in numbers(here))
        finally:
            let_go.set()
    assert scored == []  # once the server has ended, and its threads with it
