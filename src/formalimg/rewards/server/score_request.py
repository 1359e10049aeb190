"""Parsing of score requests, with errors that identify the invalid field."""

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
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_images import ImageLike
from formalimg.rewards.rows import require_task
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.admission import Limits
from formalimg.rewards.server.request_body import RequestBody, RequestError, parse_json_object
from formalimg.rewards.tasks import RewardTask
from formalimg.web.json_body import MAX_WORD, has_long_word

_KEYS = ("items", "prompts", "images", "parts")

_MAX_FORMULA_BYTES = 64 * 1024 * 1024
"""Maximum memory of the formulas of a request, estimated; one of ten variables takes about 100 KB."""


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
        raise RequestError(400, f"{unknown_key[:40]!r} is not known: known are {', '.join(_KEYS)}")
    items = _parse_items(request, context.limits)
    if "images" in request:
        images = parse_list(request["images"], "images", context.limits)
    else:
        images = [{"file": f"image{number}"} for number in range(len(items))]
    if len(images) != len(items):
        raise RequestError(400, f"{len(items):,} items and {len(images):,} images: send one image for each item")
    parts = request.get("parts", True)
    if not isinstance(parts, bool):
        raise RequestError(400, "send true or false", where="parts")
    parser = TaskParser(context.scorer)
    tasks = [parser.parse(item, f"items[{number}]") for number, item in enumerate(items)]
    sources = _ImageSources(body, context.root, context.limits.max_body_bytes)
    entries = [
        ScoreEntry(sources.parse(image, f"images[{number}]"), task)
        for number, (image, task) in enumerate(zip(images, tasks, strict=True))
    ]
    for number, (image, task) in enumerate(entries):
        if isinstance(image, Mapping) and task.formula is None:
            message = "a scene can be scored by a formula only: send an image"
            raise RequestError(400, message, where=f"images[{number}].scene")
    return ScoreRequest(entries, parts, _format_answer)


def _parse_items(request: Mapping[str, Any], limits: Limits) -> list[object]:
    """Return the items of a request, adding the prompts if the request contains any."""
    if request.get("prompts") is None:
        return parse_list(request.get("items"), "items", limits)
    prompts = parse_list(request["prompts"], "prompts", limits)
    number = next((number for number, prompt in enumerate(prompts) if not isinstance(prompt, str)), None)
    if number is not None:
        raise RequestError(400, "send a text", where=f"prompts[{number}]")
    items = parse_list(request["items"], "items", limits) if request.get("items") is not None else [{}] * len(prompts)
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


def parse_list(value: object, field: str, limits: Limits) -> list[object]:
    """Return the list in a field, which must have one entry for each image."""
    if not isinstance(value, list) or not value:
        raise RequestError(400, f"send a list of {field}, one for each image", where=field)
    if len(value) > limits.max_items:
        raise RequestError(
            413, f"these are {len(value):,}: send no more than {limits.max_items:,} at once", where=field
        )
    return value


class TaskParser:
    """A parser for the tasks of one request, with a limit on the total memory of their formulas."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._task_ids, self._bytes = set[int](), 0

    def parse(self, item: object, path: str) -> RewardTask:
        """Parse a task, and raise an error if it is invalid or the formulas exceed the memory limit."""
        task = _parse_task(item, path, self._scorer)
        if task.formula is not None and id(task) not in self._task_ids:  # the same formula is in memory once
            self._task_ids.add(id(task))
            self._bytes += task.formula.estimated_bytes
            if self._bytes > _MAX_FORMULA_BYTES and len(self._task_ids) > 1:
                message = "the formulas up to here have too many clauses for one request: send fewer items at once"
                raise RequestError(413, message, where=path)
        return task


def _parse_task(item: object, path: str, scorer: Scorer) -> RewardTask:
    if not isinstance(item, Mapping):
        raise RequestError(400, 'send an object, such as {"suite": …, "id": …}', where=path)
    try:
        task = require_task(item, "this")
        formula = task.get("formula")
        if isinstance(formula, str) and has_long_word(formula):
            message = f"a word of the formula has more than {MAX_WORD} characters: choose a shorter one"
            raise RequestError(400, message, where=f"{path}.formula")
        return scorer.prepare(task)
    except FormulaError as error:
        raise RequestError(400, str(error.problems[0]), where=f"{path}.formula", problems=error.problems) from error
    except FormalimgError as error:
        raise RequestError(400, str(error), where=path) from error


class _ImageSources(NamedTuple):
    """The sources that images in a request can refer to."""

    body: RequestBody
    root: ImageRoot | None
    max_bytes: int

    def parse(self, field: object, path: str) -> ImageLike:
        """Return the image in a request field, or a function that reads it."""
        forms: dict[str, Callable[[Any, str], ImageLike]] = {
            "base64": decode_base64,
            "path": self._parse_path,
            "scene": self._parse_scene,
            "file": self._parse_file,
        }
        if not isinstance(field, dict) or len(field) != 1 or not forms.keys() & field.keys():
            raise RequestError(400, f"send an object with one of {', '.join(forms)}", where=path)
        [(form, value)] = field.items()
        return forms[form](value, f"{path}.{form}")

    def _parse_path(self, value: object, path: str) -> ImageLike:
        file = _require_text(value, path)
        if self.root is None:
            raise RequestError(403, "this server reads no files: it was started without --root", where=path)
        try:
            self.root.resolve(file)
        except OutsideRootError as error:
            raise RequestError(403, str(error), where=path) from error
        # Read when it is scored: a small request may name more than there is memory for.
        return partial(self.root.read, file, self.max_bytes)

    def _parse_scene(self, value: object, path: str) -> ImageLike:
        if not isinstance(value, dict):
            raise RequestError(400, 'send a scene, as in {"objects": [{"label", "color", "box_2d"}]}', where=path)
        if len(self.body.text) > MAX_WORD and _has_long_word(value):
            message = f"a word of the scene has more than {MAX_WORD} characters: choose a shorter one"
            raise RequestError(400, message, where=path)
        return value

    def _parse_file(self, value: object, path: str) -> ImageLike:
        name = _require_text(value, path)
        if name not in self.body.files:
            message = f"there is no part {name[:40]!r}: send the image as such a file of a multipart request"
            raise RequestError(400, message, where=path)
        return self.body.files[name]


def _require_text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise RequestError(400, "send a text", where=path)
    return value


def decode_base64(value: object, path: str) -> bytes:
    """Decode the base64 content of a field."""
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

_OUTSIDE = "this lies outside of the server's --root"
"""The same whether or not the file exists: nobody learns what is outside."""


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

        Nothing outside is looked at, not even links on the way: where they lead would tell what is there.
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
