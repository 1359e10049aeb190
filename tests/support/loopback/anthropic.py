"""The wire format of Anthropic's messages."""

from __future__ import annotations

import base64
import re
from typing import Any

from tests.support.loopback.dialects import Asked, Dialect, Parts, Route
from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response

_OWN_FAULTS = frozenset({"refusal", "schema", "no schema", "no text", "length"})
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
_BUSY = {429: "rate_limit_error", 529: "overloaded_error"}


def _messages(request: Request, fault: Fault | None, parts: Parts) -> Response:
    body = request.json
    assert request.headers["anthropic-version"]
    assert body["max_tokens"] > 0
    kind = fault.kind if fault else ""
    if kind == "no schema" and "output_config" in body:
        return Response.of(_error(400, "", "output_config.format: this model does not support structured outputs"), 400)
    if kind == "refusal":
        return _message(body, "", "refusal")
    if kind == "schema":
        return Response.of({"type": "message", "content": "nothing", "usage": []})
    if kind == "no text":
        return _message(body, None, "end_turn")
    text = parts.reply(_asked(body))
    if kind == "length":
        return _message(body, text[: len(text) // 2], "max_tokens")
    return _message(body, text, "end_turn")


def _asked(body: dict[str, Any]) -> Asked:
    system = body.get("system", [])
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    images: list[bytes] = []
    for message in body["messages"]:
        assert message["role"] in ("user", "assistant")
        for block in message["content"]:
            if block["type"] == "text":
                texts.append(block["text"])
            else:
                source = block["source"]
                assert (block["type"], source["type"]) == ("image", "base64")
                assert source["media_type"] in ("image/png", "image/jpeg", "image/webp", "image/gif")
                images.append(base64.b64decode(source["data"], validate=True))
    wanted = body.get("output_config", {}).get("format", {})
    return Asked(body["model"], tuple(texts), tuple(images), wanted.get("schema"))


def _message(body: dict[str, Any], text: str | None, reason: str) -> Response:
    blocks: list[object] = [{"type": "thinking", "thinking": "Let me see.", "signature": "x"}]
    if text is not None:
        blocks.append({"type": "text", "text": text, "citations": None})
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": f"{body['model']}-20250101",
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 90, "cache_read_input_tokens": 10, "output_tokens": 20},
    }
    return Response.of(answer, headers={"request-id": "req_message"})


def _error(status: int, code: str, message: str) -> object:
    kind = code or _ERRORS.get(status) or _BUSY.get(status) or "api_error"
    return {"type": "error", "error": {"type": kind, "message": message or "it went wrong"}, "request_id": "req_1"}


ANTHROPIC = Dialect((Route(re.compile(r"/v1/messages"), _messages),), _error, _OWN_FAULTS)
