"""What no client should send: it is refused in one line of JSON, nobody else notices, and nothing is in the log."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from formalimg.rewards.server.request_body import Limits
from tests.rewards_server.servers import CUP, RED_CUP, asked, connected, on_a_port, until_closed, until_there, visitor

HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + "Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port() as port:
        yield port


@pytest.mark.parametrize(
    "sent",
    [
        "\x16\x03\x01 hello, by TLS\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        HEAD.format(path="/v1/score") + "Content-Length: ten\r\n\r\n",
        CHUNKED.format(path="/v1/score") + "no length\r\n",
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + "and then this\r\n\r\n",
    ],
    ids=["tls", "no host", "length", "chunk", "second request"],
)
def test_what_is_no_http_is_refused_in_json(port: int, sent: str) -> None:
    with connected(port) as connection:
        connection.sendall(sent.encode("latin-1"))
        head, _, told = until_closed(connection).rpartition(b"\r\n\r\n")
    assert b"HTTP/1.1 400 Bad Request\r\n" in head
    assert json.loads(told) == {"error": "this is not HTTP that can be read: send HTTP/1.1"}


def test_the_rest_of_a_request_that_was_refused_may_be_anything(port: int, caplog: pytest.LogCaptureFixture) -> None:
    with connected(port) as connection:
        connection.sendall(CHUNKED.format(path="/nothing").encode())
        assert until_there(connection, b"}").startswith(b"HTTP/1.1 404 ")
        connection.sendall(b"no length\r\n")
        assert until_closed(connection) == b""
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_who_asks_for_what_is_not_there_is_told_what_is() -> None:
    client = visitor()
    assert "POST /v1/score" in client.get("/v1/scores").json()["error"]
    assert client.get("/v1/score").json() == {"error": "GET is not allowed here: send POST"}


def test_of_far_too_many_connections_the_one_that_is_idle_longest_is_closed() -> None:
    with on_a_port(limits=Limits(max_connections=1)) as port, ExitStack() as held:
        several = [held.enter_context(connected(port)) for _ in range(4)]
        fifth = held.enter_context(connected(port))
        fifth.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert until_there(fifth, b"ok\n").startswith(b"HTTP/1.1 200 ")
        assert until_closed(several[0]) == b""
        several[1].sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert until_there(several[1], b"ok\n").startswith(b"HTTP/1.1 200 ")


def test_one_key_among_very_many_that_is_told_twice_is_found() -> None:
    keys = ",".join(f'"{number}":0' for number in (*range(200_000), 199_999))
    answer = visitor().post("/v1/score", content=f"{{{keys}}}", headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()) == (400, {"error": "the key '199999' occurs twice in one JSON object"})


@pytest.mark.parametrize("deep", [10, 800])
def test_scenes_may_nest_as_deep_as_json_can_be_read(deep: int) -> None:
    nested = json.loads("[" * deep + "]" * deep)
    scene = {"objects": [{**CUP["objects"][0], "label": nested}]}
    first, second = visitor().post("/v1/score", json=asked({"scene": scene}, {"scene": CUP})).json()["results"]
    assert (first["unscored"], second["score"]) == ("not understood", 0.5)
    assert "objects[0] has no label" in first["reason"]


@pytest.mark.parametrize("charset", ["undefined", "punycode", "utf-16"])
def test_requests_do_not_choose_how_their_bytes_are_read(charset: str) -> None:
    form = b'--B\r\nContent-Disposition: form-data; name="request"\r\n\r\n%s\r\n--B--\r\n'
    body = form % json.dumps(asked({"scene": CUP})).encode()
    kind = 'multipart/form-data; boundary=B; charset="{}"'
    client = visitor()
    refused = client.post("/v1/score", content=body, headers={"Content-Type": kind.format(charset)})
    assert (refused.status_code, "UTF-8" in refused.json()["error"]) == (415, True)
    assert client.post("/v1/score", content=body, headers={"Content-Type": kind.format("UTF-8")}).status_code == 200


ENDLESS = """
import sys, threading
from formalimg.rewards import Scorer
from formalimg.rewards.server.request_body import Limits
from formalimg.rewards.server.app import create_reward_app
from formalimg.rewards.server.http_server import serve_rewards

class Endless(Scorer):
    def prepare(self, task):
        if task == {"formula": "endless"}:
            print("begun", flush=True)
            threading.Event().wait()
        return super().prepare(task)

limits = Limits(shutdown_timeout=0.5)
def make(token):
    return create_reward_app(Endless(), version="1", limits=limits, token=token)
serve_rewards(make, host="127.0.0.1", port=0, token=None, limits=limits, on_progress=lambda url: print(url, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to end it with")
def test_who_is_not_finished_when_the_server_ends_is_told_to_come_back() -> None:
    endless = asked({"scene": CUP}, item={"formula": "endless"})
    # One goes along the lane for small requests, the other, which is large, in a thread of its own.
    bodies = [json.dumps(endless).encode(), json.dumps(endless).encode() + b" " * 300_000]
    command = [sys.executable, "-c", ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as server:
        try:
            assert server.stdout is not None
            assert server.stderr is not None
            port = urlsplit(server.stdout.readline().strip()).port or 0
            with connected(port) as small, connected(port) as large:
                for connection, body in zip((small, large), bodies, strict=True):
                    head = HEAD.format(path="/v1/score")
                    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                    assert server.stdout.readline() == "begun\n"
                server.send_signal(signal.SIGTERM)
                answers = [until_closed(small), until_closed(large)]
            assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
            assert all(b"\r\nretry-after: 1\r\n" in answer for answer in answers)
            assert server.wait(20) == 0
            assert "Traceback" not in server.stderr.read()
        finally:
            server.kill()


GOING_ON = """
import time
from formalimg.rewards import Scorer
from formalimg.rewards.server.request_body import Limits
from formalimg.rewards.server import http_server
from formalimg.rewards.server.app import create_reward_app
from formalimg.rewards.server.http_server import serve_rewards

http_server._THREAD_TIMEOUT = 0.1
def make(token):
    return create_reward_app(Scorer(), version="1", token=token)
serve_rewards(make, host="127.0.0.1", port=0, token=None, limits=Limits(), on_progress=lambda url: print(url, flush=1))
time.sleep(0.5)
print("goes on")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to end it with")
def test_a_program_goes_on_after_its_server_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", GOING_ON], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            port = urlsplit(program.stdout.readline().strip()).port or 0
            with connected(port) as connection:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                until_there(connection, b"ok\n")  # so that it serves, and knows how to end
            program.send_signal(signal.SIGTERM)
            assert program.stdout.read() == "goes on\n"
            assert program.wait(20) == 0
        finally:
            program.kill()


def test_good_requests_are_answered_after_all_this(port: int) -> None:
    body = json.dumps(asked({"scene": CUP}, item=RED_CUP)).encode()
    with connected(port) as connection:
        head = HEAD.format(path="/v1/score")
        connection.sendall(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        assert json.loads(until_closed(connection).partition(b"\r\n\r\n")[2])["results"][0]["score"] == 0.5
