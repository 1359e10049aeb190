"""The wire formats of OpenAI's images and chat completions, which many other servers speak too."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from typing import Any

from tests.support.loopback.dialects import Asked, Dialect, Parts, Route, Wish, image_in
from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response
from tests.support.loopback.images import animated, plain

_OF_IMAGES = (
    *("refusal", "old refusal", "billed refusal", "schema", "no image", "tiny", "animated", "text", "url"),
    *("no base64", "lost image", "broken"),
)
_OF_CHATS = ("refusal", "filter", "schema", "no schema", "no text", "length", "no usage")

_SERVED: dict[str, bytes] = {}
"""Images that wait to be fetched by their address."""


def _generation(request: Request, fault: Fault | None, parts: Parts) -> Response:
    body = request.json
    assert request.headers["content-type"] == "application/json"
    wish = Wish(body["model"], body["prompt"], body.get("size", ""), body.get("seed"))
    return _image(wish, body, fault, parts)


def _edit(request: Request, fault: Fault | None, parts: Parts) -> Response:
    form = request.form
    images = [*form.get("image", ()), *form.get("image[]", ())]
    assert len(images) == 1, f"one image is wanted: {sorted(form)}"
    plainly = {name: values[0].decode() for name, values in form.items() if not name.startswith("image")}
    seed = int(plainly["seed"]) if "seed" in plainly else None
    wish = Wish(plainly["model"], plainly["prompt"], plainly.get("size", ""), seed, images[0])
    return _image(wish, plainly, fault, parts)


def _image(wish: Wish, body: dict[str, Any], fault: Fault | None, parts: Parts) -> Response:
    kind = fault.kind if fault else ""
    if kind == "refusal":
        return Response.of(_error(400, "moderation_blocked", "Your request was rejected by the safety system."), 400)
    if kind == "old refusal":
        return Response.of(_error(400, "content_policy_violation", "This is against our content policy."), 400)
    if kind == "billed refusal":
        blocked = {"error": {"code": "moderation_blocked", "message": "Blocked by the safety system."}}
        return Response.of({**blocked, "usage": {"input_tokens": 12, "output_tokens": 4160}}, 400)
    if kind == "schema":
        return Response.of({"created": "yesterday", "images": [{"base64": 7}]})
    if kind == "no image":
        return Response.of({"created": 1_700_000_000, "data": []})
    data = {"tiny": plain(2, (255, 0, 0)), "animated": animated(), "text": b"not an image"}.get(kind)
    data = b"\x89PNG\r\n\x1a\n and nothing else" if kind == "broken" else data
    data = parts.paint(wish) if data is None else data
    by_url = kind == "url" or body.get("response_format") == "url"
    entry: dict[str, object] = {"b64_json": base64.b64encode(data).decode()}
    if by_url:
        name = hashlib.sha256(data).hexdigest()
        _SERVED[name] = data
        entry = {"url": f"{parts.url}/images/{name}.png?signature=secret"}
    if kind == "no base64":
        entry = {"b64_json": "!!!"}
    if kind == "lost image":
        entry = {"url": f"{parts.url}/nowhere.png"}
    if wish.model.startswith("dall-e-3"):
        entry["revised_prompt"] = f"{wish.prompt} In detail."
    answer = {"created": 1_700_000_000, "data": [entry], "size": wish.size, "quality": body.get("quality", "medium")}
    if wish.model.startswith("gpt-image"):
        details = {"text_tokens": 12, "image_tokens": 0}
        usage = {"input_tokens": 12, "input_tokens_details": details, "output_tokens": 4160, "total_tokens": 4172}
        answer["usage"] = usage
    return Response.of(answer, headers={"x-request-id": "req_image"})


def _fetch(request: Request, fault: Fault | None, parts: Parts) -> Response:
    name = request.path.split("/")[-1].split(".")[0]
    return Response(_SERVED[name], headers={"content-type": "image/png"})


def _chat(request: Request, fault: Fault | None, parts: Parts) -> Response:
    body = request.json
    kind = fault.kind if fault else ""
    if kind == "no schema" and "response_format" in body:
        refusal = _error(400, "", "response_format json_schema is not supported")
        return Response.of(refusal, 400)
    if kind == "refusal":
        return _completion(body, None, "stop", refusal="I cannot help with that.")
    if kind == "filter":
        return _completion(body, "", "content_filter")
    if kind == "schema":
        return Response.of({"object": "chat.completion", "choices": "none today"})
    if kind == "no text":
        return _completion(body, None, "stop")
    if "image" in body.get("modalities", ()):
        return _drawing(body, parts)
    text = parts.reply(_asked(body))
    if kind == "length":
        return _completion(body, text[: len(text) // 2], "length")
    return _completion(body, text, "stop", has_usage=kind != "no usage")


def _drawing(body: dict[str, Any], parts: Parts) -> Response:
    """The image of a model that draws in a chat, where its name says that gateways put it."""
    asked = _asked(body)
    wish = Wish(body["model"], asked.texts[-1], "", body.get("seed"), asked.images[0] if asked.images else None)
    data = parts.paint(wish)
    name = hashlib.sha256(data).hexdigest()
    _SERVED[name] = data
    address = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    part = {"type": "image_url", "image_url": {"url": address}}
    forms: dict[str, dict[str, object]] = {
        "images": {"content": "Here it is.", "images": [part, part]},
        "parts": {"content": [{"type": "text", "text": "Here it is."}, part]},
        "markdown": {"content": f"Here it is: ![image]({address})"},
        "address": {"content": f"![image]({parts.url}/images/{name}.png?signature=secret)"},
        "bare": {"content": [{"type": "image", "b64_json": address.partition(",")[2]}]},
        "words": {"content": "I would rather describe it."},
    }
    message = {"role": "assistant", **forms[body["model"].rpartition("-")[2]]}
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 1290, "total_tokens": 1302},
    }
    return Response.of(answer, headers={"x-request-id": "req_chat"})


def _asked(body: dict[str, Any]) -> Asked:
    texts: list[str] = []
    images: list[bytes] = []
    for message in body["messages"]:
        if isinstance(message["content"], str):
            texts.append(message["content"])
            continue
        for part in message["content"]:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                assert part["type"] == "image_url", part
                images.append(image_in(part["image_url"]["url"]))
    wanted = body.get("response_format", {})
    schema = wanted["json_schema"]["schema"] if wanted.get("type") == "json_schema" else None
    return Asked(body["model"], tuple(texts), tuple(images), schema)


def _completion(
    body: dict[str, Any], text: str | None, reason: str, *, refusal: str | None = None, has_usage: bool = True
) -> Response:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": f"{body['model']}-2025-01-01",
        "system_fingerprint": "fp_1",
        "choices": [{"index": 0, "message": message, "logprobs": _logprobs(body, text), "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
    if not has_usage:
        del answer["usage"]
    return Response.of(answer, headers={"x-request-id": "req_chat"})


def _logprobs(body: dict[str, Any], text: str | None) -> object:
    """The tokens of an answer, if they are asked for, by models that are not `mute`.

    At a yes or no, the word has 0.6 of the probability, the other word 0.2, and the word in capitals 0.1.
    """
    if not body.get("logprobs") or body["model"].startswith("mute"):
        return None
    content = []
    for token in re.findall(r"\s*\w+|\s*[^\w\s]|\s+", text or ""):
        word = token.strip().lower()
        chances = {token: 0.6, token.lower().replace(word, {"yes": "no"}.get(word, "yes")): 0.2, token.upper(): 0.1}
        if word not in ("yes", "no"):
            chances = {token: 0.9, f"{token}s": 0.1}
        listed = [_token(one, chance) for one, chance in chances.items()][: body["top_logprobs"]]
        content.append({**listed[0], "top_logprobs": listed})
    return {"content": content, "refusal": None}


def _token(text: str, chance: float) -> dict[str, object]:
    return {"token": text, "logprob": math.log(chance), "bytes": list(text.encode())}


def _error(status: int, code: str, message: str) -> object:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message or "it went wrong", "type": kind, "param": None, "code": code or None}}


OPENAI = Dialect(
    (
        Route(re.compile(r"/v1/images/generations"), _generation),
        Route(re.compile(r"/v1/images/edits"), _edit),
        Route(re.compile(r"/v1/chat/completions"), _chat),
        Route(re.compile(r"/images/\w+\.png.*"), _fetch),
    ),
    _error,
    frozenset({*_OF_IMAGES, *_OF_CHATS}),
)
