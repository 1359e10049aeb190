"""What goes wrong between us and Hugging Face, or whoever it hands a request on to, in the words that all share."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Setting
from formalimg.models.options import Options
from formalimg.models.providers.http import Rejection, Whom, failure, one_line
from formalimg.models.providers.sdk import PerLoop
from formalimg.models.registry import needs
from formalimg.models.secrets import find_key, keep_secret, key

if TYPE_CHECKING:
    from huggingface_hub import AsyncInferenceClient
    from huggingface_hub.errors import HfHubHTTPError


_CONFIGURATION = re.compile(
    r"(Provider|Task|Model) .*support|Unsupported task|You must provide|Cannot select|No provider mapping", re.DOTALL
)
"""How the library complains before it sends anything: such a call can never succeed."""

_RESET = re.compile(r";\s*r=0\s*;\s*t=(\d+)")
"""In the header `ratelimit`: no requests remain, and in how many seconds there will be new ones."""

_INDECENT = re.compile(r"nsfw|content_policy|sensitive content|safety checker|flagged", re.IGNORECASE)


def failure_of(error: Exception, whom: Whom) -> CallError | FormalimgError | None:
    """What an exception out of the library means; None if it is not about the call but a bug."""
    from huggingface_hub.errors import HfHubHTTPError
    from PIL import UnidentifiedImageError

    if isinstance(error, HfHubHTTPError):
        return _failure_of_status(error, whom)
    if isinstance(error, UnidentifiedImageError):
        return CallError("wrong", "what came is no image")
    if isinstance(error, OSError) or any(kind.__module__.startswith("httpx") for kind in type(error).__mro__):
        return CallError("unavailable", one_line(f"{type(error).__name__}: {error}"))
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):
        return FormalimgError(f"no inference provider serves {whom.model}: see its page on huggingface.co")
    if isinstance(error, ValueError) and _CONFIGURATION.match(str(error)):
        return FormalimgError(f"{whom.model} cannot be asked for this: {one_line(str(error))}")
    if isinstance(error, ValueError | LookupError | TypeError | AttributeError):
        # The library takes answers apart without looking, so one of another form fails in any of these ways.
        return CallError("wrong", one_line(f"the answer has not the promised form: {type(error).__name__}: {error}"))
    return None


def _failure_of_status(error: HfHubHTTPError, whom: Whom) -> CallError | FormalimgError:
    from huggingface_hub.errors import RepositoryNotFoundError

    if isinstance(error, RepositoryNotFoundError):
        return FormalimgError(
            f"Hugging Face has no {whom.model}, or not for the key in {whom.key_name}: check the name"
        )
    status, headers = error.response.status_code, dict(error.response.headers)
    body = _body(error)
    text = error.response.text
    message = error.server_message or _message(body) or text
    if status == 410:  # a model that was served once
        status = 404
    if status == 503 and isinstance(wait := body.get("estimated_time"), int | float):  # it is being loaded
        headers.setdefault("retry-after", str(wait))
    if status == 429 and (reset := _RESET.search(headers.get("ratelimit", ""))):
        headers.setdefault("retry-after", reset[1])
    declined = status in (400, 403, 422) and _INDECENT.search(text)
    return failure(Rejection(status, "content_policy_violation" if declined else "", message, headers), whom)


def _body(error: HfHubHTTPError) -> dict[str, Any]:
    try:
        body = json.loads(error.response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _message(body: Mapping[str, Any]) -> str:
    """What providers say, each in a way of its own; some give a list of complaints."""
    inner = body.get("error") or body.get("detail") or body.get("message") or ""
    if isinstance(inner, Mapping):
        inner = inner.get("message") or inner.get("msg") or inner
    if isinstance(inner, list):
        inner = "; ".join(str(one.get("msg", one) if isinstance(one, Mapping) else one) for one in inner)
    return str(inner)


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
