"""The wire format of Gemini: one method for images and for words."""

from __future__ import annotations

import base64
import re
from typing import Any

from tests.support.loopback.dialects import Asked, Dialect, Parts, Route, Wish
from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response
from tests.support.loopback.images import animated, plain

_PATH = re.compile(r"/(?P<version>v1\w*)/models/(?P<model>[\w.-]+):generateContent")
_STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
_STATUSES |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}

_OF_BOTH = ("blocked", "schema", "number", "no candidate", "no parts", "OTHER", "SAFETY", "PROHIBITED_CONTENT")
_OF_IMAGES = ("IMAGE_SAFETY", "NO_IMAGE", "IMAGE_OTHER", "words", "sketch", "tiny", "animated", "text", "no base64")
_OF_CHATS = ("length", "no schema", "no end", "CONTINUATION")


def _generate(request: Request, fault: Fault | None, parts: Parts) -> Response:
    assert request.headers["x-goog-api-key"]
    body = request.json
    path = _PATH.fullmatch(request.path)
    assert path is not None
    kind = fault.kind if fault else ""
    config = body["generationConfig"]
    match kind:
        case "blocked":
            return Response.of({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **_about(path["model"])})
        case "schema":
            return Response.of({"candidates": "none today"})
        case "number":
            return Response.of(42)
        case "no candidate":
            return Response.of(_about(path["model"]))
        case "no parts":
            return _candidate(path["model"], [], "STOP")
        case "no schema" if "responseMimeType" in config:
            return Response.of(_error(400, "", "JSON mode is not enabled for this model"), 400)
        case "CONTINUATION" | "OTHER" | "SAFETY" | "PROHIBITED_CONTENT" | "IMAGE_SAFETY" | "NO_IMAGE" | "IMAGE_OTHER":
            return _candidate(path["model"], [], kind)
    if "IMAGE" in config.get("responseModalities", ()):
        return _image(path["model"], body, kind, parts)
    text = parts.reply(_asked(path["model"], body))
    if kind == "length":
        return _candidate(path["model"], [{"text": text[: len(text) // 2]}], "MAX_TOKENS")
    thought = {"text": "Let me see.", "thought": True}
    if kind == "no end":
        return _candidate(path["model"], [{"text": text}], None)
    return _candidate(path["model"], [thought, {"text": text[:1]}, {"text": text[1:]}], "STOP")


def _image(model: str, body: dict[str, Any], kind: str, parts: Parts) -> Response:
    if kind == "words":
        return _candidate(model, [{"text": "I would rather not draw that."}], "STOP")
    asked = _asked(model, body)
    config = body["generationConfig"]
    ratio = config.get("imageConfig", {}).get("aspectRatio", "")
    reference = asked.images[0] if asked.images else None
    wish = Wish(model, " ".join(asked.texts), ratio, config.get("seed"), reference)
    spoiled = {"tiny": plain(2, (255, 0, 0)), "animated": animated(), "text": b"not an image"}
    drawn = [_inline(spoiled[kind] if kind in spoiled else parts.paint(wish))]
    if kind == "no base64":
        drawn[0]["inlineData"]["data"] = "!!!"
    if kind == "sketch":
        drawn.insert(0, {**_inline(plain(8, (1, 2, 3))), "thought": True})
    if "TEXT" in config["responseModalities"]:
        drawn.insert(0, {"text": "Here it is."})
    return _candidate(model, drawn, "STOP")


def _inline(data: bytes) -> dict[str, Any]:
    return {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(data).decode()}}


def _asked(model: str, body: dict[str, Any]) -> Asked:
    texts: list[str] = []
    images: list[bytes] = []
    for content in [body.get("systemInstruction", {"parts": []}), *body["contents"]]:
        assert content.get("role", "user") in ("user", "model")
        for part in content["parts"]:
            if "text" in part:
                texts.append(part["text"])
            else:
                # The API takes both spellings, and the library uses both.
                blob = part["inlineData"]
                assert (blob.get("mimeType") or blob["mime_type"]).startswith("image/")
                images.append(base64.urlsafe_b64decode(blob["data"]))
    return Asked(model, tuple(texts), tuple(images), body["generationConfig"].get("responseJsonSchema"))


def _candidate(model: str, parts: list[dict[str, Any]], reason: str | None) -> Response:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts} if parts else {}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    if reason == "CONTINUATION":
        candidate["continuationToken"] = base64.b64encode(b"go on").decode()
    return Response.of({"candidates": [candidate], **_about(model)})


def _about(model: str) -> dict[str, Any]:
    counted = {"promptTokenCount": 10, "candidatesTokenCount": 1290, "thoughtsTokenCount": 7, "totalTokenCount": 1307}
    return {"usageMetadata": counted, "modelVersion": f"{model}-001", "responseId": "resp_1"}


def _error(status: int, code: str, message: str) -> object:
    """A code `retryDelay=…`, `quotaId=…` or `reason=…` becomes a detail; any other is the status in words."""
    name, equals, value = code.partition("=")
    detail: dict[str, Any] = {"@type": f"type.googleapis.com/google.rpc.{name}"}
    detail |= {"violations": [{"quotaId": value}]} if name == "quotaId" else {name: value}
    words = _STATUSES.get(status, "UNKNOWN") if equals or not code else code
    error = {"code": status, "message": message or "it went wrong", "status": words}
    return {"error": {**error, "details": [detail]} if equals else error}


GEMINI = Dialect((Route(_PATH, _generate),), _error, frozenset({*_OF_BOTH, *_OF_IMAGES, *_OF_CHATS}))
