"""No route of the server ever unpickles what it is sent, however it is sent."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import RED_CUP, knolling, on_a_port

FORM = (
    '--B\r\nContent-Disposition: form-data; name="{}"; filename="{}"\r\nContent-Type: application/octet-stream\r\n\r\n'
)


class Marking:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return (open, (str(self.path), "w"))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port(Scorer(items={"knolling": knolling()[:3]}, suites=["knolling"])) as port:
        yield port


def bodies(bomb: bytes, protocol_0: bytes) -> Iterator[tuple[str, bytes]]:
    kinds = ("application/json", "application/octet-stream", "application/x-pickle", "application/python-pickle", "")
    for kind in kinds:
        yield kind, bomb
        yield kind, protocol_0
    text, plain = base64.b64encode(bomb).decode(), protocol_0.decode("ascii")
    prompt = knolling()[0].prompt
    for value in (text, plain):
        for request in (
            {"items": [RED_CUP], "images": [{"base64": value}]},
            {"items": [{"formula": value}], "images": [{"scene": {"objects": value}}]},
            {"prompt": [prompt], "image": [value], "kwargs": {"state": value}},
            {"prompt": [value], "image": [text]},
            {"requests": [{"history": [{"text": prompt, "image_b64": text}], "metadata": value}]},
            {"requests": [{"history": [{"text": value, "image_b64": text}], "metadata": {"metadata": value}}]},
            {"images": [value], "meta_datas": [value], "only_strict": True},
        ):
            yield "application/json", json.dumps(request).encode()
    request_part = json.dumps({"items": [RED_CUP]}).encode()
    form = FORM.format("request", "").encode() + request_part + b"\r\n" + FORM.format("image0", "a.pkl").encode() + bomb
    yield "multipart/form-data; boundary=B", form + b"\r\n--B--\r\n"
    yield "multipart/form-data; boundary=B", FORM.format("request", "a").encode() + bomb + b"\r\n--B--\r\n"


def test_pickles_are_refused_or_have_no_reward_and_nothing_in_them_is_called(port: int, tmp_path: Path) -> None:
    control = tmp_path / "control"
    pickle.loads(pickle.dumps(Marking(control))).close()
    assert control.exists()  # so that the pickles below would be seen
    marked = tmp_path / "unpickled"
    bomb, protocol_0 = pickle.dumps(Marking(marked)), pickle.dumps(Marking(marked), protocol=0)
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/openapi.json")
    paths = [*json.loads(connection.getresponse().read())["paths"], "/", "/nowhere"]
    connection.close()
    assert {"/v1/score", "/compute", "/score"} <= set(paths)
    rewarded = 0
    for path in paths:
        for method in ("POST", "PUT", "GET"):
            for kind, body in bodies(bomb, protocol_0) if method == "POST" else [("application/x-pickle", bomb)]:
                connection = HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request(method, path, body, {"Content-Type": kind} if kind else {})
                answer = connection.getresponse()
                said = answer.read()
                assert answer.status < 500
                if method == "POST" and answer.status == 200:
                    rewarded += 1
                    found = json.loads(said)
                    given = found.get("rewards", found.get("results"))
                    assert given in ([None], [{}]) or given[0]["score"] is None
                connection.close()
                assert not marked.exists(), f"{method} {path} {kind}"
    assert rewarded >= 8  # an image that is a pickle is an image that cannot be read
