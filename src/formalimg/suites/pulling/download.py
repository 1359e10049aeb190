"""Bringing an archive over HTTP."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from formalimg.suites.pulling.addresses import plain_url
from formalimg.suites.pulling.errors import PullError

MOST_DOWNLOADED = 300_000_000
"""The most bytes that are downloaded."""
LONGEST_DOWNLOAD = 900
"""Seconds after which a download is given up."""

_SILENCE = 30
_CHUNK = 1 << 16


class _SameSecurity(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but not from https to anything less."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        schemes = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in schemes or urlsplit(newurl).username is not None:
            raise PullError(f"refused: {plain_url(req.full_url)} leads on to an unsafe address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(url: str, to: Path) -> None:
    """Write what a URL gives to a file; no credentials are sent."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SameSecurity(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    shown = plain_url(url)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "formalimg"})
        with opener.open(request, timeout=_SILENCE) as answer, to.open("wb") as file:
            _copy(answer, file, shown)
    except urllib.error.HTTPError as error:
        raise PullError(f"cannot download {shown}: the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise PullError(f"cannot download {shown}: {error.reason}; check the address and the network") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise PullError(f"cannot download {shown}: {error or type(error).__name__}; try again") from error


def _copy(answer: http.client.HTTPResponse, file: IO[bytes], shown: str) -> None:
    declared = answer.headers.get("Content-Length", "")
    expected = int(declared) if declared.isascii() and declared.isdigit() else None
    deadline = time.monotonic() + LONGEST_DOWNLOAD
    length = 0
    while True:
        if max(length, expected or 0) > MOST_DOWNLOADED:
            raise PullError(f"refused: {shown} gives more than {MOST_DOWNLOADED:,} bytes")
        if time.monotonic() > deadline:
            raise PullError(f"gave up after {LONGEST_DOWNLOAD} s: {shown} is too slow, try again")
        piece = answer.read1(_CHUNK)
        if not piece:
            break
        length += len(piece)
        file.write(piece)
    if expected is not None and length != expected:
        raise PullError(f"{shown} broke off after {length:,} of {expected:,} bytes: try again")
