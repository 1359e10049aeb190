"""Hugging Face inference client: one request per call, errors translated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.options import Options, check_api_key
from formalimg.models.providers.http import Endpoint, ErrorResponse, error_from_response, one_line
from formalimg.models.providers.limits import MAX_IMAGE_ANSWER_BYTES, served_error
from formalimg.models.providers.threads import ThreadCall
from formalimg.models.registry import requires
from formalimg.models.secrets import find_api_key, get_api_key, register_secret
from formalimg.types import Setting

if TYPE_CHECKING:
    from huggingface_hub import InferenceClient
    from huggingface_hub.errors import HfHubHTTPError

Result = TypeVar("Result")

_KEY_NAME = "HF_TOKEN"
_CONFIGURATION_ERROR = re.compile(
    r"(Provider|Task|Model) .*support|Unsupported task|You must provide|Cannot select|No provider mapping", re.DOTALL
)
"""How the library complains before it sends anything: such a call can never succeed."""

_RATE_LIMIT_RESET = re.compile(r";\s*r=0\s*;\s*t=(\d+)")
"""In the header `ratelimit`: no requests remain, and in how many seconds there will be new ones."""

_REFUSAL = re.compile(r"nsfw|content_policy|sensitive content|safety checker|flagged", re.IGNORECASE)

requires_hf = requires(
    modules=["huggingface_hub"],
    install=install_line("hf"),
    keys=[_KEY_NAME],
    unless="after `hf auth login`, or for an endpoint of your own",
)
"""Declares the requirements of a factory."""


@dataclass(frozen=True)
class HfRoute:
    """How a model is reached."""

    model: str  # id of the model on the Hub
    provider: str  # inference provider, such as `fal-ai`; `auto` for the first one in the user's own order
    base_url: str | None  # a server to call instead, such as a dedicated endpoint
    bill_to: str | None  # the organization that pays
    timeout: float  # seconds after which a call is given up
    max_bytes: int  # maximum size of an answer
    token: str | None = field(repr=False)  # the API key; it is not shown


class HfClient:
    """Client of one model. It makes one request per call: retries are left to the caller.

    Attributes:
        model: id of the model.
        address: inference provider, or the URL if it is not at Hugging Face.
    """

    def __init__(self, route: HfRoute) -> None:
        self.model = route.model
        self.address: dict[str, Setting] = (
            {"base_url": route.base_url} if route.base_url else {"provider": route.provider}
        )
        self._route = route
        self._endpoint = Endpoint(f"hf/{route.model}", _KEY_NAME, route.base_url or "Hugging Face")
        self._client: InferenceClient | None = None

    async def call(self, send: Callable[[InferenceClient], Result]) -> Result:
        """Make one call, in a thread of its own.

        The library's async client looks up providers, waits for results and fetches images without giving way to the
        event loop, so that no other call and no timeout could go on.
        """
        if self._client is None:
            self._client = self._connect()
        return await ThreadCall(self._route.timeout, self._route.max_bytes).run(self._send, send, self._client)

    def _send(self, send: Callable[[InferenceClient], Result], client: InferenceClient) -> Result:
        from huggingface_hub import get_session

        ThreadCall.watch(get_session())
        try:
            return send(client)
        except Exception as error:
            failed = translate_error(error, self._endpoint)
            if failed is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failed

    def _connect(self) -> InferenceClient:
        from huggingface_hub import InferenceClient

        route = self._route
        return InferenceClient(
            route.base_url or route.model,
            provider=None if route.base_url else route.provider,  # type: ignore[arg-type]  # whatever the user wrote
            token=route.token,
            timeout=route.timeout,
            bill_to=route.bill_to,
        )


def open_hf_client(model: str, given: Options, timeout: float, max_bytes: int = MAX_IMAGE_ANSWER_BYTES) -> HfClient:
    """Create a client of a model."""
    try:
        from huggingface_hub import get_session, get_token
    except ImportError:
        raise FormalimgError(f"hf/{model} needs the huggingface_hub library: {install_line('hf')}") from None
    base_url, provider, bill_to = (
        given.url("base_url", None),
        given.text("provider", "auto"),
        given.text("bill_to", None),
    )
    given.reject_unknown()
    token = find_api_key((_KEY_NAME,)) or get_token()  # which knows what `hf auth login` has stored
    if token is None and base_url is None:
        token = get_api_key((_KEY_NAME,), f"hf/{model}")
    register_secret(check_api_key(token, (_KEY_NAME,)) or "")
    # Images that a provider gives by URL are fetched with the library's own client, which would wait for ever.
    session = get_session()
    if session.timeout.read is None:
        session.timeout = timeout
    return HfClient(HfRoute(model, provider, base_url, bill_to, timeout, max_bytes, token))


def translate_error(error: Exception, endpoint: Endpoint) -> CallError | FormalimgError | None:
    """Translate an exception of the library; None if it is not about the call but a bug."""
    from huggingface_hub.errors import HfHubHTTPError
    from PIL import UnidentifiedImageError

    if (served := served_error(error)) is not None:
        return served
    if isinstance(error, HfHubHTTPError):
        return _translate_http_error(error, endpoint)
    if isinstance(error, UnidentifiedImageError):
        return CallError("wrong", "what came is no image")
    if isinstance(error, OSError) or any(base.__module__.startswith("httpx") for base in type(error).__mro__):
        return CallError("unavailable", one_line(f"{type(error).__name__}: {error}"))
    if isinstance(error, StopIteration):
        return FormalimgError(f"no inference provider serves {endpoint.model}: see its page on huggingface.co")
    if isinstance(error, ValueError) and _CONFIGURATION_ERROR.match(str(error)):
        return FormalimgError(f"{endpoint.model} cannot be asked for this: {one_line(str(error))}")
    if isinstance(error, ValueError | LookupError | TypeError | AttributeError):
        # The library takes responses apart without checks, so one of another form fails in any of these ways.
        return CallError("wrong", one_line(f"the answer has not the promised form: {type(error).__name__}: {error}"))
    return None


def _translate_http_error(error: HfHubHTTPError, endpoint: Endpoint) -> CallError | FormalimgError:
    from huggingface_hub.errors import RepositoryNotFoundError

    if isinstance(error, RepositoryNotFoundError):
        return FormalimgError(
            f"Hugging Face has no {endpoint.model}, or not for the key in {endpoint.key_name}: check the name"
        )
    status, headers = error.response.status_code, dict(error.response.headers)
    body = _body(error)
    text = error.response.text
    message = error.server_message or _message(body) or text
    if status == 410:  # a model that was served once
        status = 404
    if status == 503 and isinstance(wait := body.get("estimated_time"), int | float):  # it is being loaded
        headers.setdefault("retry-after", str(wait))
    if status == 429 and (reset := _RATE_LIMIT_RESET.search(headers.get("ratelimit", ""))):
        headers.setdefault("retry-after", reset[1])
    refused = status in (400, 403, 422) and _REFUSAL.search(text)
    code = "content_policy_violation" if refused else ""
    return error_from_response(ErrorResponse(status, code, message, headers), endpoint)


def _body(error: HfHubHTTPError) -> dict[str, Any]:
    try:
        body = json.loads(error.response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _message(body: Mapping[str, Any]) -> str:
    """Return the error message, which each provider writes in its own way; some give a list."""
    inner = body.get("error") or body.get("detail") or body.get("message") or ""
    if isinstance(inner, Mapping):
        inner = inner.get("message") or inner.get("msg") or inner
    if isinstance(inner, list):
        inner = "; ".join(str(one.get("msg", one) if isinstance(one, Mapping) else one) for one in inner)
    return str(inner)
