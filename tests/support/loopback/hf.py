"""The wire formats behind Hugging Face: endpoints and its own inference, and the providers it hands requests on to."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

from tests.support.loopback.dialects import Asked, Dialect, Parts, Route, Wish, image_in
from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response
from tests.support.loopback.images import animated, plain

_OF_IMAGES = ("tiny", "animated", "text", "gif", "no image", "lost image", "out of tokens")
_OF_CHATS = ("refusal", "filter", "length", "no schema", "no text", "schema", "number")

_SERVED: dict[str, bytes] = {}
"""Images that wait to be fetched by their address."""


def _endpoint(request: Request, fault: Fault | None, parts: Parts) -> Response:
    """A dedicated endpoint: JSON in, the file itself out; with an image in, its words are among the parameters."""
    body, parameters = request.json, request.json["parameters"]
    if "prompt" in parameters:
        size = parameters.get("target_size", {})
        wish = Wish(
            "",
            parameters["prompt"],
            _size(size),
            parameters.get("seed"),
            base64.b64decode(body["inputs"], validate=True),
        )
    else:
        wish = Wish("", body["inputs"], _size(parameters), parameters.get("seed"))
    if fault is not None and fault.kind == "out of tokens":
        limits = {"ratelimit": '"api";r=0;t=55', "ratelimit-policy": '"fixed window";"api";q=500;w=300'}
        return Response.of({"error": "slow down"}, 429, limits)
    return Response(_drawn(wish, fault, parts), headers={"content-type": "image/png"})


def _fal(request: Request, fault: Fault | None, parts: Parts) -> Response:
    """Gives the address of the image."""
    body = request.json
    wish = Wish(request.path, body["prompt"], _size(body.get("image_size", {})), body.get("seed"))
    if fault is not None and fault.kind == "no image":
        return Response.of({"images": []})
    data = _drawn(wish, fault, parts)
    name = hashlib.sha256(data).hexdigest()
    if fault is None or fault.kind != "lost image":
        _SERVED[name] = data
    return Response.of({"images": [{"url": f"{parts.url}/images/{name}.png"}], "seed": body.get("seed")})


def _together(request: Request, fault: Fault | None, parts: Parts) -> Response:
    """Gives the image within JSON."""
    body = request.json
    size = _size({"width": body.get("width"), "height": body.get("height")})
    data = _drawn(Wish(body["model"], body["prompt"], size, body.get("seed")), fault, parts)
    return Response.of({"data": [{"b64_json": base64.b64encode(data).decode()}]})


def _mapping(request: Request, fault: Fault | None, parts: Parts) -> Response:
    """The Hub's page about a model: who serves it, and as what."""
    model = request.path.removeprefix("/api/models/").partition("?")[0]
    if model == "nobody/nothing":
        return Response.of({"error": "Repository not found"}, 404, {"x-error-code": "RepoNotFound"})
    serving = {"status": "live", "task": "text-to-image"}
    providers = {
        "fal-ai": {**serving, "providerId": "fal-ai/painter"},
        "together": {**serving, "providerId": "acme/Painter-t"},
    }
    parameters = {} if model == "acme/lonely" else providers
    return Response.of({"id": model, "inferenceProviderMapping": parameters})


def _fetch(request: Request, fault: Fault | None, parts: Parts) -> Response:
    found = _SERVED.pop(request.path.split("/")[-1].split(".")[0], None)
    if found is None:
        return Response(b"<html>gone</html>", 404, {"content-type": "text/html"})
    return Response(found, headers={"content-type": "image/png"})


def _drawn(wish: Wish, fault: Fault | None, parts: Parts) -> bytes:
    spoiled = {
        "tiny": plain(2, (255, 0, 0)),
        "animated": animated(),
        "text": b"not an image",
        "gif": base64.b64decode("R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="),
    }
    kind = fault.kind if fault else ""
    return spoiled[kind] if kind in spoiled else parts.paint(wish)


def _size(parameters: dict[str, Any]) -> str:
    return (
        f"{parameters['width']}x{parameters['height']}" if parameters.get("width") and parameters.get("height") else ""
    )


def _chat(request: Request, fault: Fault | None, parts: Parts) -> Response:
    body = request.json
    kind = fault.kind if fault else ""
    if kind == "no schema" and "response_format" in body:
        return Response.of({"error": "response_format is not supported by this model"}, 400)
    if kind == "schema":
        return Response.of({"choices": "none today"})
    if kind == "number":
        return Response.of(42)
    if kind == "refusal":
        return _completion(body, None, "stop", "I cannot help with that.")
    if kind == "filter":
        return _completion(body, "", "content_filter")
    if kind == "no text":
        return _completion(body, None, "stop")
    text = parts.reply(_asked(body))
    return _completion(body, text[: len(text) // 2], "length") if kind == "length" else _completion(body, text, "stop")


def _asked(body: dict[str, Any]) -> Asked:
    texts: list[str] = []
    images: list[bytes] = []
    for message in body["messages"]:
        content = message["content"]
        listed: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in listed:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                images.append(image_in(part["image_url"]["url"]))
    wanted = body.get("response_format", {})
    # Endpoints take the schema as a value of its own; the router takes it as OpenAI does.
    schema = wanted.get("value") or wanted.get("json_schema", {}).get("schema")
    return Asked(body["model"], tuple(texts), tuple(images), schema)


def _completion(body: dict[str, Any], text: str | None, reason: str, refusal: str | None = None) -> Response:
    message = {"role": "assistant", "content": text, **({"refusal": refusal} if refusal else {})}
    answer = {
        "id": "chat_1",
        "created": 1_700_000_000,
        "model": body["model"],
        "system_fingerprint": "3.0.1-sha",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
    return Response.of(answer)


def _error(status: int, code: str, message: str) -> object:
    """The code `loading` is Hugging Face's own; any other is said in the way of fal."""
    if code == "loading":
        return {"error": "Model acme/painter is currently loading", "estimated_time": 12.5}
    if code:
        return {"detail": [{"loc": ["body", "prompt"], "msg": message or "it went wrong", "type": code}]}
    return {"error": message or "it went wrong"}


HF = Dialect(
    (
        Route(re.compile(r"/"), _endpoint),
        Route(re.compile(r"(/auto)?/v1/chat/completions"), _chat),
        Route(re.compile(r"/fal-ai/fal-ai/painter"), _fal),
        Route(re.compile(r"/together/v1/images/generations"), _together),
        Route(re.compile(r"/api/models/.*"), _mapping),
        Route(re.compile(r"/images/\w+\.png"), _fetch),
    ),
    _error,
    frozenset({*_OF_IMAGES, *_OF_CHATS}),
)
