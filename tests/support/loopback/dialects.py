"""What all providers' ways of speaking have in common, so that one painter and one talker serve them all."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response


@dataclass(frozen=True)
class Wish:
    """An image that was asked for, in whichever dialect; `size` as it was written, such as 1024x1024."""

    model: str
    prompt: str
    size: str = ""
    seed: int | None = None
    reference: bytes | None = None


@dataclass(frozen=True)
class Asked:
    """A question to a chat model, in whichever dialect."""

    model: str
    texts: tuple[str, ...]
    images: tuple[bytes, ...] = ()
    schema: object = None


Paint: TypeAlias = Callable[[Wish], bytes]
Reply: TypeAlias = Callable[[Asked], str]


@dataclass(frozen=True)
class Parts:
    """Who makes the content of the answers, and where the server stands."""

    paint: Paint
    reply: Reply
    url: str


class Route(NamedTuple):
    """Requests whose path fits, and what answers them; a fault that is no fault of HTTP is for the dialect to play."""

    path: re.Pattern[str]
    answer: Callable[[Request, Fault | None, Parts], Response]


class Dialect(NamedTuple):
    """How a provider speaks.

    Attributes:
        routes: what it answers.
        error: what its errors look like, from status, code and message.
        own_faults: what can go wrong besides the faults that all dialects share.
    """

    routes: tuple[Route, ...]
    error: Callable[[int, str, str], object]
    own_faults: frozenset[str] = frozenset()


def image_in(data_url: str) -> bytes:
    """The bytes of an image that was sent as `data:image/png;base64,…`."""
    head, comma, data = data_url.partition(",")
    assert comma, "no data URL"
    assert re.fullmatch(r"data:image/(png|jpeg|webp);base64", head), head
    return base64.b64decode(data, validate=True)
