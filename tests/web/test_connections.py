"""The front of all servers on real sockets: slow clients, too many of them, ambiguous heads, bodies, the log."""

from __future__ import annotations

import errno
import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive

from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.app import create_reward_app
from formalimg.web import json_body as bodies
from formalimg.web.connections import (
    MAX_HEAD,
    ConnectionLimits,
    LimitedServer,
    RepeatFilter,
    limited_config,
    limited_log,
)
from formalimg.web.json_body import json_endpoint
from formalimg.web.security import host_name
from formalimg.web.server import build_app, listen
from tests.rewards_server.servers import connected, until_closed, until_there

LIMITS = ConnectionLimits(timeout=0.6, max_connections=2)


def _site() -> object:
    def echo(_request: Request, body: Mapping[str, object]) -> Response:
        return JSONResponse({"keys": len(body)})

    async def hello(_request: Request) -> Response:
        return PlainTextResponse("hello")

    routes = [Route("/", hello, methods=["GET"]), Route("/echo", json_endpoint(echo), methods=["POST"])]
    return build_app(routes, token=None, command="formalimg view")


@contextmanager
def served_with_limits(app: object, limits: ConnectionLimits) -> Iterator[int]:
    """The port of an application that is served for a while, and has to end in time."""
    server = LimitedServer(limited_config(app, limits))  # type: ignore[arg-type]
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served_with_limits(_site(), LIMITS) as port:
        yield port


@pytest.fixture(scope="module", params=["site", "rewards"])
def any_port(request: pytest.FixtureRequest) -> Iterator[int]:
    app = _site() if request.param == "site" else create_reward_app(Scorer(), version="1")
    with served_with_limits(app, ConnectionLimits()) as port:
        yield port


def ask(port: int, text: str) -> bytes:
    with connected(port) as connection:
        connection.sendall(text.encode("latin-1"))
        return until_closed(connection)


def post(port: int, body: str, length: int | None = None) -> str:
    heads = f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
    size = len(body) if length is None else length
    return f"{heads}Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n{body}"


