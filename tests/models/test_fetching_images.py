"""Images behind an address: fetched if they come, else a failure that does not show the address."""

from __future__ import annotations

import logging
import re

import pytest

from formalimg.models.base import CallError
from formalimg.models.providers.http import download_image
from tests.support.loopback import Dialect, Fault, Loopback, Request, Response, Route
from tests.support.loopback.dialects import Parts
from tests.support.loopback.hostile import Answer, HostileServer, drip, flood, redirect, whole
from tests.support.remote_models import IMAGE, PLANTED, wait_for
from tests.support.sizes import tries


def _serving(response: Response) -> list[Dialect]:
    def answer(request: Request, fault: Fault | None, parts: Parts) -> Response:
        return response

    return [Dialect((Route(re.compile(".*"), answer),), lambda status, code, message: {})]


def _fault(address: str) -> CallError:
    with pytest.raises(CallError) as caught:
        wait_for(download_image(address, timeout=3, delays=()))
    assert "signature" not in str(caught.value)
    return caught.value


def test_what_lies_there_comes_as_it_is() -> None:
    with Loopback(dialects=_serving(Response(IMAGE))) as server:
        assert wait_for(download_image(f"{server.url}/a.png?signature=x", 5)) == IMAGE


def test_an_image_that_is_paid_for_is_not_given_up_at_once() -> None:
    coming = [Response(status=404), Response(IMAGE, cut=True), Response(IMAGE)]

    def answer(request: Request, fault: Fault | None, parts: Parts) -> Response:
        return coming.pop(0)

    dialect = Dialect((Route(re.compile(".*"), answer),), lambda status, code, message: {})
    with Loopback(dialects=[dialect]) as server:
        assert wait_for(download_image(f"{server.url}/a.png", 5, delays=(0, 0))) == IMAGE
    assert not coming


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (Response(status=503), "unavailable"),
        (Response(status=429), "unavailable"),
        (Response(status=404), "wrong"),
        (Response(status=403), "wrong"),
        (Response(IMAGE, cut=True), "unavailable"),
        (Response(silent=True), "unavailable"),
    ],
)
def test_what_does_not_come_says_why(response: Response, expected: str) -> None:
    with Loopback(dialects=_serving(response)) as server:
        assert _fault(f"{server.url}/a.png?signature=x").kind == expected


def test_nobody_there_is_an_outage() -> None:
    assert _fault("http://127.0.0.1:9/a.png?signature=x").kind == "unavailable"


@pytest.mark.parametrize("address", ["file:///etc/passwd?signature=x", "ftp://example.org/signature", "signature"])
def test_only_the_web_is_looked_at(address: str) -> None:
    assert _fault(address).kind == "wrong"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_server_is_followed_without_keys_and_cookies(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED)
    with HostileServer(whole(IMAGE, content_type="image/png"), host="localhost") as other:
        sending = whole(b"", status, location=f"{other.url}/a.png", set_cookie="session=1; Domain=localhost")
        with HostileServer(sending, host="localhost") as server:
            assert wait_for(download_image(f"{server.url}/a.png?signature=x", 5)) == IMAGE
    ((method, path, headers),) = other.came
    assert (method, path) == ("GET", "/a.png")
    assert {"authorization", "cookie", "referer"}.isdisjoint(headers)
    assert PLANTED not in str(headers)


def test_redirects_have_an_end() -> None:
    again = HostileServer(redirect(302, "/again"))
    with again as server, pytest.raises(CallError, match="more than 5 redirects") as caught:
        wait_for(download_image(f"{server.url}/?signature=x", timeout=20, delays=()))
    assert caught.value.kind == "wrong"
    assert len(server.came) == 6


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/a.png", "http://[::1/"])
def test_a_redirect_out_of_the_web_is_not_followed(location: str) -> None:
    with HostileServer(redirect(302, location)) as server:
        assert _fault(f"{server.url}/?signature=x").kind == "unavailable"


@pytest.mark.parametrize("encoding", ["gzip", ""][: tries(1, 2)])
def test_a_file_that_is_too_large_for_an_image_is_given_up(encoding: str) -> None:
    with HostileServer(flood(65_000_000, encoding=encoding, head=IMAGE)) as server, pytest.raises(CallError) as caught:
        wait_for(download_image(server.url, timeout=20, delays=()))
    assert caught.value.reason == "the server answered with more than 64 MB"


@pytest.mark.parametrize("answer", [drip(head=IMAGE), drip(headers_too=True)])
def test_an_image_that_comes_drop_by_drop_is_given_up_and_the_connection_closed(answer: Answer) -> None:
    with HostileServer(answer) as server:
        with pytest.raises(CallError, match=r"could not be fetched within 2 s"):
            wait_for(download_image(server.url, timeout=2, delays=()))
        assert server.hung_up.wait(10), "the connection is still open"


def test_the_address_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with HostileServer(whole(IMAGE)) as server:
        assert wait_for(download_image(f"{server.url}/a.png?signature=x", 5)) == IMAGE
    assert "signature" not in caplog.text
