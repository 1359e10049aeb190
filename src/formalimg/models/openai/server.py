"""OpenAI's server, or another one that speaks as it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from formalimg.errors import FormalimgError
from formalimg.models.http_answers import Whom
from formalimg.models.needs import needs
from formalimg.models.sdk_server import SdkServer
from formalimg.models.server_options import key_for

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
