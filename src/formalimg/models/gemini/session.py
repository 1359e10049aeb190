"""Talking to the Gemini API: one request at a time, failures in our words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formalimg.errors import FormalimgError
from formalimg.models.gemini.faults import failure_of
from formalimg.models.http_answers import Whom
from formalimg.models.identity import Setting
from formalimg.models.loops import PerLoop
from formalimg.models.needs import needs
from formalimg.models.options import Options
from formalimg.models.secrets import find_key, key

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.types import Content, GenerateContentConfig, GenerateContentResponse, HttpOptions

_KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")

needs_of_gemini = needs(
    modules=["google.genai"],
    install="pip install 'formalimg[gemini]'",
    keys=_KEY_NAMES,
    unless="for a server of your own",
)
"""Says beside a function that opens models what they need."""


class GeminiSession:
    """A way to one model of the Gemini API. It asks once: waiting and asking again is left to the caller.

    Attributes:
        model: the model's id.
        address: where the requests go, if not to Google.
    """

    def __init__(self, model: str, key: str, http: HttpOptions) -> None:
        self.model = model
        self.address: dict[str, Setting] = {"base_url": http.base_url, "api_version": http.api_version}
        self._key = key
        self._http = http
        self._whom = Whom(f"gemini/{model}", " or ".join(_KEY_NAMES), http.base_url or "the Gemini API")
        self._clients = PerLoop(self._client)
        # A client that is thrown away tries to close its connections in whichever loop is running then, and complains
        # if theirs is over; so all are kept for as long as the session.
        self._kept: list[Client] = []

    async def generate(self, contents: list[Content], config: GenerateContentConfig) -> GenerateContentResponse:
        """Send one request.

        Raises:
            CallError: if no answer came, or one that is not Gemini's.
            FormalimgError: if no call can ever succeed.
        """
        try:
            return await self._clients.here().aio.models.generate_content(
                model=self.model, contents=contents, config=config
            )
        except Exception as error:
            failure = failure_of(error, self._whom)
            if failure is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failure

    def _client(self) -> Client:
        from google.genai import Client

        self._kept.append(Client(vertexai=False, api_key=self._key, http_options=self._http.model_copy()))
        return self._kept[-1]


def open_session(model: str, given: Options, timeout: float) -> GeminiSession:
    """A session with a model.

    Args:
        model: the model's id.
        given: the user's options, of which `base_url` and `api_version` are read.
        timeout: seconds until a request is given up.

    Raises:
        FormalimgError: if the library or the key is missing.
    """
    try:
        from google.genai.types import HttpOptions, HttpRetryOptions
    except ImportError:
        raise FormalimgError(
            f"gemini/{model} needs the google-genai library: pip install 'formalimg[gemini]'"
        ) from None
    base_url = given.url("base_url", None)
    http = HttpOptions(
        base_url=base_url,
        api_version=given.text("api_version", None),
        timeout=max(1, round(timeout * 1000)),
        retry_options=HttpRetryOptions(attempts=1),
    )
    return GeminiSession(model, _key(model, base_url), http)


def _key(model: str, base_url: str | None) -> str:
    found = find_key(_KEY_NAMES) if base_url else key(_KEY_NAMES, f"gemini/{model}")
    if found and not (found.isascii() and found.isprintable() and " " not in found):
        raise FormalimgError(f"{' or '.join(_KEY_NAMES)} holds no key: there are characters in it that no key has")
    return found or "none"  # a server of one's own may want no key, but the library insists on one
