"""`--engine ray` as far as it goes without a cluster."""

from __future__ import annotations

import re
import socket
import threading
from typing import Any

import pytest

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.registry import open_image_model
from formalimg.runs.parties import EngineOptions, Reopenable
from formalimg.runs.ray.pool import open_worker_pool
from formalimg.runs.ray.worker import probe


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--address", ("auto", None, None, None)),
        ("--workers", (None, 2, None, None)),
        ("--gpus-per-worker", (None, None, 0.0, None)),
        ("--cpus-per-worker", (None, None, None, 1.0)),
    ],
)
def test_options_of_the_cluster_need_the_engine(option: str, given: tuple[Any, ...]) -> None:
    with pytest.raises(FormalimgError, match=f"^{option} is about a Ray cluster: give --engine ray too$"):
        EngineOptions("local", *given)
    EngineOptions("ray", *given)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.runs.ray.worker.find_spec", lambda name: None)
    reader = Reopenable.open(lambda: open_image_model("builtin/reader"))
    with (
        pytest.raises(FormalimgError, match=re.escape(f"the engine ray needs the package ray: {install_line('ray')}")),
        EngineOptions("ray", "local", 2, None, None).open(reader, None),
    ):
        pass


def test_wrong_numbers_and_addresses_are_refused_before_a_cluster_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("formalimg.runs.ray.worker.find_spec", lambda name: "there")
    for wrong, told in (
        ({"workers": 0}, "0 workers"),
        ({"address": "ray://head:10001"}, "from outside: use"),
        ({"address": "head"}, "'head' is not an address of a Ray cluster: use auto, local or HOST:PORT"),
        ({"address": "head:port"}, "is not an address of a Ray cluster"),
    ):
        with pytest.raises(FormalimgError, match=told), open_worker_pool(**wrong):
            pass


def test_a_port_on_which_something_else_listens_is_told_at_once() -> None:
    """Ray itself would look for more than a minute."""

    def answer(listening: socket.socket) -> None:
        with listening.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        with pytest.raises(ConnectionError, match="it is not Ray: give the port of"):
            probe(f"127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
