"""Images behind an address: fetched if they come, else a failure that does not show the address."""

from __future__ import annotations

import re

import pytest

from formalimg.models.base import CallError
from formalimg.models.providers.http import download
from tests.support.loopback import Dialect, Fault, Loopback, Request, Response, Route
from tests.support.loopback.dialects import Parts
from tests.support.remote_models import IMAGE, wait_for


def _serving(response: Response) -> list[Dialect]:
    def answer(request: Request, fault: Fault | None, parts: Parts) -> Response:
        return response

    return [Dialect((Route(re.compile(".*"), answer),), lambda status, code, message: {})]


def _fault(address: str) -> CallError:
    with pytest.raises(CallError) as caught:
        wait_for(download(address, timeout=0.3, delays=()))
    assert "signature" not in str(caught.value)
    return caught.value


def test_what_lies_there_comes_as_it_is() -> None:
    with Loopback(dialects=_serving(Response(IMAGE))) as server:
        assert wait_for(download(f"{server.url}/a.png?signature=x", 5)) == IMAGE


def test_an_image_that_is_paid_for_is_not_given_up_at_once() -> None:
    coming = [Response(status=404), Response(IMAGE, cut=True), Response(IMAGE)]

    def answer(request: Request, fault: Fault | None, parts: Parts) -> Response:
        return coming.pop(0)

    dialect = Dialect((Route(re.compile(".*"), answer),), lambda status, code, message: {})
    with Loopback(dialects=[dialect]) as server:
        assert wait_for(download(f"{server.url}/a.png", 5, delays=(0, 0))) == IMAGE
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
