"""What answers of HTTP servers mean when they bring no result."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Usage
from formalimg.models.providers.http import (
    Endpoint,
    ErrorResponse,
    error_from_response,
    json_object,
    one_line,
    plain_fields,
    read_usage,
    retry_after,
)

ANY_TEXT = st.text(st.characters(), max_size=600)
WHOM = Endpoint("acme/painter", "ACME_KEY", "https://acme.example/v1")


def _fault(status: int, code: str = "", message: str = "") -> str:
    meant = error_from_response(ErrorResponse(status, code, message, {}), WHOM)
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
    meant = error_from_response(ErrorResponse(status, code, message, {}), WHOM)
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


def test_only_plain_values_are_told() -> None:
    assert plain_fields({"a": "x", "b": 1, "c": None, "d": [1], "e": {"f": 1}}, "a", "b", "c", "d", "e", "g") == {
        "a": "x",
        "b": 1,
    }


def test_pages_are_not_quoted() -> None:
    assert one_line("<!DOCTYPE html><html>…</html>") == "an HTML page"
