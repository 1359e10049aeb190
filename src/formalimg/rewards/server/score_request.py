"""Parsing of score requests: those of this server, Flow-Factory's `/compute` and UniRL's `/score`.

Errors name the invalid field. Clients of trainers expect a number for each image. Where there is none, Flow-Factory
reads `error`, and UniRL one error for each reward of an image; neither ever gets a 0 in place of it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.plain_folders import open_plain_folder
from formalimg.errors import FormalimgError
from formalimg.logic.errors import FormulaError
from formalimg.rewards.inputs import ImageLike, require_task
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.request_body import Limits, RequestBody, RequestError, parse_json_object
from formalimg.rewards.tasks import RewardTask
from formalimg.types import Unscored
from formalimg.web.json_body import MAX_WORD, has_long_word

DENSE, STRICT = "formalimg", "formalimg_strict"  # rewards by name: the score from 0 to 1; 1 if the image passes, else 0
# The one number of each reward. More than one would be averaged, or the largest taken, by a setting of the trainer.
REWARDS = {DENSE: ["score"], STRICT: ["passed"]}

_KEYS = ("items", "prompts", "images", "parts")
# maximum memory of the formulas of a request, estimated; one of ten variables takes about 100 KB
_MAX_FORMULA_BYTES = 64 * 1024 * 1024
_UNIRL_PROTOCOL = "1"
# what an image is known by in UniRL; the answer repeats it
_IDENTITY = ("request_id", "sample_id", "group_id", "source_rank", "policy_version", "idempotency_key")
_MAX_REWARDS = 64  # maximum number of rewards that are asked for, each of which is answered
_MAX_IDENTITY = 1_000  # maximum number of characters of a field that the answer repeats
_OUTSIDE = "this lies outside of the server's --root"  # the same whether or not the file exists


class ScoreEntry(NamedTuple):
    """An image or scene in a request, with its task."""

    image: ImageLike
    task: RewardTask


class ScoreRequest(NamedTuple):
    """A parsed request."""

    # the images to score; or the reward itself, where it is known already that there is none
    entries: Sequence[ScoreEntry | RewardScore]
    parts: bool  # whether parts and reasons are to be returned
    answer: Callable[[Sequence[RewardScore]], str]  # returns the JSON of the answer, given the rewards of all entries
    # whether an item that cannot be scored is part of the answer; else it is an error of the whole
    has_item_errors: bool = False


class ServerContext(NamedTuple):
    """The dependencies for parsing requests."""

    scorer: Scorer  # prepares the tasks
    limits: Limits  # the limits of the server
    version: str  # the version of formalimg
    root: ImageRoot | None = None  # the folder of images that are named by their paths; None for none


def parse_score_request(body: RequestBody, context: ServerContext) -> ScoreRequest:
    """Parse a request to `/v1/score`."""
    request = parse_json_object(body.text)
    unknown_key = next((key for key in request if key not in _KEYS), None)
    if unknown_key is not None:
        raise RequestError(400, f"{unknown_key[:40]!r} is not known: choose from {', '.join(_KEYS)}")
    items = _parse_items(request, context.limits)
    if "images" in request:
        images = _parse_list(request["images"], "images", context.limits)
    else:
        images = [{"file": f"image{number}"} for number in range(len(items))]
    if len(images) != len(items):
        raise RequestError(400, f"{len(items):,} items and {len(images):,} images: send one image for each item")
    parts = request.get("parts", True)
    if not isinstance(parts, bool):
        raise RequestError(400, "send true or false", where="parts")
    parser = _TaskParser(context.scorer)
    tasks = [parser.parse(item, f"items[{number}]") for number, item in enumerate(items)]
    entries = [
        ScoreEntry(_parse_image(image, f"images[{number}]", body, context), task)
        for number, (image, task) in enumerate(zip(images, tasks, strict=True))
    ]
    for number, (image, task) in enumerate(entries):
        if isinstance(image, Mapping) and task.formula is None:
            message = "a scene can be scored by a formula only: send an image"
            raise RequestError(400, message, where=f"images[{number}].scene")
    return ScoreRequest(entries, parts, _format_answer)


def _parse_items(request: Mapping[str, Any], limits: Limits) -> list[object]:
    if request.get("prompts") is None:
        return _parse_list(request.get("items"), "items", limits)
    prompts = _parse_list(request["prompts"], "prompts", limits)
    for number, prompt in enumerate(prompts):
        _require_text(prompt, f"prompts[{number}]")
    items = _parse_list(request["items"], "items", limits) if request.get("items") is not None else [{}] * len(prompts)
    if len(items) != len(prompts):
        raise RequestError(400, f"{len(items):,} items and {len(prompts):,} prompts: send one prompt for each item")
    return [
        {"prompt": prompt, **item} if isinstance(item, dict) else item
        for item, prompt in zip(items, prompts, strict=True)
    ]


def _format_answer(rewards: Sequence[RewardScore]) -> str:
    # Escaped, so that any text can be sent, also lone surrogates in a judge's answer.
    texts = (json.dumps(reward.to_json(), allow_nan=False, separators=(",", ":")) for reward in rewards)
    return f'{{"results":[{",".join(texts)}]}}'


def _parse_list(value: object, field: str, limits: Limits) -> list[object]:
    if not isinstance(value, list) or not value:
        raise RequestError(400, f"send a list of {field}, one for each image", where=field)
    if len(value) > limits.max_items:
        message = f"there are {len(value):,}: send no more than {limits.max_items:,} at once"
        raise RequestError(413, message, where=field)
    return value


class _TaskParser:
    """A parser for the tasks of one request, with a limit on the total memory of their formulas."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._task_ids, self._bytes = set[int](), 0

    def parse(self, item: object, path: str) -> RewardTask:
        if not isinstance(item, Mapping):
            raise RequestError(400, 'send an object, such as {"suite": …, "id": …}', where=path)
        try:
            row = require_task(item, "this")
            formula = row.get("formula")
            if isinstance(formula, str) and has_long_word(formula):
                message = f"a word of the formula has more than {MAX_WORD} characters: choose a shorter one"
                raise RequestError(400, message, where=f"{path}.formula")
            task = self._scorer.prepare(row)
        except FormulaError as error:
            raise RequestError(400, str(error.problems[0]), where=f"{path}.formula", problems=error.problems) from error
        except FormalimgError as error:
            raise RequestError(400, str(error), where=path) from error
        if task.formula is not None and id(task) not in self._task_ids:  # the same formula is in memory once
            self._task_ids.add(id(task))
            self._bytes += task.formula.estimated_bytes
            if self._bytes > _MAX_FORMULA_BYTES and len(self._task_ids) > 1:
                message = "the formulas up to here have too many clauses for one request: send fewer items at once"
                raise RequestError(413, message, where=path)
        return task


