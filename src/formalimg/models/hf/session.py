"""Talking to Hugging Face: one request at a time, failures in our words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.hf.faults import failure_of
from formalimg.models.http_answers import Whom
from formalimg.models.identity import Setting
from formalimg.models.loops import PerLoop
from formalimg.models.needs import needs
from formalimg.models.options import Options
from formalimg.models.secrets import find_key, keep_secret, key

if TYPE_CHECKING:
    from huggingface_hub import AsyncInferenceClient

Result = TypeVar("Result")

_KEY_NAME = "HF_TOKEN"

needs_of_hf = needs(
    modules=["huggingface_hub"],
    install="pip install 'formalimg[hf]'",
    keys=[_KEY_NAME],
    unless="after `hf auth login`, or for an endpoint of your own",
)
"""Says beside a function that opens models what they need."""


@dataclass(frozen=True)
class Route:
    """How a model is reached.

    Attributes:
        model: its id on the Hub.
        provider: who computes, such as `fal-ai`; `auto` for the first one in the user's own order.
        base_url: a server that is asked instead, such as a dedicated endpoint.
        bill_to: the organization that pays.
        timeout: seconds until a request is given up.
        token: the key; it is not shown.
    """

    model: str
    provider: str
    base_url: str | None
    bill_to: str | None
    timeout: float
    token: str | None = field(repr=False)


class HfSession:
    """A way to one model. It asks once: waiting and asking again is left to the caller.

    Attributes:
        model: the model's id.
        address: who computes, and where if not at Hugging Face.
    """

    def __init__(self, route: Route) -> None:
        self.model = route.model
        self.address: dict[str, Setting] = (
            {"base_url": route.base_url} if route.base_url else {"provider": route.provider}
        )
        self._route = route
        self._whom = Whom(f"hf/{route.model}", _KEY_NAME, route.base_url or "Hugging Face")
        self._clients = PerLoop(self._client)

    async def call(self, make: Callable[[AsyncInferenceClient], Awaitable[Result]]) -> Result:
        """Make one call.

        Raises:
            CallError: if no answer came, or one that cannot be read.
            FormalimgError: if no call can ever succeed.
        """
        try:
            return await make(self._clients.here())
        except Exception as error:
            failure = failure_of(error, self._whom)
            if failure is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failure

    def _client(self) -> AsyncInferenceClient:
        from huggingface_hub import AsyncInferenceClient

        route = self._route
        return AsyncInferenceClient(
            route.base_url or route.model,
            provider=None if route.base_url else route.provider,  # type: ignore[arg-type]  # whatever the user wrote
            token=route.token,
            timeout=route.timeout,
            bill_to=route.bill_to,
        )


def open_session(model: str, given: Options, timeout: float) -> HfSession:
    """A session with a model.

    Args:
        model: the model's id on the Hub.
        given: the user's options, of which `provider`, `base_url` and `bill_to` are read.
        timeout: seconds until a request is given up.

    Raises:
        FormalimgError: if the library or the key is missing.
    """
    try:
        from huggingface_hub import get_session, get_token
    except ImportError:
        raise FormalimgError(f"hf/{model} needs the huggingface_hub library: pip install 'formalimg[hf]'") from None
    base_url = given.url("base_url", None)
    token = find_key((_KEY_NAME,)) or get_token()  # which knows what `hf auth login` has stored
    if token is None and base_url is None:
        token = key((_KEY_NAME,), f"hf/{model}")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise FormalimgError(f"{_KEY_NAME} holds no key: there are characters in it that no key has")
    keep_secret(token or "")
    # Images that a provider gives by address are fetched with the library's own client, which would wait for ever.
    session = get_session()
    if session.timeout.read is None:
        session.timeout = timeout
    route = Route(model, given.text("provider", "auto"), base_url, given.text("bill_to", None), timeout, token)
    return HfSession(route)
