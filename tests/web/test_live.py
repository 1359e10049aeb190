"""Server-sent events about runs in progress: what is sent, how many may listen, and that none delays the shutdown."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from starlette.routing import Route

from formalimg._util.locks import FolderLock
from formalimg.runs.tags import write_tags
from formalimg.web.connections import ConnectionLimits
from formalimg.web.server import build_app
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.live import LiveRuns
from formalimg.web.viewer.site import Site
from tests.web.sites import change, concept_run
from tests.web.test_connections import served_with_limits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    concept_run(tmp_path / "one", 4)
    return tmp_path


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    live = LiveRuns(RunIndex(Site(folder)), interval=0.05, max_streams=2)
    app = build_app([Route("/events", live, methods=["GET"])], token=None, command="formalimg view")
    with served_with_limits(app, ConnectionLimits(shutdown_timeout=60)) as found:
        yield found  # the shutdown is waited for, and asserted, when the test is over


def _listen(port: int) -> tuple[HTTPConnection, HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/events")
    return connection, connection.getresponse()


def _events(stream: HTTPResponse) -> Iterator[dict[str, object]]:
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


def test_progress_is_sent_while_a_process_writes_and_not_after(folder: Path, port: int) -> None:
    _, stream = _listen(port)
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    events = _events(stream)
    first = next(events)
    assert first["running"] == {}
    change(folder / "one", "UPDATE pictures SET status = 'planned' WHERE item = 'item-3'")
    lock = FolderLock(folder / "one")
    running = next(event for event in events if event["running"])
    assert running["state"] != first["state"]
    assert running["running"]["one"]["done"] == "3 of 4 images"  # type: ignore[index]
    lock.release()
    ended = next(event for event in events if not event["running"])
    write_tags(folder / "one", ["new"], "", version="")
    assert next(events)["state"] != ended["state"]
    # The stream is still open: the server ends it, and does not wait for it.


def test_only_so_many_may_listen_and_who_leaves_makes_room(port: int) -> None:
    first, stream = _listen(port)
    _, second = _listen(port)
    next(_events(stream))
    next(_events(second))
    over, refused = _listen(port)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "30")
    over.close()
    stream.close()
    first.close()
    while True:  # until the server has seen it
        again, answer = _listen(port)
        if answer.status == 200:
            break
        again.close()
    next(_events(answer))


def _statuses(port: int, count: int, held: ExitStack) -> dict[int, list[socket.socket]]:
    """Connect, send every request before the first answer is read, and return the connections by status."""
    connections = [held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(count)]
    for connection in connections:
        connection.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    answers: dict[int, list[socket.socket]] = {}
    for connection in connections:
        answers.setdefault(int(connection.recv(12).split()[1]), []).append(connection)
    return answers


def test_many_who_come_at_the_same_time_are_not_more_than_the_limit(folder: Path) -> None:
    app = create_viewer_app(Site(folder), token=None)
    with served_with_limits(app, ConnectionLimits(shutdown_timeout=60)) as port, ExitStack() as held:
        first = _statuses(port, 150, held)
        assert {status: len(those) for status, those in first.items()} == {200: 64, 503: 86}
        for connection in first[200][:10]:
            connection.close()
        admitted = 0
        while admitted < 10:  # until the server has seen it
            admitted += len(_statuses(port, 20, held).get(200, []))
        assert admitted == 10
        assert [*_statuses(port, 20, held)] == [503]
