"""OpenAI's server, or another one that speaks as it does."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.options import key_for
from formalimg.models.providers.http import Whom
from formalimg.models.providers.sdk import SdkServer
from formalimg.models.registry import needs

if TYPE_CHECKING:
    from openai import AsyncOpenAI


Server: TypeAlias = "SdkServer[AsyncOpenAI]"

_KEY_NAME = "OPENAI_API_KEY"
_AT_HOME = "https://api.openai.com/v1"

needs_of_openai = needs(
    modules=["openai"], install="pip install 'formalimg[openai]'", keys=[_KEY_NAME], unless="for a server of your own"
)
"""Says beside a function that opens models what they need."""


def reach(model: str, base_url: str | None, timeout: float) -> Server:
    """The server at an address; OpenAI's own if there is none.

    Raises:
        FormalimgError: if the library is missing, or a key that is needed.
    """
    try:
        import openai
    except ImportError:
        raise FormalimgError(f"{model} needs the openai library: pip install 'formalimg[openai]'") from None
    key = key_for(model, _KEY_NAME, base_url)
    place = base_url or _AT_HOME

    def connect() -> AsyncOpenAI:
        try:
            # Where aiohttp is installed, the library takes a third less time for a call with it.
            http_client = openai.DefaultAioHttpClient(timeout=timeout)
        except RuntimeError:  # by which the library says that it is not
            http_client = None
        return openai.AsyncOpenAI(api_key=key, base_url=place, timeout=timeout, max_retries=0, http_client=http_client)

    return SdkServer(openai, Whom(model, _KEY_NAME, place), connect)


@dataclass(frozen=True)
class Taking:
    """What an image model takes.

    Attributes:
        begins: how the names of such models begin.
        sides: the lengths in pixels that a square image may have; empty if others will do.
        step: lengths must be multiples of it.
        asks_for_data: must it be asked for the image itself, because it would send an address?
        edits: can it be given an image beside the words?
    """

    begins: str
    sides: tuple[int, ...] = ()
    step: int = 1
    asks_for_data: bool = True
    edits: bool = True

    def size(self, wished: int) -> str:
        """The size closest_match to the wished one, as it is written in requests."""
        if self.sides:
            side = min(self.sides, key=lambda side: (abs(side - wished), side))
        else:
            side = max(self.step, round(wished / self.step) * self.step)
        return f"{side}x{side}"


def taking(model: str) -> Taking:
    """What the model of this name takes; gateways write the maker's name in front, as in `openai/gpt-image-1`."""
    name = model.rpartition("/")[2]
    return next((known for known in _known() if name.startswith(known.begins)), Taking(""))


@cache
def _known() -> tuple[Taking, ...]:
    text = (files("formalimg.models.providers") / "openai_image_models.toml").read_text(encoding="utf-8")
    return tuple(Taking(**{**entry, "sides": tuple(entry.get("sides", ()))}) for entry in tomllib.loads(text)["models"])
