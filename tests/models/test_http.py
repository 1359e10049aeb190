"""Answers, downloads and redirects of servers."""

from __future__ import annotations

import json
import logging
import re
import time
from email.utils import formatdate
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Usage
from formalimg.models.providers.http import (
    Endpoint,
    download_image,
    json_object,
    one_line,
    read_usage,
    retry_after,
)
from formalimg.models.providers.limits import refuse_redirect
from tests.support.loopback import Dialect, Fault, Loopback, Request, Response, Route
from tests.support.loopback.dialects import Parts
from tests.support.loopback.hostile import Answer, HostileServer, drip, flood, redirect, whole
from tests.support.remote_calls import CALLERS, plant_keys, why_it_failed
from tests.support.remote_models import IMAGE, PLANTED, stand_alone, wait_for
from tests.support.sizes import tries

ANY_TEXT = st.text(st.characters(), max_size=600)
WHOM = Endpoint("acme/painter", "ACME_KEY", "https://acme.example/v1")


def _fault(status: int, code: str = "", message: str = "") -> str:
    meant = WHOM.error(status, code, message, {})
    return meant.kind if isinstance(meant, CallError) else "ends the run"


@pytest.mark.parametrize(
    ("status", "code", "message", "expected"),
    [
        (400, "moderation_blocked", "", "refused"),
        (400, "", "Your request was rejected by the safety system", "refused"),
        (403, "", "Input was flagged by moderation", "refused"),
        (400, "ResponsibleAIPolicyViolation", "", "refused"),
        (400, "content_filter", "", "refused"),
        (429, "", "see our usage policies", "busy"),
        (500, "", "the safety system is down", "unavailable"),
        (429, "insufficient_quota", "", "ends the run"),
        (418, "", "", "rejected"),
        (408, "", "", "unavailable"),
        (599, "", "", "unavailable"),
    ],
)
def test_meanings(status: int, code: str, message: str, expected: str) -> None:
    assert _fault(status, code, message) == expected


@given(st.integers(400, 599), ANY_TEXT, ANY_TEXT)
def test_every_rejection_means_something_in_one_line(status: int, code: str, message: str) -> None:
    meant = WHOM.error(status, code, message, {})
    assert isinstance(meant, CallError | FormalimgError)
    assert str(meant).isprintable()
    assert len(str(meant)) < 600


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-4"}, 0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "?", "retry-after": "7"}, 7),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


@given(st.integers(0, 100_000))
def test_how_long_to_wait_by_a_date(seconds: int) -> None:
    wait = retry_after({"retry-after": formatdate(time.time() + seconds, usegmt=True)})
    assert wait is not None
    assert abs(wait - seconds) < 3


@pytest.mark.parametrize(
    "date", [f"Thu, 01 Jan 1970 00:00:00 +{'9' * 13}", f"Thu, 01 Jan 1970 {'9' * 23}:00:00 GMT", "1 Jan 1 0:0 -2359"]
)
def test_a_date_of_too_many_digits_is_no_crash(date: str) -> None:
    assert retry_after({"retry-after": date}) in (None, 0)


@given(st.text(max_size=40))
def test_any_header_can_be_read(text: str) -> None:
    wait = retry_after({"retry-after": text})
    assert wait is None or 0 <= wait < float("inf")


@given(st.binary(max_size=200))
def test_whatever_comes_is_an_object_or_wrong(body: bytes) -> None:
    try:
        expected = json.loads(body)
    except ValueError:
        expected = None
    if isinstance(expected, dict):
        assert json_object(body) == expected
        return
    with pytest.raises(CallError) as caught:
        json_object(body)
    assert caught.value.kind == "wrong"


def test_half_characters_become_question_marks_and_whole_ones_stay() -> None:
    assert json_object(rb'{"a": "\ud83d", "b": "\ud83d\ude00", "c": "\u00e9"}') == {"a": "?", "b": "😀", "c": "é"}


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a": NaN', b"[]", b"null", b'"text"', b"\xff\xfe", b"<html>"])
def test_answers_of_other_kinds_are_wrong(body: bytes) -> None:
    with pytest.raises(CallError) as caught:
        json_object(body)
    assert caught.value.kind == "wrong"


