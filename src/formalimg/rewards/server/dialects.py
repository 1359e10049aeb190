"""Requests as trainers send them: Flow-Factory's `/compute` and UniRL's `/score`, both plain JSON.

Their clients expect a number for each image. Where there is none, Flow-Factory reads `error`, and UniRL one error for
each reward of an image; neither ever gets a 0 in place of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.rewards.result import RewardScore
from formalimg.rewards.rows import require_task
from formalimg.rewards.server.http_errors import RequestError
from formalimg.rewards.server.request_body import RequestBody, parse_json_object
from formalimg.rewards.server.score_request import (
    ScoreEntry,
    ScoreRequest,
    ServerContext,
    TaskParser,
    decode_base64,
    parse_list,
)
from formalimg.types import Unscored
from formalimg.web.json_body import MAX_WORD

DENSE, STRICT = "formalimg", "formalimg_strict"
"""The rewards of this server by their names: the score from 0 to 1; and 1 if the image passes, else 0."""

REWARDS = {DENSE: ["score"], STRICT: ["passed"]}
"""The one number of each reward. More than one would be averaged, or the largest taken, by a setting of the trainer."""

_UNIRL_PROTOCOL = "1"
_IDENTITY = ("request_id", "sample_id", "group_id", "source_rank", "policy_version", "idempotency_key")
"""What an image is known by in UniRL; the answer repeats it."""

_MAX_REWARDS = 64
"""Maximum number of rewards that are asked for, each of which is answered."""

_MAX_IDENTITY = 1_000
"""Maximum number of characters of a field that the answer repeats."""


# --- Flow-Factory


def parse_compute_request(body: RequestBody, context: ServerContext) -> ScoreRequest:
    """Return the parsed request to `/compute`: prompts, and an image for each as base64.

    Nothing else of an item is sent, so that it is found by its prompt.
    """
    request = _parse_body(body)
    if request.get("video"):
        raise RequestError(400, "only images can be scored: leave it out", where="video")
    prompts = parse_list(_either(request, "prompt", "prompts"), "prompt", context.limits)
    images = parse_list(_either(request, "image", "images"), "image", context.limits)
    if len(prompts) != len(images):
        raise RequestError(400, f"{len(prompts):,} prompts and {len(images):,} images: send one prompt for each image")
    files = [decode_base64(image, f"image[{number}]") for number, image in enumerate(images)]
    reader = _TrainerEntries(context)
    entries = [reader.read(file, None, prompt) for file, prompt in zip(files, prompts, strict=True)]
    return ScoreRequest(entries, parts=False, answer=_answer_compute, has_item_errors=True)


def _answer_compute(found: Sequence[RewardScore]) -> str:
    unscored = [number for number, one in enumerate(found) if one.score is None]
    answer: dict[str, object] = {"rewards": [one.score for one in found]}
    if unscored:
        # Its client raises this text at once; a status of its own it would retry, and hide the reason.
        first = unscored[0]
        answer["error"] = (
            f"{len(unscored):,} of {len(found):,} images have no reward; image[{first}]: {found[first].reason}"
        )
    return json.dumps(answer, allow_nan=False)


def _either(request: Mapping[str, Any], *names: str) -> object:
    """Return the field that older and newer versions of a trainer call by different names."""
    return next((request[name] for name in names if request.get(name) is not None), None)


# --- UniRL


@dataclass(frozen=True)
class _UniRequest:
    """What the answer to an image of UniRL needs besides its reward."""

    required: tuple[str, ...]
    identity: Mapping[str, object]


def parse_unirl_request(body: RequestBody, context: ServerContext) -> ScoreRequest:
    """Return the parsed request to `/score`: for each image its history, the rewards asked for, and metadata.

    The last entry of a history is scored: by the task in the metadata, or else by the item with its text as prompt.
    """
    sent = parse_list(_parse_body(body).get("requests"), "requests", context.limits)
    asked, entries = list[_UniRequest](), list[ScoreEntry | RewardScore]()
    reader = _TrainerEntries(context)
    for number, found in enumerate(sent):
        where = f"requests[{number}]"
        match found:
            case {"history": [*_, {"image_b64": str() as image, **last}], **request}:
                metadata = request.get("metadata")
                entries.append(
                    reader.read(decode_base64(image, f"{where}.history[-1].image_b64"), metadata, last.get("text"))
                )
                asked.append(_UniRequest(_required(request, where), _identity(request, where, context.version)))
            case _:
                raise RequestError(400, "send a history whose last entry has text and image_b64", where=where)

    def answer(found: Sequence[RewardScore]) -> str:
        return json.dumps(
            {
                "protocol_version": _UNIRL_PROTOCOL,
                "results": [_results(one, each.required) for one, each in zip(found, asked, strict=True)],
                "errors": [_errors(one, each.required) for one, each in zip(found, asked, strict=True)],
                "identities": [dict(each.identity) for each in asked],
            },
            allow_nan=False,
        )

    return ScoreRequest(entries, parts=False, answer=answer, has_item_errors=True)


def _required(request: Mapping[Any, Any], where: str) -> tuple[str, ...]:
    names = request.get("required_rewards") or [DENSE]
    where = f"{where}.required_rewards"
    if not isinstance(names, list) or not all(isinstance(name, str) and len(name) <= MAX_WORD for name in names):
        raise RequestError(400, f"send names of rewards, as in {json.dumps([DENSE])}", where=where)
    if len(names) > _MAX_REWARDS:
        raise RequestError(400, f"these are {len(names):,}: send no more than {_MAX_REWARDS}", where=where)
    return tuple(names)


def _identity(request: Mapping[Any, Any], where: str, version: str) -> Mapping[str, object]:
    identity = {key: request.get(key) for key in _IDENTITY}
    for key, value in identity.items():
        if not isinstance(value, str | int | float | None) or len(str(value)) > _MAX_IDENTITY:
            message = f"send a number, or a text of no more than {_MAX_IDENTITY:,} characters"
            raise RequestError(400, message, where=f"{where}.{key}")
    return {**identity, "scorer_version": version}


def _results(found: RewardScore, required: Sequence[str]) -> dict[str, dict[str, float]]:
    if found.score is None or found.passed is None:
        return {}
    values = {DENSE: found.score, STRICT: float(found.passed)}
    return {name: {REWARDS[name][0]: values[name]} for name in required if name in values}


def _errors(found: RewardScore, required: Sequence[str]) -> dict[str, str]:
    unknown = f"there is no such reward here: known are {', '.join(REWARDS)}"
    return dict(_reasons(found, required, unknown))


def _reasons(found: RewardScore, required: Sequence[str], unknown: str) -> Iterator[tuple[str, str]]:
    for name in required:
        if name not in REWARDS:
            yield name, unknown
        elif found.score is None:
            yield name, found.reason


# --- both


class _TrainerEntries:
    """Reads what the images of one request are to show; an image that has no task has no reward, but a reason."""

    def __init__(self, context: ServerContext) -> None:
        self._tasks = TaskParser(context.scorer)

    def read(self, image: bytes, metadata: object, prompt: object) -> ScoreEntry | RewardScore:
        """Return an entry of a request, by the task in its metadata or else by its prompt."""
        try:
            return ScoreEntry(image, self._tasks.parse(require_task(metadata, "the request", prompt), "metadata"))
        except (FormalimgError, RequestError) as error:
            return RewardScore.missing(Unscored("not judged", str(error)))


def _parse_body(body: RequestBody) -> Mapping[str, Any]:
    if body.files:
        raise RequestError(415, "send application/json")
    return parse_json_object(body.text)
