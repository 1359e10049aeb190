"""Score requests: parse images and tasks, with errors that name their place; image paths below one root folder."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic import FormulaError
from formalimg.rewards import ImageLike, RewardTask, Scorer
from formalimg.rewards.server.admission import Limits
from formalimg.rewards.server.http_errors import RequestError
from formalimg.rewards.server.request_body import RequestBody, parse_json_object
from formalimg.web import MAX_WORD, has_long_word

_KEYS = ("items", "images", "parts")

_MAX_FORMULA_BYTES = 64 * 1024 * 1024
"""Maximum memory of the formulas of a request, estimated; one of ten variables takes about 100 KB."""


class OutsideRootError(OSError):
    """A path that leads out of the root folder, or nowhere that this server may read."""


class ImageRoot:
    """The folder whose files may be named in place of images."""

    def __init__(self, folder: Path) -> None:
        """Use a folder as root.

        Raises:
            FormalimgError: if it is not a folder.
        """
        if not folder.is_dir():
            raise FormalimgError(f"{folder} is not a folder: --root names the one that holds the images")
        self.folder = folder.resolve()

    def resolve(self, path: str) -> Path:
        """Return the resolved path, which may be relative to the root or absolute.

        Raises:
            OutsideRootError: if it leads outside, perhaps by a link.
        """
        try:
            found = (self.folder / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # loops of links, and characters that paths cannot have
            raise OutsideRootError("this is not a path") from error
        # The same message whether or not the file exists: nobody learns what is outside.
        if not found.is_relative_to(self.folder):
            raise OutsideRootError("this lies outside of the server's --root")
        return found

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the bytes of a file.

        Raises:
            OutsideRootError: if it is outside of the root, perhaps by now.
            OSError: if it cannot be read.
        """
        with open(self.resolve(path), "rb", opener=_open_no_follow) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError("this is not a file")
            if status.st_size > max_bytes:
                raise OSError(f"the file has {status.st_size:,} bytes: no more than {max_bytes:,} are read")
            return file.read(max_bytes)


