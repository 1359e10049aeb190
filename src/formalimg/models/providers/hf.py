"""Hugging Face chat and image models, based on inference providers and endpoints through huggingface_hub."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Completion, ImageRequest, Message, Usage
from formalimg.models.options import MODEL_DEFAULT, Options, check_api_key, read_extra_fields, without_none
from formalimg.models.pricing import note_usage
from formalimg.models.provider_models import ImageCompletion, SchemaProvider, build_chat_model, build_image_model
from formalimg.models.providers.http import Endpoint, one_line, plain_fields, read_usage
from formalimg.models.providers.limits import (
    MAX_CHAT_BYTES,
    MAX_IMAGE_ANSWER_BYTES,
    MAX_MODEL_ITEMS,
    AnswerBody,
    ask_for_gzip,
    carries_credentials,
    find_served_error,
    refuse_redirect,
    replace_body,
)
from formalimg.models.providers.sdk import encode_message, response_format
from formalimg.models.registry import requires
from formalimg.models.retry import chat_retry_policy, image_retry_policy
from formalimg.models.secrets import find_api_key, get_api_key, register_secret
from formalimg.types import ChatModel, ImageModel, Setting

if TYPE_CHECKING:
    from httpx2 import Client, Request, Response
    from huggingface_hub import ChatCompletionOutput, InferenceClient
    from huggingface_hub.errors import HfHubHTTPError
    from PIL.Image import Image

Result = TypeVar("Result")

_KEY_NAME = "HF_TOKEN"
_CONFIGURATION_ERROR = re.compile(  # how the library complains before it sends anything: the call can never succeed
    r"(Provider|Task|Model) .*support|Unsupported task|You must provide|Cannot select|No provider mapping", re.DOTALL
)
# in the header `ratelimit`: no requests remain, and in how many seconds there will be new ones
_RATE_LIMIT_RESET = re.compile(r";\s*r=0\s*;\s*t=(\d+)")
_REFUSAL = re.compile(r"nsfw|content_policy|sensitive content|safety checker|flagged", re.IGNORECASE)
_ABOUT_SCHEMA = re.compile(
    r"response.?format|json.?schema|json.?object|grammar|structured output|guided", re.IGNORECASE
)
_REFUSED = ("content_filter", "safety")
_CUT_OFF = ("length", "max_tokens", "model_length")
_CHAT_FIELDS = ("temperature", "top_p", "max_tokens", "seed")
_IMAGE_FIELDS = ("negative_prompt", "num_inference_steps", "guidance_scale")
_FORMATS = ("PNG", "JPEG", "WEBP")

# The call that this thread makes: clients are shared with other users of a library, who get none of our limits.
_current: contextvars.ContextVar[ThreadCall | None] = contextvars.ContextVar("formalimg_thread_call", default=None)
_watching = threading.Lock()

_requires_hf = requires(
    modules=["huggingface_hub"],
    install=install_line("hf"),
    keys=[_KEY_NAME],
    unless="after `hf auth login`, or for an endpoint of your own",
)


class HfClient:
    """Client of one model that makes one request per call, without retries."""

    def __init__(
        self,
        model: str,
        *,
        provider: str,
        base_url: str | None,
        timeout: float,
        max_bytes: int,
        **arguments: str | None,
    ) -> None:
        self.model = model
        # inference provider, or the URL if it is not at Hugging Face
        self.address: dict[str, Setting] = {"base_url": base_url} if base_url else {"provider": provider}
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._endpoint = Endpoint(f"hf/{model}", _KEY_NAME, base_url or "Hugging Face")
        self._arguments: dict[str, Any] = {
            "model": base_url or model,
            "provider": None if base_url else provider,  # such as `fal-ai`; `auto` for the first in the user's order
            "timeout": timeout,
            **arguments,
        }
        self._client: InferenceClient | None = None

    async def call(self, send: Callable[[InferenceClient], Result]) -> Result:
        """Make one call in a separate thread.

        The library's async client looks up providers, waits for results and fetches images without yielding to the
        event loop, which would block all other calls and timeouts.
        """
        if self._client is None:
            from huggingface_hub import InferenceClient

            self._client = InferenceClient(**self._arguments)
        return await ThreadCall(self._timeout, self._max_bytes).run(self._send, send, self._client)

    def _send(self, send: Callable[[InferenceClient], Result], client: InferenceClient) -> Result:
        from huggingface_hub import get_session

        ThreadCall.watch(get_session())
        try:
            return send(client)
        except Exception as error:
            failed = _translate_error(error, self._endpoint)
            if failed is None:
                raise
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise failed


def open_hf_client(model: str, options: Options, timeout: float, max_bytes: int = MAX_IMAGE_ANSWER_BYTES) -> HfClient:
    """Create a client for a model after its other options have been read."""
    try:
        from huggingface_hub import get_session, get_token
    except ImportError:
        raise FormalimgError(f"hf/{model} needs the huggingface_hub library: {install_line('hf')}") from None
    base_url, provider = options.url("base_url", None), options.text("provider", "auto")
    bill_to = options.text("bill_to", None)
    options.reject_unknown()
    token = find_api_key((_KEY_NAME,)) or get_token()  # which knows what `hf auth login` has stored
    if token is None and base_url is None:
        token = get_api_key((_KEY_NAME,), f"hf/{model}")
    register_secret(check_api_key(token, (_KEY_NAME,)) or "")
    # Images that a provider gives by URL are fetched with the library's own client, which would wait for ever.
    session = get_session()
    if session.timeout.read is None:
        session.timeout = timeout
    return HfClient(
        model, provider=provider, base_url=base_url, bill_to=bill_to, timeout=timeout, max_bytes=max_bytes, token=token
    )


class HfChat(SchemaProvider):
    """A chat model accessed through chat completions: one call per `complete`."""

    marks_rejection = True

    def __init__(self, client: HfClient, settings: Mapping[str, Setting], extras: Mapping[str, object]) -> None:
        super().__init__(f"hf/{client.model}", settings, str(settings["schema"]), _ABOUT_SCHEMA)
        self._client = client
        self._extras = dict(extras)

    async def _send(self, messages: Sequence[Message], schema: Mapping[str, object] | None, mode: str) -> Completion:
        fields: dict[str, Any] = {name: self.settings.get(name) for name in _CHAT_FIELDS}
        fields["response_format"] = response_format(mode, schema)
        encoded = [encode_message(message) for message in messages]
        answer = await self._client.call(
            lambda client: client.chat_completion(encoded, model=self._client.model, extra_body=self._extras, **fields)
        )
        return _parse_completion(answer)


class HfImages:
    """An image model for text-to-image, or image-to-image with a reference image: one call per `complete`."""

    takes_images = True  # whether a model or its provider does is only known when it is called

    def __init__(self, client: HfClient, settings: Mapping[str, Setting], extras: Mapping[str, object]) -> None:
        self.name = f"hf/{client.model}"
        self.settings = dict(settings)
        self._client = client
        self._extras = dict(extras)

    async def complete(self, request: ImageRequest) -> ImageCompletion:
        """Generate one image."""
        image = await self._client.call(lambda client: self._send(client, request))
        note_usage(Usage(images=1))
        if image.format not in _FORMATS:
            raise CallError("wrong", f"the response is not a PNG, JPEG or WebP file, but {image.format}")
        served: dict[str, Setting] = {"model": self._client.model, **self._client.address}
        served |= {"width": image.width, "height": image.height}
        if self.settings["seeded"]:
            served["seed"] = request.seed
        file = getattr(image, "fp", None)  # the original file
        if not isinstance(file, io.BytesIO):
            file = io.BytesIO()
            image.save(file, "PNG")
        return ImageCompletion(file.getvalue(), served)

    def _send(self, client: InferenceClient, request: ImageRequest) -> Image:
        from huggingface_hub import ImageToImageTargetSize

        settings: dict[str, Any] = self.settings
        fields: dict[str, Any] = {name: settings.get(name) for name in _IMAGE_FIELDS}
        fields["seed"] = request.seed if settings["seeded"] else None
        sides = ("width", "height")
        width, height = (settings.get(side, request.size) if settings["sized"] else None for side in sides)
        if request.reference is None:
            return client.text_to_image(request.prompt, width=width, height=height, extra_body=self._extras, **fields)
        size = ImageToImageTargetSize(height=height, width=width) if width and height else None
        return client.image_to_image(request.reference, request.prompt, target_size=size, **{**fields, **self._extras})


@_requires_hf
def open_hf_chat(model: str, options: Mapping[str, str]) -> ChatModel:
    """A chat model on Hugging Face."""
    parsed = Options(f"hf/{model}", options)
    chosen: dict[str, Setting] = {
        "temperature": parsed.number("temperature", 0.0, minimum=0, maximum=2.0, words=MODEL_DEFAULT),
        "top_p": parsed.number("top_p", None, minimum=0, maximum=1),
        "max_tokens": parsed.integer("max_tokens", 4096, minimum=1, words=MODEL_DEFAULT),
        "seed": parsed.integer("seed", None),
        "schema": parsed.choice("schema", ("json_schema", "json_object", "none"), "json_schema"),
    }
    retry_policy = chat_retry_policy(parsed)
    extra_fields, extra_settings = read_extra_fields(parsed)
    client = open_hf_client(model, parsed, retry_policy.timeout, MAX_CHAT_BYTES)
    settings: dict[str, Setting] = {**without_none({**chosen, **client.address}), **extra_settings}
    return build_chat_model(HfChat(client, settings, extra_fields), retry_policy=retry_policy)


@_requires_hf
def open_hf_images(model: str, options: Mapping[str, str]) -> ImageModel:
    """An image model on Hugging Face."""
    parsed = Options(f"hf/{model}", options)
    parsed.accept_old_name("sized", "send_size")
    parsed.accept_old_name("seeded", "send_seed")
    chosen: dict[str, Setting] = {
        "width": parsed.integer("width", None, minimum=1),
        "height": parsed.integer("height", None, minimum=1),
        "num_inference_steps": parsed.integer("num_inference_steps", None, minimum=1),
        "guidance_scale": parsed.number("guidance_scale", None),
        "negative_prompt": parsed.text("negative_prompt", None),
        "sized": parsed.flag("send_size", True),  # runs are stored under these two names
        "seeded": parsed.flag("send_seed", True),
    }
    retry_policy = image_retry_policy(parsed)
    extra_fields, extra_settings = read_extra_fields(parsed)
    client = open_hf_client(model, parsed, retry_policy.timeout)
    settings: dict[str, Setting] = {**without_none({**chosen, **client.address}), **extra_settings}
    return build_image_model(HfImages(client, settings, extra_fields), retry_policy=retry_policy)


def _parse_completion(answer: ChatCompletionOutput) -> Completion:
    choice = answer.choices[0] if isinstance(answer.choices, list) and answer.choices else None
    message = getattr(choice, "message", None)
    text, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
    finish_reason = getattr(choice, "finish_reason", None)
    served = plain_fields(vars(answer), "model", "id", "created", "system_fingerprint")
    counts = getattr(answer.usage, "__dict__", None)
    usage = note_usage(read_usage(counts, ["prompt_tokens"], ["completion_tokens"]))
    if refusal or finish_reason in _REFUSED:
        return Completion(str(refusal or text or ""), "refusal", usage, served)
    if finish_reason in _CUT_OFF:
        return Completion(str(text or ""), "length", usage, served)
    if not isinstance(text, str) or not text.strip():
        raise CallError("wrong", "there are no words in the answer", usage=usage)
    return Completion(text, "stop", usage, served)


def _translate_error(error: Exception, endpoint: Endpoint) -> CallError | FormalimgError | None:
    """Translate an exception of the library, or return None if the exception is a bug."""
    from huggingface_hub.errors import HfHubHTTPError
    from PIL import UnidentifiedImageError

    if (served := find_served_error(error)) is not None:
        return served
    if isinstance(error, HfHubHTTPError):
        return _translate_http_error(error, endpoint)
    if isinstance(error, UnidentifiedImageError):
        return CallError("wrong", "the response is not an image")
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
    status, headers, text = error.response.status_code, dict(error.response.headers), error.response.text
    try:
        content = json.loads(error.response.content)
    except ValueError:
        content = None
    body: dict[str, Any] = content if isinstance(content, dict) else {}
    message = error.server_message or _error_message(body) or text
    if status == 410:  # a model that was served once
        status = 404
    if status == 503 and isinstance(wait := body.get("estimated_time"), int | float):  # it is being loaded
        headers.setdefault("retry-after", str(wait))
    if status == 429 and (reset := _RATE_LIMIT_RESET.search(headers.get("ratelimit", ""))):
        headers.setdefault("retry-after", reset[1])
    is_refusal = status in (400, 403, 422) and _REFUSAL.search(text)
    code = "content_policy_violation" if is_refusal else ""
    return endpoint.error(status, code, message, headers)


def _error_message(body: Mapping[str, Any]) -> str:
    """Return the error message of a response body in any of the providers' formats, including lists."""
    inner = body.get("error") or body.get("detail") or body.get("message") or ""
    if isinstance(inner, Mapping):
        inner = inner.get("message") or inner.get("msg") or inner
    if isinstance(inner, list):
        inner = "; ".join(str(entry.get("msg", entry) if isinstance(entry, Mapping) else entry) for entry in inner)
    return str(inner)


