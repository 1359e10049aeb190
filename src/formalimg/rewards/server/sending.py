"""What a client sends: images as files of a multipart request, scenes and tasks as JSON."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Unscored
from formalimg.logic import Formula
from formalimg.rewards import ImageLike, Scored, TaskLike, image_in, scene_in
from formalimg.suites import FormulaSpec, Item


class Letter(NamedTuple):
    """A request, ready to be sent: its content type, and its body."""

    content_type: str
    body: bytes


def letter(pairs: Sequence[tuple[Mapping[str, Any] | bytes, Mapping[str, Any]]], *, parts: bool = True) -> Letter:
    """The request for the rewards of these scenes (mappings) and images (bytes), each with what it is to show.

    Without parts, the server leaves them out, and their reasons.
    """
    files = {f"image{place}": shown for place, (shown, _) in enumerate(pairs) if isinstance(shown, bytes)}
    images = [
        {"file": f"image{place}"} if isinstance(shown, bytes) else {"scene": shown}
        for place, (shown, _) in enumerate(pairs)
    ]
    request = {"items": [item for _, item in pairs], "images": images, **({} if parts else {"parts": False})}
    try:
        text = json.dumps(request, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise FormalimgError(f"what was given cannot be sent as JSON: {error}") from error
    if not files:
        return Letter("application/json", text)
    boundary = secrets.token_hex(24)
    written = [
        _part(boundary, "request", text, ""),
        *(_part(boundary, name, data, name) for name, data in files.items()),
    ]
    return Letter(f"multipart/form-data; boundary={boundary}", b"".join((*written, f"--{boundary}--\r\n".encode())))


def _part(boundary: str, name: str, data: bytes, filename: str) -> bytes:
    named = f'; filename="{filename}"' if filename else ""
    kind = "application/octet-stream" if filename else "application/json"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{named}\r\nContent-Type: {kind}\r\n\r\n'
    return b"".join((head.encode("ascii"), data, b"\r\n"))


def shown(image: ImageLike) -> Mapping[str, Any] | bytes | Scored:
    """An image as it is sent: its file, or the scene in it; the reward, where there is no image to be had.

    Scenes are read first: they may hold arrays, or what nobody can read, and JSON knows neither.
    """
    seen = scene_in(image)
    if isinstance(seen, Unscored):
        return Scored.missing(seen)
    if seen is not None:
        return {**seen.scene.to_json(), **({"style": seen.style} if seen.style is not None else {})}
    found = image_in(image)
    return Scored.missing(found) if isinstance(found, Unscored) else found.data


def asked(task: TaskLike) -> Mapping[str, Any]:
    """What an image is to show, as it is sent.

    Raises:
        FormalimgError: if it cannot be sent, so that the server would understand the same.
    """
    if isinstance(task, Mapping):
        return task
    if isinstance(task, str | Formula):
        return {"formula": str(task)}
    if isinstance(task, Item) and task.suite == "knolling" and isinstance(task.spec, FormulaSpec):
        # Not by its id, under which the server may know another item: only the formula decides.
        return {"formula": str(task.spec.formula), "vocabulary": "knolling"}
    match task:
        case (str(suite), str() | int() as number):
            return {"suite": suite, "id": str(number)}
    raise FormalimgError(
        f"a {type(task).__name__} cannot be sent to a server: give suite and id, a formula, or words and questions"
    )