def test_idle_connections_and_slow_heads_are_cut(port: int) -> None:
    assert ask(port, "") == b""
    assert ask(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ") == b""
    assert ask(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").endswith(b"hello")  # kept for a while, then closed


def test_slow_bodies_are_refused(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_TIMEOUT", 0.3)
    answer = ask(port, post(port, '{"a": ', length=20))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"was not sent within 0.3 seconds" in answer


def test_more_requests_than_the_limit_are_told_to_come_back(port: int) -> None:
    with ExitStack() as held:
        busy = [held.enter_context(connected(port)) for _ in range(2)]
        for connection in busy:
            connection.sendall(post(port, '{"a": ', length=8).encode())
        answer = ask(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in answer.lower()
        for connection in busy:
            connection.sendall(b"0}")
            assert until_there(connection, b"}").startswith(b"HTTP/1.1 200 ")
    assert ask(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_bodies_with_very_many_values_are_not_parsed(port: int) -> None:
    answer = ask(port, post(port, '{"a": [' + "0," * 60_000 + "0]}"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"more than 50,000 values" in answer


def test_all_bodies_together_have_a_limit(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_MAX_IN_MEMORY", 1000)
    assert ask(port, post(port, '{"a": 0}' + " " * 2000)).startswith(b"HTTP/1.1 503 ")
    assert ask(port, post(port, '{"a": 0}')).startswith(b"HTTP/1.1 200 ")  # nothing is left of it


def test_heads_that_are_too_long_are_refused(any_port: int) -> None:
    assert b" 400 " in ask(any_port, f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: {'x' * 70_000}")[:20]


def test_the_limit_of_heads_does_not_depend_on_how_they_arrive(any_port: int) -> None:
    begun = "GET /none HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nX-Long: "
    fits = MAX_HEAD - len(begun) - 4
    assert b" 404 " in ask(any_port, f"{begun}{'x' * fits}\r\n\r\n")[:20]
    for length in (fits + 1, 70_000, 100_000):  # whole, as one read may give it
        answer = ask(any_port, f"{begun}{'x' * length}\r\n\r\n")
        assert b" 400 " in answer[:20]
    assert b"no more than 64 KB" in answer


@pytest.mark.parametrize(
    "hosts",
    [
        ["evil.example@127.0.0.1"],
        ["127.0.0.1@evil.example"],
        ["user:word@localhost"],
        ["127.0.0.1/path"],
        ["127.0.0.1?query"],
        ["127.0.0.1#part"],
        ["127.0.0.1\\evil.example"],
        ["127.0.0.1 evil.example"],
        ["127.0.0.1,evil.example"],
        ["127.0.0.1:port"],
        ["127.0.0.1:80:80"],
        ["[::1"],
        ["[::1]evil.example"],
        ["%31"],
        ["loc\xe4lhost"],
        [""],
        ["127.0.0.1", "127.0.0.1"],
        ["127.0.0.1", "evil.example"],
        [],
    ],
)
@pytest.mark.parametrize("path", ["/", "/healthz"])
def test_host_headers_that_are_not_one_name_are_refused(any_port: int, hosts: list[str], path: str) -> None:
    heads = "".join(f"Host: {host}\r\n" for host in hosts)
    answer = ask(any_port, f"GET {path} HTTP/1.1\r\n{heads}Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'{"error": "' in answer


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:{port}", "localhost", "LOCALHOST:1", "[::1]:{port}"])
def test_host_headers_of_this_machine_are_answered(any_port: int, host: str) -> None:
    head = f"Host: {host.format(port=any_port)}\r\nConnection: close\r\n\r\n"
    statuses = {ask(any_port, f"GET {path} HTTP/1.1\r\n{head}")[9:12] for path in ("/", "/healthz")}
    assert statuses == {b"200", b"404"}  # one of the paths is there


@pytest.mark.parametrize("host", ["evil.example@127.0.0.1", "127.0.0.1/", "[::1", "[1]", "a b"])
def test_a_host_that_is_not_a_name_has_none(host: str) -> None:
    assert host_name(host) == ""


def test_an_origin_that_is_not_a_url_is_refused(port: int) -> None:
    heads = f"POST /echo HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://[\r\nContent-Length: 0\r\n\r\n"
    assert ask(port, heads).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("path", ["/echo", "/v1/score", "/nothing"])
def test_a_length_beside_chunks_is_refused(any_port: int, path: str) -> None:
    heads = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    rest = "0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    answer = ask(any_port, heads + both + rest)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Content-Length or Transfer-Encoding: send one of them" in answer
    assert answer.count(b"HTTP/1.1 ") == 1  # what follows is not taken for a request


def test_what_many_clients_do_wrong_is_logged_once() -> None:
    written: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())  # type: ignore[method-assign]
    with limited_log(), served_with_limits(_site(), LIMITS) as port:
        logging.getLogger("uvicorn.error").addHandler(handler)
        try:
            for _ in range(50):
                assert ask(port, "no HTTP\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        finally:
            logging.getLogger("uvicorn.error").removeHandler(handler)
    assert written == ["Invalid HTTP request received."]


def test_connections_that_cannot_be_accepted_are_logged_in_one_line_once_a_minute() -> None:
    now = 0.0
    repeats, written = RepeatFilter(lambda: now), list[str]()
    for moment in range(7000):
        now = moment / 100
        try:
            raise OSError(errno.EMFILE, "Too many open files")
        except OSError as error:
            details = (OSError, error, error.__traceback__)
        record = logging.LogRecord("asyncio", logging.ERROR, "", 0, f"accept {moment}\nsocket", (), details)
        if repeats.filter(record):
            written.append(logging.Formatter().format(record))
    first, second = written
    assert first == "cannot accept connections (Too many open files): raise the limit of open files, `ulimit -n`"
    assert second == f"{first} (5,999 repeated messages left out)"


def test_different_errors_are_all_logged() -> None:
    repeats = RepeatFilter(lambda: 0.0)
    records = [logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, text, (), None) for text in ("a", "b", "a")]
    assert [repeats.filter(record) for record in records] == [True, True, False]


def _handle(receive: Receive, work: Callable[..., Response], kind: bytes = b"application/json") -> None:
    """A request with a body of up to 1 KB, as it arrives."""
    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind)]}
    anyio.run(json_endpoint(work, max_bytes=1024), Request(scope, receive))


@pytest.mark.parametrize(("chunks", "taken"), [(3, 3), (40, 17)])
def test_what_is_too_large_is_taken_before_it_is_refused_but_not_without_end(chunks: int, taken: int) -> None:
    sent = 0

    async def receive() -> Message:
        nonlocal sent
        sent += 1
        return {"type": "http.request", "body": b"x" * 512, "more_body": sent < chunks}

    with pytest.raises(Exception, match="too large: send no more than 1 KB"):
        _handle(receive, lambda request, body: JSONResponse({}))
    assert sent == taken


def test_what_is_as_large_as_allowed_is_read() -> None:
    body = json.dumps({"text": "x" * 1012}).encode()
    assert len(body) == 1024
    found: list[object] = []

    def work(_request: Request, sent: Mapping[str, object]) -> Response:
        found.append(sent["text"])
        return JSONResponse({})

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    _handle(receive, work, kind=b"application/json; charset=utf-8")
    assert found == ["x" * 1012]
