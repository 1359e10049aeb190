"""Reward servers for tests: in the test's own process, or on a real port."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import uvicorn
from PIL import Image
from starlette.testclient import TestClient

from formalimg import Scene, load
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.app import create_reward_app
from formalimg.rewards.server.http_server import server_config
from formalimg.rewards.server.request_body import Limits
from formalimg.rewards.server.score_request import ImageRoot
from formalimg.types import Item, Unscored
from formalimg.web.server import listen

CUP = {"objects": [{"label": "cup", "color": "blue", "box_2d": [100, 100, 200, 200]}]}
RED_CUP = {"formula": "(exists ?x (and (Is ?x 'cup') (Has ?x 'red')))", "vocabulary": "knolling"}


@cache
def knolling() -> list[Item[Any]]:
    return load("knolling")


class SlowGrounder:
    name, concurrency = "test/slow", 100
    settings: Mapping[str, Any] = {}

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.begun = self.finished = 0

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        self.begun += 1
        await asyncio.sleep(self._seconds)
        self.finished += 1
        return Grounding(Scene.of([]))


def asked(*images: object, item: object = RED_CUP) -> dict[str, object]:
    return {"items": [item] * len(images), "images": list(images)}


def visitor(
    scorer: Scorer | None = None,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    root: ImageRoot | None = None,
) -> TestClient:
    app = create_reward_app(scorer or Scorer(), version="1.2.3", limits=limits, token=token, root=root)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=True)


@contextlib.contextmanager
def on_a_port(scorer: Scorer | None = None, limits: Limits | None = None) -> Iterator[int]:
    limits = limits or Limits()
    server = uvicorn.Server(
        server_config(create_reward_app(scorer or Scorer(), version="1.2.3", limits=limits), limits)
    )
    with listen("127.0.0.1", 0) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)  # what nobody reads is soon too much
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def head(length: str, path: str = "/v1/score") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()


def image_request() -> bytes:
    image = Image.new("RGB", (8, 8), "white")
    image.putpixel((0, 0), (0, 0, 0))
    file = io.BytesIO()
    image.save(file, "PNG")
    return json.dumps(asked({"base64": base64.b64encode(file.getvalue()).decode()})).encode()


def until_closed(connection: socket.socket) -> bytes:
    read = b""
    with contextlib.suppress(ConnectionError):
        while got := connection.recv(65536):
            read += got
    return read


def until_there(connection: socket.socket, end: bytes) -> bytes:
    read = b""
    while not read.endswith(end):
        got = connection.recv(65536)
        assert got, f"the connection was closed after {read!r}"
        read += got
    return read