def _parse_image(field: object, path: str, body: RequestBody, context: ServerContext) -> ImageLike:
    """Return the image in a request field, or a function that reads it."""
    forms = ("base64", "path", "scene", "file")
    if not isinstance(field, dict) or len(field) != 1 or not field.keys() <= set(forms):
        raise RequestError(400, f"send an object with one of {', '.join(forms)}", where=path)
    [(form, value)] = field.items()
    path = f"{path}.{form}"
    match form:
        case "base64":
            return _decode_base64(value, path)
        case "path":
            return _parse_path(_require_text(value, path), path, context)
        case "file":
            if _require_text(value, path) not in body.files:
                message = f"there is no part {value[:40]!r}: send the image as such a file of a multipart request"
                raise RequestError(400, message, where=path)
            return body.files[value]
    if not isinstance(value, dict):
        raise RequestError(400, 'send a scene, as in {"objects": [{"label", "color", "box_2d"}]}', where=path)
    if len(body.text) > MAX_WORD and _has_long_word(value):
        message = f"a word of the scene has more than {MAX_WORD} characters: choose a shorter one"
        raise RequestError(400, message, where=path)
    return value


def _parse_path(file: str, path: str, context: ServerContext) -> ImageLike:
    if context.root is None:
        raise RequestError(403, "this server reads no files: it was started without --root", where=path)
    try:
        context.root.resolve(file)
    except OutsideRootError as error:
        raise RequestError(403, str(error), where=path) from error
    # Read when it is scored: a small request may name more than there is memory for.
    return partial(context.root.read, file, context.limits.max_body_bytes)


def _require_text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise RequestError(400, "send a text", where=path)
    return value