def _open_no_follow(path: str, flags: int) -> int:
    """Open without following a link that was put there meanwhile, and without waiting for the writer of a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


class ScoreEntry(NamedTuple):
    """One image of a request, or the scene in it, and what it is to show."""

    image: ImageLike
    task: RewardTask


class ScoreRequest(NamedTuple):
    """A parsed request: its entries, and whether parts and reasons are to be returned."""

    entries: list[ScoreEntry]
    parts: bool


class _ImageField(NamedTuple):
    """An image of a request, not yet parsed, and what it may refer to."""

    value: Any
    where: str
    body: RequestBody
    root: ImageRoot | None
    max_bytes: int


def parse_score_request(
    body: RequestBody, scorer: Scorer, limits: Limits, root: ImageRoot | None = None
) -> ScoreRequest:
    """Return the parsed request.

    Args:
        body: the body of the request.
        scorer: prepares the tasks.
        limits: the limits of the server.
        root: the folder of images that are named by their paths; None for none.

    Raises:
        RequestError: if something is wrong with it.
    """
    request = parse_json_object(body.text)
    unknown = next((key for key in request if key not in _KEYS), None)
    if unknown is not None:
        raise RequestError(400, f"{unknown[:40]!r} is not known: known are {', '.join(_KEYS)}")
    items = _parse_list(request.get("items"), "items", limits)
    if "images" in request:
        images = _parse_list(request["images"], "images", limits)
    else:
        images = [{"file": f"image{number}"} for number in range(len(items))]
    if len(images) != len(items):
        raise RequestError(400, f"{len(items):,} items and {len(images):,} images: send one image for each item")
    parts = request.get("parts", True)
    if not isinstance(parts, bool):
        raise RequestError(400, "send true or false", where="parts")
    tasks = _parse_tasks(items, scorer)
    fields = [
        _ImageField(image, f"images[{number}]", body, root, limits.max_body_bytes)
        for number, image in enumerate(images)
    ]
    entries = [ScoreEntry(_parse_image(field), task) for field, task in zip(fields, tasks, strict=True)]
    for number, (image, task) in enumerate(entries):
        if isinstance(image, Mapping) and task.formula is None:
            message = "a scene can be scored by a formula only: send an image"
            raise RequestError(400, message, where=f"images[{number}].scene")
    return ScoreRequest(entries, parts)


def _parse_list(value: object, where: str, limits: Limits) -> list[object]:
    if not isinstance(value, list) or not value:
        raise RequestError(400, f"send a list of {where}, one for each image", where=where)
    if len(value) > limits.max_items:
        raise RequestError(
            413, f"these are {len(value):,}: send no more than {limits.max_items:,} at once", where=where
        )
    return value


def _parse_tasks(items: list[object], scorer: Scorer) -> list[RewardTask]:
    tasks: list[RewardTask] = []
    counted, total = set[int](), 0
    for number, item in enumerate(items):
        task = _parse_task(item, f"items[{number}]", scorer)
        tasks.append(task)
        if task.formula is not None and id(task) not in counted:  # the same formula is in memory once
            counted.add(id(task))
            total += task.formula.estimated_bytes
            if total > _MAX_FORMULA_BYTES and len(counted) > 1:
                message = "the formulas up to here have too many clauses for one request: send fewer items at once"
                raise RequestError(413, message, where=f"items[{number}]")
    return tasks


def _parse_task(item: object, where: str, scorer: Scorer) -> RewardTask:
    if not isinstance(item, dict):
        raise RequestError(400, 'send an object, such as {"suite": …, "id": …}', where=where)
    formula = item.get("formula")
    if isinstance(formula, str) and has_long_word(formula):
        message = f"a word of the formula has more than {MAX_WORD} characters: choose a shorter one"
        raise RequestError(400, message, where=f"{where}.formula")
    try:
        return scorer.prepare(item)
    except FormulaError as error:
        raise RequestError(400, str(error.problems[0]), where=f"{where}.formula", problems=error.problems) from error
    except FormalimgError as error:
        raise RequestError(400, str(error), where=where) from error


def _parse_image(field: _ImageField) -> ImageLike:
    value, where = field.value, field.where
    forms = [key for key in _IMAGE_PARSERS if isinstance(value, dict) and key in value]
    if len(forms) != 1 or len(value) != 1:
        raise RequestError(400, f"send an object with one of {', '.join(_IMAGE_PARSERS)}", where=where)
    return _IMAGE_PARSERS[forms[0]](field._replace(value=value[forms[0]], where=f"{where}.{forms[0]}"))


def _parse_base64(field: _ImageField) -> ImageLike:
    try:
        return base64.b64decode(_require_text(field), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(400, "this is not base64", where=field.where) from error


def _parse_path(field: _ImageField) -> ImageLike:
    path = _require_text(field)
    if field.root is None:
        raise RequestError(403, "this server reads no files: it was started without --root", where=field.where)
    try:
        field.root.resolve(path)
    except OutsideRootError as error:
        raise RequestError(403, str(error), where=field.where) from error
    # Read when it is scored: a small request may name more than there is memory for.
    return partial(field.root.read, path, field.max_bytes)


def _parse_scene(field: _ImageField) -> ImageLike:
    if not isinstance(field.value, dict):
        raise RequestError(400, 'send a scene, as in {"objects": [{"label", "color", "box_2d"}]}', where=field.where)
    if len(field.body.text) > MAX_WORD and _has_long_word(field.value):
        message = f"a word of the scene has more than {MAX_WORD} characters: choose a shorter one"
        raise RequestError(400, message, where=field.where)
    return field.value


def _has_long_word(scene: Mapping[str, object]) -> bool:
    """Return whether a label or attribute is so long that reasons, which quote it for each clause, would be huge."""
    objects = scene.get("objects")
    values: list[object] = [scene.get("style")]
    for found in objects if isinstance(objects, list) else ():
        if isinstance(found, dict):
            for value in found.values():
                if isinstance(value, str):
                    values.append(value)
                elif isinstance(value, list) and value and isinstance(value[0], str):  # states
                    values.extend(value)
    return any(isinstance(value, str) and len(value) > MAX_WORD for value in values)


def _parse_file(field: _ImageField) -> ImageLike:
    name = _require_text(field)
    if name not in field.body.files:
        message = f"there is no part {name[:40]!r}: send the image as such a file of a multipart request"
        raise RequestError(400, message, where=field.where)
    return field.body.files[name]


def _require_text(field: _ImageField) -> str:
    if not isinstance(field.value, str):
        raise RequestError(400, "send a text", where=field.where)
    return field.value


_IMAGE_PARSERS: Mapping[str, Callable[[_ImageField], ImageLike]] = {
    "base64": _parse_base64,
    "path": _parse_path,
    "scene": _parse_scene,
    "file": _parse_file,
}
"""The parser of each form of an image."""
