"""What goes wrong between us and Hugging Face, or whoever it hands a request on to, in the words that all share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from formalimg.errors import FormalimgError
from formalimg.models.calls import CallError
from formalimg.models.http_answers import Rejection, Whom, failure, one_line

if TYPE_CHECKING:
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