def _decode_base64(value: object, path: str) -> bytes:
    try:
        return base64.b64decode(_require_text(value, path), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(400, "this is not base64", where=path) from error


def _has_long_word(scene: Mapping[str, object]) -> bool:
    """Return whether a label or attribute is too long to be quoted in the reasons of clauses."""
    objects = scene.get("objects")
    values: list[object] = [scene.get("style")]
    for fields in objects if isinstance(objects, list) else ():
        if isinstance(fields, dict):
            for value in fields.values():
                if isinstance(value, str):
                    values.append(value)
                elif isinstance(value, list) and value and isinstance(value[0], str):  # states
                    values.extend(value)
    return any(isinstance(value, str) and len(value) > MAX_WORD for value in values)


# --- the folder of images that requests may name by their paths; nothing outside of it is read


class OutsideRootError(OSError):
    """Raised for a path outside the root folder or otherwise inaccessible to the server."""


class ImageRoot:
    """The folder from which requests can load images by path."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise FormalimgError(f"{folder} is not a folder: --root names the one that holds the images")
        self.folder = folder.resolve()
        self._unresolved = Path(os.path.abspath(folder))  # noqa: PTH100  # links are kept

    def resolve(self, path: str) -> Path:
        """Resolve a path that is absolute or relative to the root.

        Nothing outside is accessed, not even through links, because the result would reveal what is there.
        """
        if "\0" in path:
            raise OutsideRootError("this is not a path")
        unresolved = Path(os.path.normpath(self.folder / path))
        if not any(map(unresolved.is_relative_to, (self.folder, self._unresolved))):
            raise OutsideRootError(_OUTSIDE)
        try:
            resolved = unresolved.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # loops of links, and characters that paths cannot have
            raise OutsideRootError("this is not a path") from error
        if not resolved.is_relative_to(self.folder):
            raise OutsideRootError(_OUTSIDE)
        return resolved

    def read(self, path: str, max_bytes: int) -> bytes:
        """Read the bytes of a file."""
        file = self.resolve(path)
        if file == self.folder:
            raise IsADirectoryError("this is not a file")
        # Without following links that were put there meanwhile.
        with open_plain_folder(file.parent, self.folder) as folder:
            return folder.read(file.name, max_bytes)


# --- the formats of trainers


def parse_compute_request(body: RequestBody, context: ServerContext) -> ScoreRequest:
    """Parse a request to Flow-Factory's `/compute`, with base64 images and the prompts by which items are found."""
    request = _parse_json_body(body)
    if request.get("video"):
        raise RequestError(400, "only images can be scored: leave it out", where="video")
    # Versions of the trainer name these fields differently.
    prompts, images = (
        _parse_list(request[name] if request.get(name) is not None else request.get(f"{name}s"), name, context.limits)
        for name in ("prompt", "image")
    )
    if len(prompts) != len(images):
        raise RequestError(400, f"{len(prompts):,} prompts and {len(images):,} images: send one prompt for each image")
    files = [_decode_base64(image, f"image[{number}]") for number, image in enumerate(images)]
    parser = _TaskParser(context.scorer)
    entries = [_build_entry(parser, file, None, prompt) for file, prompt in zip(files, prompts, strict=True)]
    return ScoreRequest(entries, parts=False, answer=_format_compute_answer, has_item_errors=True)


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
    requests = _parse_list(_parse_json_body(body).get("requests"), "requests", context.limits)
    parser = _TaskParser(context.scorer)
    entries: list[ScoreEntry | RewardScore] = []
    names: list[list[str]] = []
    identities: list[Mapping[str, object]] = []
    for number, request in enumerate(requests):
        path = f"requests[{number}]"
        match request:
            case {"history": [*_, {"image_b64": str() as image, **last}], **fields}:
                file = _decode_base64(image, f"{path}.history[-1].image_b64")
                entries.append(_build_entry(parser, file, fields.get("metadata"), last.get("text")))
                names.append(_read_reward_names(fields, f"{path}.required_rewards"))
                identities.append({**_read_identity(fields, path), "scorer_version": context.version})
            case _:
                raise RequestError(400, "send a history whose last entry has text and image_b64", where=path)

    def format_answer(rewards: Sequence[RewardScore]) -> str:
        answer = {
            "protocol_version": _UNIRL_PROTOCOL,
            "results": list(map(_list_values, rewards, names)),
            "errors": list(map(_list_errors, rewards, names)),
            "identities": identities,
        }
        return json.dumps(answer, allow_nan=False)

    return ScoreRequest(entries, parts=False, answer=format_answer, has_item_errors=True)


def _read_reward_names(request: Mapping[Any, Any], path: str) -> list[str]:
    names = request.get("required_rewards") or [DENSE]
    if not isinstance(names, list) or not all(isinstance(name, str) and len(name) <= MAX_WORD for name in names):
        raise RequestError(400, f"send names of rewards, as in {json.dumps([DENSE])}", where=path)
    if len(names) > _MAX_REWARDS:
        raise RequestError(400, f"there are {len(names):,}: send no more than {_MAX_REWARDS}", where=path)
    return names


def _read_identity(request: Mapping[Any, Any], path: str) -> Mapping[str, object]:
    identity = {key: request.get(key) for key in _IDENTITY}
    for key, value in identity.items():
        if not isinstance(value, str | int | float | None) or len(str(value)) > _MAX_IDENTITY:
            message = f"send a number, or a text of no more than {_MAX_IDENTITY:,} characters"
            raise RequestError(400, message, where=f"{path}.{key}")
    return identity


def _list_values(reward: RewardScore, names: Sequence[str]) -> dict[str, dict[str, float]]:
    if reward.score is None or reward.passed is None:
        return {}
    values = {DENSE: reward.score, STRICT: float(reward.passed)}
    return {name: {REWARDS[name][0]: values[name]} for name in names if name in values}


def _list_errors(reward: RewardScore, names: Sequence[str]) -> dict[str, str]:
    unknown = f"there is no such reward here: choose from {', '.join(REWARDS)}"
    return {
        name: reward.reason if name in REWARDS else unknown
        for name in names
        if name not in REWARDS or reward.score is None
    }


def _build_entry(parser: _TaskParser, image: bytes, metadata: object, prompt: object) -> ScoreEntry | RewardScore:
    try:
        return ScoreEntry(image, parser.parse(require_task(metadata, "the request", prompt), "metadata"))
    except (FormalimgError, RequestError) as error:
        return RewardScore.missing(Unscored("not judged", str(error)))


def _parse_json_body(body: RequestBody) -> Mapping[str, Any]:
    if body.files:
        raise RequestError(415, "send application/json")
    return parse_json_object(body.text)
