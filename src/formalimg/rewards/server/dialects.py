"""JSON request formats of other trainers: Flow-Factory's `/compute` and UniRL's `/score`.

Their clients expect a number for each image. Where there is none, Flow-Factory reads `error`, and UniRL one error for
each reward of an image; neither ever gets a 0 in place of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.rewards.result import RewardScore
from formalimg.rewards.rows import require_task
from formalimg.rewards.server.request_body import RequestBody, RequestError, parse_json_object
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


def parse_compute_request(body: RequestBody, context: ServerContext) -> ScoreRequest:
    """Parse a request to Flow-Factory's `/compute`, with prompts and base64 images.

    Nothing else of an item is sent, so that it is found by its prompt.
    """
    request = _parse_body(body)
    if request.get("video"):
        raise RequestError(400, "only images can be scored: leave it out", where="video")
    prompts = parse_list(_first_of(request, "prompt", "prompts"), "prompt", context.limits)
    images = parse_list(_first_of(request, "image", "images"), "image", context.limits)
    if len(prompts) != len(images):
        raise RequestError(400, f"{len(prompts):,} prompts and {len(images):,} images: send one prompt for each image")
    files = [decode_base64(image, f"image[{number}]") for number, image in enumerate(images)]
    parser = TaskParser(context.scorer)
    entries = [_build_entry(parser, file, None, prompt) for file, prompt in zip(files, prompts, strict=True)]
    return ScoreRequest(entries, parts=False, answer=_format_compute_answer, has_item_errors=True)


def _first_of(request: Mapping[str, Any], *names: str) -> object:
    """Return the first field present among alternative names used by different trainer versions."""
    return next((request[name] for name in names if request.get(name) is not None), None)


def _format_compute_answer(rewards: Sequence[RewardScore]) -> str:
    unscored = [number for number, reward in enumerate(rewards) if reward.score is None]
    answer: dict[str, object] = {"rewards": [reward.score for reward in rewards]}
    if unscored:
        # Its client raises this text at once; a status of its own it would retry, and hide the reason.
        first = unscored[0]
        answer["error"] = (
            f"{len(unscored):,} of {len(rewards):,} images have no reward; image[{first}]: {rewards[first].reason}"
        )
    return json.dumps(answer, allow_nan=False)


def parse_unirl_request(body: RequestBody, context: ServerContext) -> ScoreRequest:
    """Parse a request to UniRL's `/score`, with a history, requested rewards and metadata for each image.

    The last entry of a history is scored: by the task in the metadata, or else by the item with its text as prompt.
    """
    requests = parse_list(_parse_body(body).get("requests"), "requests", context.limits)
    parser = TaskParser(context.scorer)
    entries: list[ScoreEntry | RewardScore] = []
    names: list[list[str]] = []
    identities: list[Mapping[str, object]] = []
    for number, request in enumerate(requests):
        path = f"requests[{number}]"
        match request:
            case {"history": [*_, {"image_b64": str() as image, **last}], **fields}:
                file = decode_base64(image, f"{path}.history[-1].image_b64")
                entries.append(_build_entry(parser, file, fields.get("metadata"), last.get("text")))
                names.append(_read_reward_names(fields, f"{path}.required_rewards"))
                identities.append(_read_identity(fields, path, context.version))
            case _:
                raise RequestError(400, "send a history whose last entry has text and image_b64", where=path)

    def format_answer(rewards: Sequence[RewardScore]) -> str:
        return json.dumps(
            {
                "protocol_version": _UNIRL_PROTOCOL,
                "results": list(map(_list_values, rewards, names)),
                "errors": list(map(_list_errors, rewards, names)),
                "identities": identities,
            },
            allow_nan=False,
        )

    return ScoreRequest(entries, parts=False, answer=format_answer, has_item_errors=True)


def _read_reward_names(request: Mapping[Any, Any], path: str) -> list[str]:
    names = request.get("required_rewards") or [DENSE]
    if not isinstance(names, list) or not all(isinstance(name, str) and len(name) <= MAX_WORD for name in names):
        raise RequestError(400, f"send names of rewards, as in {json.dumps([DENSE])}", where=path)
    if len(names) > _MAX_REWARDS:
        raise RequestError(400, f"these are {len(names):,}: send no more than {_MAX_REWARDS}", where=path)
    return names


def _read_identity(request: Mapping[Any, Any], path: str, version: str) -> Mapping[str, object]:
    identity = {key: request.get(key) for key in _IDENTITY}
    for key, value in identity.items():
        if not isinstance(value, str | int | float | None) or len(str(value)) > _MAX_IDENTITY:
            message = f"send a number, or a text of no more than {_MAX_IDENTITY:,} characters"
            raise RequestError(400, message, where=f"{path}.{key}")
    return {**identity, "scorer_version": version}


def _list_values(reward: RewardScore, names: Sequence[str]) -> dict[str, dict[str, float]]:
    if reward.score is None or reward.passed is None:
        return {}
    values = {DENSE: reward.score, STRICT: float(reward.passed)}
    return {name: {REWARDS[name][0]: values[name]} for name in names if name in values}


def _list_errors(reward: RewardScore, names: Sequence[str]) -> dict[str, str]:
    unknown = f"there is no such reward here: known are {', '.join(REWARDS)}"
    return {
        name: reward.reason if name in REWARDS else unknown
        for name in names
        if name not in REWARDS or reward.score is None
    }


def _build_entry(parser: TaskParser, image: bytes, metadata: object, prompt: object) -> ScoreEntry | RewardScore:
    """Build a request entry from its metadata or prompt, or return a reward that explains the failure."""
    try:
        return ScoreEntry(image, parser.parse(require_task(metadata, "the request", prompt), "metadata"))
    except (FormalimgError, RequestError) as error:
        return RewardScore.missing(Unscored("not judged", str(error)))


def _parse_body(body: RequestBody) -> Mapping[str, Any]:
    if body.files:
        raise RequestError(415, "send application/json")
    return parse_json_object(body.text)
