"""The client gives what the scorer gives, keeps its connections, and goes along to other processes."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from formalimg import FormalimgError, parse
from formalimg.drawing.icon_scene import draw
from formalimg.rewards.inputs import StyledScene
from formalimg.rewards.result import PairError
from formalimg.rewards.reward_functions import reward, reward_function
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.client import RewardClient, ServerError
from formalimg.rewards.server.request_body import Limits
from formalimg.rewards.tasks import TaskLike
from tests.rewards_server.servers import CUP, RED_CUP, knolling, on_a_port
from tests.support.concept_items import CAT, concept_item


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with on_a_port(Scorer(items={"knolling": knolling()}), Limits(timeout=0.3, max_items=8)) as port:
        yield f"http://127.0.0.1:{port}/"


def test_rewards_are_those_in_process(server: str) -> None:
    item = knolling()[1000]
    drawing = draw(item.spec.witness, 128)
    style = "(exists ?x (and (Is ?x 'cup') (IsStyle 'sketch')))"
    images = [drawing, np.asarray(drawing), item.spec.witness, CUP, None, StyledScene(item.spec.witness, "sketch")]
    items: list[TaskLike] = [item, ("knolling", item.id), item, RED_CUP, item, parse(style)]
    with RewardClient(server, batch=2) as client:
        found = client.score(images, items)
        assert found == Scorer(items={"knolling": [item]}).score_all(zip(images, items, strict=True))
        assert reward(images[2:], items[2:], scorer=client) == [scored.score for scored in found[2:]]
        assert client.about()["formalimg"] == "1.2.3"


def test_a_connection_that_was_let_go_of_is_made_again(server: str) -> None:
    client = RewardClient(server, retries=0)
    first = client.score([CUP], [RED_CUP])
    threading.Event().wait(0.6)  # the server lets go of it after 0.3 seconds
    assert client.score([CUP], [RED_CUP]) == first


def test_several_threads_may_use_it(server: str) -> None:
    with RewardClient(server) as client, ThreadPoolExecutor(8) as threads:
        scores = threads.map(lambda _: client.score([CUP], [RED_CUP])[0].score, range(40))
        assert set(scores) == {0.5}


def test_what_the_server_refuses_is_told(server: str) -> None:
    with pytest.raises(ServerError, match=r"\(400\): items\[0\].formula: line 1, column 1") as told:
        RewardClient(server).score([CUP], ["(Is"])
    assert told.value.status == 400
    with pytest.raises(ServerError, match="send no more than 8"):
        RewardClient(server).score([CUP] * 9, [RED_CUP] * 9)
    with pytest.raises(FormalimgError, match="cannot be sent"):
        RewardClient(server).score([CUP], [concept_item(CAT)])
    with pytest.raises(FormalimgError, match="1 images and 2 items"):
        RewardClient(server).score([CUP], [RED_CUP] * 2)


def test_mistakes_are_told_by_their_place_among_all_that_was_given(server: str) -> None:
    images, items = [None, *[CUP] * 9], [RED_CUP] * 10
    wrong: list[TaskLike] = [*items[:7], "(Is", *items[8:]]
    with RewardClient(server, batch=3) as client:
        with pytest.raises(ServerError, match=r"\(400\): items\[7\].formula: line 1, column 1") as told:
            client.score(images, wrong)
        assert told.value.index == 7
        with pytest.raises(ServerError, match=r"images\[5\].scene: a scene can be scored by a formula only") as told:
            client.score(images, [*items[:5], {"words": "", "questions": ["Is it?"]}, *items[6:]])
        assert told.value.index == 5
        with pytest.raises(PairError, match=r"pair 7: .* cannot be sent"):
            client.score(images, [*items[:7], concept_item(CAT), *items[8:]])


def test_scenes_are_read_as_a_scorer_reads_them(server: str) -> None:
    box = CUP["objects"][0]
    given: list[Any] = [
        {"objects": [{**box, "box_2d": [float("nan"), 100, 200, 200]}]},
        {"objects": [{**box, "box_2d": [200, 200, 100, 100]}]},
        {"objects": {"cup": box}},
        {"objects": [{**box, "box_2d": np.array([100, 100, 200, 200])}]},
        {"objects": (box,)},
    ]
    pairs = [(scene, RED_CUP) for scene in [*given, CUP]]
    found = RewardClient(server).score_all(pairs)
    assert found == Scorer().score_all(pairs)
    assert [one.score for one in found] == [None] * 3 + [0.5] * 3


def test_large_images_are_sent_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = draw(knolling()[0].spec.witness, 128)
    monkeypatch.setattr("formalimg.rewards.server.client._MAX_BYTES", 30_000)
    noise = np.random.default_rng(0).integers(0, 256, (80, 100, 3), np.uint8)  # 24 KB, as no file is smaller
    with on_a_port(limits=Limits(max_body_bytes=60_000)) as port:
        found = RewardClient(f"http://127.0.0.1:{port}").score([drawing, *[noise] * 8], [RED_CUP] * 9)
    assert len(found) == 9


@pytest.mark.parametrize("token", ["secret-with-an-end-of-line\n", "sécret-that-is-no-ascii", "secret with spaces"])
def test_a_token_that_cannot_be_sent_is_told_at_once_and_not_shown(token: str) -> None:
    with pytest.raises(FormalimgError, match="cannot be sent") as told:
        RewardClient("http://127.0.0.1:1", token=token)
    assert "cret" not in str(told.value)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:8424", "http://", "http://h:99999", "http://h:x", "http://[::1", "ftp://h"]
)
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(FormalimgError, match="not the address of a server"):
        RewardClient(url)


def test_a_busy_server_is_asked_again_when_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("formalimg.rewards.server.client.time.sleep", pauses.append)
    told = [(503, {"Retry-After": "7"}), (503, {}), (200, {})]
    with _scripted(told) as url:
        [found] = RewardClient(url, token="the-token-of-the-server").score([CUP], [RED_CUP])
    assert found.passed is None
    assert pauses == [7, pytest.approx(0.2)]
    with _scripted([(503, {})] * 3) as url, pytest.raises(ServerError, match="503"):
        RewardClient(url, retries=2).score([CUP], [RED_CUP])
    with pytest.raises(ServerError, match="does not answer") as error:
        RewardClient(url, retries=1).score([CUP], [RED_CUP])
    assert error.value.status is None


class _scripted:  # noqa: N801  (used as a word)
    def __init__(self, answers: list[tuple[int, dict[str, str]]]) -> None:
        left = list(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                status, headers = left.pop(0)
                nothing: dict[str, object] = {
                    "score": None,
                    "passed": None,
                    "reason": "",
                    "unscored": "refused",
                    "cost": 0,
                    "parts": [],
                }
                body = json.dumps({"results": [nothing]} if status == 200 else {"error": "busy"}).encode()
                if status == 200:
                    assert self.headers["Authorization"] == "Bearer the-token-of-the-server"
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_server_that_takes_too_long_is_not_asked_twice() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = RewardClient(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.3)
        with pytest.raises(ServerError, match=r"no answer in 0\.3 seconds"):
            client.about()
        silent.settimeout(0.3)
        silent.accept()[0].close()
        with pytest.raises(TimeoutError):
            silent.accept()


_FORKS = """
import os, sys
from formalimg.rewards.server import RewardClient

client = RewardClient(sys.argv[1])
seen = [client.about()["port"]]
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(client.about()["port"]).encode())
    os._exit(0)
os.wait()
print(*seen, os.read(read, 9).decode(), client.about()["port"])
"""


@contextmanager
def telling_ports() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps({"port": self.client_address[1]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_never_uses_the_connections_of_the_one_it_came_from() -> None:
    with telling_ports() as url:
        found = subprocess.run([sys.executable, "-c", _FORKS, url], capture_output=True, text=True, timeout=60)
    before, child, after = found.stdout.split()
    assert before == after, "a connection is kept"
    assert child != before


def test_a_client_and_a_reward_function_with_one_can_be_sent() -> None:
    with on_a_port() as port, RewardClient(f"http://127.0.0.1:{port}/", token="a-token-that-goes-along") as client:
        [found] = client.score([CUP], [RED_CUP])
        other = pickle.loads(pickle.dumps(client))
        assert other.score([CUP], [RED_CUP]) == [found]
        rewards = pickle.loads(pickle.dumps(reward_function(other, missing="nan")))
        assert rewards([CUP, None], ["", ""], [RED_CUP] * 2).scores.tolist()[0] == found.score == 0.5
        other.close()
