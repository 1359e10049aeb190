"""What is sent: read up to a limit and in time, as JSON or as multipart, and never as anything that is run."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from formalimg.rewards.server.limits import Limits
from formalimg.rewards.server.refusing import RefusedError

FIELD = "request"
"""The part of a multipart request that holds the JSON."""


_JSON, _MULTIPART = "application/json", "multipart/form-data"

_UTF_8 = re.compile('charset="?utf-?8')
"""The one charset that a multipart request may name: it would be read by any that Python has, however slow or odd."""


class Sent(NamedTuple):
    """What a request holds, as yet unread.

    Attributes:
        text: the JSON.
        files: the files that came beside it, by the name of their part.
    """

    text: bytes
    files: Mapping[str, bytes]


class Held:
    """How many bytes of bodies are in memory, of all requests that are read or worked on."""

    def __init__(self) -> None:
        self.bytes = 0


class Bodies:
    """Reads bodies. Whoever uses one lets go of it at the end, with `with`."""

    def __init__(self, limits: Limits, held: Held) -> None:
        """Read up to these limits; what is held is counted together with all others."""
        self._limits, self._held, self._length = limits, held, 0

    def __enter__(self) -> Bodies:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.bytes -= self._length

    async def read(self, request: Request) -> Sent:
        """The whole body.

        Raises:
            RefusedError: if it is too large, comes too slowly, or is neither JSON nor multipart.
            ClientDisconnect: if the client is gone.
        """
        named, _, options = request.headers.get("content-type", "").lower().partition(";")
        kind = named.strip()
        if kind not in (_JSON, _MULTIPART):
            raise RefusedError(415, f"send {_JSON}, or {_MULTIPART}", closes=True)
        if kind == _MULTIPART and "charset" in _UTF_8.sub("", options):
            raise RefusedError(415, "send it in UTF-8, and leave the charset out", closes=True)
        if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise RefusedError(415, "send it as it is, without Content-Encoding", closes=True)
        told = request.headers.get("content-length", "")
        if told.isdecimal() and int(told) > self._limits.most_bytes:
            raise self._too_large()
        receive = self._counted(request.receive)
        try:
            async with asyncio.timeout(self._limits.timeout):
                if kind == _MULTIPART:
                    return await _multipart(Request(request.scope, receive), self._limits)
                return await _json(receive)
        except TimeoutError as error:
            words = f"the request was not sent in {self._limits.timeout:g} seconds"
            raise RefusedError(408, words, closes=True) from error

    def _counted(self, receive: Receive) -> Receive:
        async def counted() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                length = len(message.get("body", b""))
                self._length += length
                self._held.bytes += length
                if self._length > self._limits.most_bytes:
                    raise self._too_large()
                if self._held.bytes > self._limits.most_held:
                    words = "too much is being sent at the same time: come back later"
                    raise RefusedError(503, words, retry_after=1, closes=True)
            return message

        return counted

    def _too_large(self) -> RefusedError:
        words = f"this is too large: send no more than {self._limits.most_bytes:,} bytes at once"
        return RefusedError(413, words, closes=True)


async def _json(receive: Receive) -> Sent:
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return Sent(b"".join(pieces), {})


async def _multipart(request: Request, limits: Limits) -> Sent:
    try:
        async with request.form(max_files=limits.most_items + 1, max_fields=1, max_part_size=limits.most_bytes) as form:
            parts: dict[str, bytes] = {}
            for name, part in form.multi_items():
                if name in parts:
                    raise RefusedError(400, f"the part {name[:40]!r} is there twice")
                parts[name] = await part.read() if isinstance(part, UploadFile) else part.encode("utf-8", "replace")
    except HTTPException as error:  # what is no multipart
        words = f"{error.detail.rstrip('.')}: send the JSON as the field {FIELD!r}, and images as files with a filename"
        raise RefusedError(400, words, closes=True) from error
    if FIELD not in parts:
        raise RefusedError(400, f"a multipart request needs a part {FIELD!r} with the JSON")
    return Sent(parts.pop(FIELD), parts)


def object_in(text: bytes) -> Mapping[str, object]:
    """The object of JSON that was sent.

    Raises:
        RefusedError: if it is none.
    """
    try:
        found = json.loads(text, parse_constant=_refuse, object_pairs_hook=_told_once)
    except (ValueError, RecursionError) as error:  # also what is no UTF-8
        raise RefusedError(400, "this is no JSON that can be read") from error
    if not isinstance(found, dict):
        raise RefusedError(400, "send an object of JSON, with items and images")
    return found


def _refuse(constant: str) -> object:
    raise ValueError(constant)  # NaN and Infinity are no JSON


def _told_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):  # readers of JSON do not agree on which counts
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise RefusedError(400, f"{twice[:40]!r} is told twice in one object of JSON")
    return found