def test_numbers_are_counted_and_nothing_else() -> None:
    counts = {"a": 3, "b": 4, "c": True, "d": "5", "e": None, "f": -2}
    assert read_usage(counts, ["a", "b", "e", "g"], ["b"]) == Usage(7, 4)
    assert read_usage(None, ["a"], ["b"]) == read_usage([3], ["a"], ["b"]) == Usage()
    for wrong in ("c", "d", "f"):
        assert read_usage(counts, ["a", wrong], ["b"], images=1) == Usage(images=1)


def test_pages_are_not_quoted() -> None:
    assert one_line("<!DOCTYPE html><html>…</html>") == "an HTML page"


def _serving(response: Response) -> list[Dialect]:
    def answer(request: Request, fault: Fault | None, parts: Parts) -> Response:
        return response

    return [Dialect((Route(re.compile(".*"), answer),), lambda status, code, message: {})]


def _download_fault(address: str) -> CallError:
    with pytest.raises(CallError) as caught:
        wait_for(download_image(address, timeout=3, delays=()))
    assert "signature" not in str(caught.value)
    return caught.value


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
        assert _download_fault(f"{server.url}/a.png?signature=x").kind == expected


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("http://127.0.0.1:9/a.png?signature=x", "unavailable"),
        ("file:///etc/passwd?signature=x", "wrong"),
        ("ftp://example.org/signature", "wrong"),
        ("signature", "wrong"),
    ],
)
def test_only_the_web_is_looked_at(address: str, kind: str) -> None:
    assert _download_fault(address).kind == kind


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
        assert _download_fault(f"{server.url}/?signature=x").kind == "unavailable"


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


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)


@pytest.mark.parametrize("status", [307, 301, 302, 303, 308][: tries(1, 5)])
@pytest.mark.parametrize("caller", CALLERS)
def test_a_redirect_to_another_port_ends_the_run_and_names_the_server(caller: str, status: int) -> None:
    with HostileServer(whole(b"{}")) as other, HostileServer(redirect(status, f"{other.url}/v1?x=y")) as server:
        with pytest.raises(FormalimgError) as caught:
            why_it_failed(caller, server.url)
        assert len(server.came) == 1
        assert PLANTED in str(server.came[0][2])  # so there was a key to lose
        assert other.came == []
    assert f"{server.url} redirects to {other.url}, " in str(caught.value)
    assert "name it in base_url" in str(caught.value)
    assert "x=y" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("caller", CALLERS)
def test_a_redirect_within_the_server_is_followed(caller: str) -> None:
    with HostileServer(lambda handler: _move_once(handler.path)(handler)) as server:
        assert why_it_failed(caller, server.url).startswith("wrong: ")  # what is there is no answer
    assert [path for _, path, _ in server.came][1:] == ["/moved"]
    assert PLANTED in str(server.came[1][2])


def _move_once(path: str) -> Answer:
    return whole(b"{}") if path == "/moved" else redirect(308, "/moved")


@pytest.mark.parametrize(
    ("here", "there", "named"),
    [
        ("https://api.example.org/v1", "http://api.example.org/v1", "http://api.example.org"),
        ("https://api.example.org/v1", "https://api.example.org:8443/v1", "https://api.example.org:8443"),
        ("https://api.example.org/v1", "https://example.org/v1", "https://example.org"),
        ("https://api.example.org/v1", "https://api.example.org.evil.net/", "https://api.example.org.evil.net"),
        ("https://api.example.org/v1", "https://api.example.org@evil.net/", "https://evil.net"),
        ("http://api.example.org:8000/v1", "https://api.example.org/v1", "https://api.example.org"),
    ],
)
def test_another_scheme_port_or_host_is_another_server(here: str, there: str, named: str) -> None:
    with pytest.raises(FormalimgError, match=f" redirects to {named}, "):
        refuse_redirect(_response(here, there))


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("https://api.example.org/v1", "https://api.example.org/v2"),
        ("https://api.example.org/v1", "https://API.example.org:443/v2"),
        ("https://api.example.org/v1", "/v2"),
        ("http://api.example.org/v1", "https://api.example.org/v1"),
    ],
)
def test_the_same_server_and_the_same_with_tls_are_none(here: str, there: str) -> None:
    refuse_redirect(_response(here, there))


def test_a_redirect_that_cannot_be_read_is_an_error_of_this_call() -> None:
    with pytest.raises(CallError, match="redirects to an address that cannot be read"):
        refuse_redirect(_response("https://api.example.org/v1", "http://[::1/"))


def _response(here: str, there: str) -> httpx2.Response:
    return httpx2.Response(307, headers={"location": there}, request=httpx2.Request("POST", here))