class ThreadCall:
    """A blocking library call with limits on the total time and the size of its requests.

    Nothing waits for the thread: when its caller is cancelled, its socket is shut down, and it may not send another
    request. It is a daemon, so it does not keep the process alive either.
    """

    def __init__(self, timeout: float, max_bytes: int) -> None:
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._max_bytes = max_bytes
        self._is_over = False
        self._socket: socket.socket | None = None

    @staticmethod
    def watch(client: Client) -> None:
        """Install hooks that apply the limits of the current call to every request of a client."""
        with _watching:
            hooks = client.event_hooks
            if _on_request not in hooks["request"]:
                # As new lists, since requests of other threads may be going through these; first, as others might read
                # the whole body.
                requests, responses = [*hooks["request"], _on_request], [_on_response, *hooks["response"]]
                client.event_hooks = {"request": requests, "response": responses}

    async def run(self, function: Callable[..., Result], *args: Any) -> Result:
        """Run a function in a new thread and return its result or raise its exception."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Callable[[], Result]] = loop.create_future()

        def settle(outcome: Callable[[], Result]) -> None:
            if not ended.done():
                ended.set_result(outcome)

        def work() -> None:
            _current.set(self)
            try:
                result = function(*args)
            except BaseException as error:  # a future does not accept every exception
                failed = error

                def outcome() -> Result:
                    raise failed
            else:

                def outcome() -> Result:
                    return result

            with suppress(RuntimeError):  # if the loop is over, nobody waits any more
                loop.call_soon_threadsafe(settle, outcome)

        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True, name="model-call").start()
        try:
            async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                outcome = await ended
        except TimeoutError:
            raise self._late() from None
        finally:
            self._is_over = True
            if (connection := self._socket) is not None:
                with suppress(OSError):  # if it is closed already
                    # That of the base class, which ends a read in the other thread and leaves the TLS state alone.
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)
        return outcome()

    def check(self) -> None:
        """Raise a `CallError` if the call timed out or its caller was cancelled."""
        if self._is_over or time.monotonic() >= self._deadline:
            raise self._late()

    def prepare(self, request: Request) -> None:
        """Set the remaining time as the timeout of a request, and trace its socket."""
        self.check()
        ask_for_gzip(request)
        remaining = max(0.01, self._deadline - time.monotonic())
        limits = request.extensions.get("timeout") or dict.fromkeys(("connect", "read", "write", "pool"))
        shorter = {name: remaining if value is None else min(value, remaining) for name, value in limits.items()}
        request.extensions = {**request.extensions, "timeout": shorter, "trace": self._trace}

    def receive(self, response: Response) -> None:
        """Read a response within the size and time limits."""
        if carries_credentials(response.request):
            refuse_redirect(response)
        self._hold(response.extensions.get("network_stream"))
        body = AnswerBody(response, self._max_bytes, MAX_MODEL_ITEMS)
        stream: Any = response.stream
        content = body.read_in_thread(stream, self.check)
        self._socket = None  # from here on it may belong to the next call
        stream.close()
        replace_body(response, content)
        response.read()

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._hold(info.get("return_value"))

    def _hold(self, stream: Any) -> None:
        connection = None if stream is None else stream.get_extra_info("socket")
        self._socket = connection if isinstance(connection, socket.socket) else None

    def _late(self) -> CallError:
        return CallError("unavailable", f"no answer within {self._timeout:g} s")


def _on_request(request: Request) -> None:
    if (call := _current.get()) is not None:
        call.prepare(request)


def _on_response(response: Response) -> None:
    if (call := _current.get()) is not None:
        call.receive(response)
