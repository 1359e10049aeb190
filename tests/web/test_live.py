"""Server-sent events about runs in progress: what is sent, how many may listen, and that none delays the shutdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from starlette.routing import Route

from formalimg.runs import FolderLock, write_tags
from formalimg.web import ConnectionLimits, Site
from formalimg.web.server import build_app
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.live import LiveRuns
from tests.web.sites import change, concept_run
from tests.web.test_connections import served_with_limits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    concept_run(tmp_path / "one", 4)
    return tmp_path


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    live = LiveRuns(RunIndex(Site(folder)), interval=0.05, max_streams=2)
    app = build_app([Route("/events", live.endpoint, methods=["GET"])], token=None, command="formalimg view")
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
