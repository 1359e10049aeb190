"""From what was sent to images and what each is to show; mistakes are told with the place where they stand."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.logic import FormulaError
from formalimg.rewards import ImageLike, Scorer, Task
from formalimg.rewards.server.bodies import Sent, object_in
from formalimg.rewards.server.limits import Limits
from formalimg.rewards.server.refusing import RefusedError
from formalimg.rewards.server.roots import OutsideError, Root

_KEYS = ("items", "images", "parts")


class Asked(NamedTuple):
    """What one image of a request is asked for.

    Attributes:
        image: the image, or the scene in it.
        task: what it is to show.
    """

    image: ImageLike
    task: Task


class Order(NamedTuple):
    """What a request asks for, image by image, and whether parts and reasons are to be told."""

    asked: list[Asked]
    parts: bool


class _Reading(NamedTuple):
    """An image as it was sent, and what it may refer to."""

    value: Any
    where: str
    sent: Sent
    root: Root | None
    most: int


def read_asked(sent: Sent, scorer: Scorer, limits: Limits, root: Root | None = None) -> Order:
    """What a request asks for.

    Args:
        sent: the request.
        scorer: makes ready what images are scored by.
        limits: how many there may be.
        root: where images may lie that are named by their paths; None for nowhere.

    Raises:
        RefusedError: if something is wrong with it.
    """
    request = object_in(sent.text)
    strange = next((key for key in request if key not in _KEYS), None)
    if strange is not None:
        raise RefusedError(400, f"{strange[:40]!r} is not known: known are {', '.join(_KEYS)}")
    items = _list(request.get("items"), "items", limits)
    if "images" in request:
        images = _list(request["images"], "images", limits)
    else:
        images = [{"file": f"image{number}"} for number in range(len(items))]
    if len(images) != len(items):
        raise RefusedError(400, f"{len(items):,} items and {len(images):,} images: send one image for each item")
    parts = request.get("parts", True)
    if not isinstance(parts, bool):
        raise RefusedError(400, "send true or false", where="parts")
    tasks = [_task(item, f"items[{number}]", scorer) for number, item in enumerate(items)]
    read = [_Reading(image, f"images[{number}]", sent, root, limits.most_bytes) for number, image in enumerate(images)]
    asked = [Asked(_image(reading), task) for reading, task in zip(read, tasks, strict=True)]
    for number, (image, task) in enumerate(asked):
        if isinstance(image, Mapping) and task.formula is None:
            words = "a scene can be scored by a formula only: send an image"
            raise RefusedError(400, words, where=f"images[{number}].scene")
    return Order(asked, parts)


def _list(value: object, where: str, limits: Limits) -> list[object]:
    if not isinstance(value, list) or not value:
        raise RefusedError(400, f"send a list of {where}, one for each image", where=where)
    if len(value) > limits.most_items:
        raise RefusedError(
            413, f"these are {len(value):,}: send no more than {limits.most_items:,} at once", where=where
        )
    return value


def _task(item: object, where: str, scorer: Scorer) -> Task:
    if not isinstance(item, dict):
        raise RefusedError(400, 'send an object, such as {"suite": …, "id": …}', where=where)
    try:
        return scorer.ready(item)
    except FormulaError as error:
        raise RefusedError(400, str(error.problems[0]), where=f"{where}.formula", problems=error.problems) from error
    except FormalimgError as error:
        raise RefusedError(400, str(error), where=where) from error


def _image(reading: _Reading) -> ImageLike:
    value, where = reading.value, reading.where
    told = [key for key in _READERS if isinstance(value, dict) and key in value]
    if len(told) != 1 or len(value) != 1:
        raise RefusedError(400, f"send an object with one of {', '.join(_READERS)}", where=where)
    return _READERS[told[0]](reading._replace(value=value[told[0]], where=f"{where}.{told[0]}"))


def _base64(reading: _Reading) -> ImageLike:
    try:
        return base64.b64decode(_text(reading), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RefusedError(400, "this is no base64", where=reading.where) from error


def _path(reading: _Reading) -> ImageLike:
    path = _text(reading)
    if reading.root is None:
        raise RefusedError(403, "this server reads no files: it was started without --root", where=reading.where)
    try:
        reading.root.place(path)
    except OutsideError as error:
        raise RefusedError(403, str(error), where=reading.where) from error
    # Read when its turn has come: a small request may name more than there is memory for.
    return partial(reading.root.read, path, reading.most)


def _scene(reading: _Reading) -> ImageLike:
    if not isinstance(reading.value, dict):
        raise RefusedError(400, 'send a scene, as in {"objects": [{"label", "color", "box_2d"}]}', where=reading.where)
    return reading.value


def _file(reading: _Reading) -> ImageLike:
    name = _text(reading)
    if name not in reading.sent.files:
        words = f"there is no part {name[:40]!r}: send the image as such a file of a multipart request"
        raise RefusedError(400, words, where=reading.where)
    return reading.sent.files[name]


def _text(reading: _Reading) -> str:
    if not isinstance(reading.value, str):
        raise RefusedError(400, "send a text", where=reading.where)
    return reading.value


_READERS: Mapping[str, Callable[[_Reading], ImageLike]] = {
    "base64": _base64,
    "path": _path,
    "scene": _scene,
    "file": _file,
}
"""How each form of an image is read."""
