"""`--engine ray` as far as it goes without a cluster."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from formalimg.cli.workforce import Workforce
from formalimg.cluster import Opened, open_crew
from formalimg.cluster.joining import require_somebody
from formalimg.errors import FormalimgError
from formalimg.models import open_image_model


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
    with pytest.raises(FormalimgError, match=f"^{option} says something about a Ray cluster: give --engine ray too$"):
        Workforce("local", *given)
    Workforce("ray", *given)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.cluster.joining.find_spec", lambda name: None)
    reader = Opened.by(lambda: open_image_model("builtin/reader"))
    with (
        pytest.raises(FormalimgError, match=r"^the engine ray needs the package ray: pip install 'formalimg\[ray\]'$"),
        Workforce("ray", "local", 2, None, None).at_work(reader, None),
    ):
        pass


def test_wrong_numbers_and_addresses_are_refused_before_a_cluster_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("formalimg.cluster.joining.find_spec", lambda name: "there")
    for wrong, told in (
        ({"workers": 0}, "0 workers"),
        ({"address": "ray://head:10001"}, "from outside: use"),
        ({"address": "head"}, "'head' is no address of a Ray cluster: use auto, local or HOST:PORT"),
        ({"address": "head:port"}, "is no address of a Ray cluster"),
    ):
        with pytest.raises(FormalimgError, match=told), open_crew(**wrong):
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
        with pytest.raises(ConnectionError, match="it is no Ray: give the port of"):
            require_somebody(f"127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
