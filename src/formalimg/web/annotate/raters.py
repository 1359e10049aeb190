"""What raters see: one image at a time, and what is asked about it."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from formalimg.errors import FormalimgError
from formalimg.human_eval import AnswerError, OtherAnswersError, RatingStep, RatingTask, Study
from formalimg.judges import Unscored
from formalimg.logic import vocabulary
from formalimg.runs import inspect
from formalimg.scenes import Scene
from formalimg.web.rendering import page
from formalimg.web.security import Body, text_in

_POINT = re.compile(r"(?<!\S)([1-5]): (.*?)\.?(?=\s[1-5]: |$)", re.DOTALL)
"""What one of five points stands for, as the criteria of a step say it."""

_FOR_A_WHILE = {"Cache-Control": "private, max-age=86400, immutable"}


class _Asked(NamedTuple):
    """A step as it is shown.

    Attributes:
        step: what is asked.
        answer: what the rater has said so far, as JSON; empty if nothing.
        is_closed: it is answered for good.
        points: what each of five points stands for, if that is asked.
        criteria: which answer is for what, where it is not said point by point.
    """

    step: RatingStep
    answer: str
    is_closed: bool
    points: tuple[tuple[str, str], ...]
    criteria: str


def rater_of(study: Study, request: Request) -> str:
    """The rater whose link it is.

    Raises:
        HTTPException: if it is nobody's.
    """
    try:
        with told_to_raters():
            return study.rater_of(request.path_params["link"])
    except AnswerError as error:
        raise HTTPException(404, str(error)) from error


def rater_page(study: Study, request: Request) -> Response:
    """The page of a rater: what is asked now, or thanks."""
    rater = rater_of(study, request)
    with told_to_raters():
        task = study.next_task(rater)
    if task is None:
        return page("rating-done.html")
    return page(
        "rating.html",
        here=f"/rate/{request.path_params['link']}",
        task=task,
        asked=[_asked(step, task) for step in task.steps],
        protocol=study.manifest.protocol,
        scene=json.dumps(task.answers.get("boxes") or task.grounded or {"objects": []}),
        words=_words(study.manifest.suite, task) if study.manifest.protocol == "boxes" else {},
    )


def rater_image(study: Study, request: Request) -> Response:
    """One of the rater's images, its pixels only."""
    rater = rater_of(study, request)
    try:
        with told_to_raters():
            data = bare_image(study.image(rater, request.path_params["token"]))
    except AnswerError as error:
        raise HTTPException(404, str(error)) from error
    return Response(data, media_type="image/png", headers=_FOR_A_WHILE)


def nowhere_page(_study: Study, _request: Request) -> Response:
    """What is said below `/rate/` where there is nothing."""
    raise HTTPException(404, "there is no such page: open the link that you were sent")


def told_on_a_page(error: HTTPException) -> Response:
    """A mistake, told to a rater: without a way to pages that are none of a rater's."""
    return page("rating-error.html", error.status_code, words=error.detail)


def _asked(step: RatingStep, task: RatingTask) -> _Asked:
    given = json.dumps(task.answers[step.name]) if step.name in task.answers else ""
    points = tuple(_POINT.findall(step.criteria)) if step.kind == "likert" else ()
    return _Asked(step, given, step.once and bool(given), points, "" if points else step.criteria)


def _words(suite: str, task: RatingTask) -> dict[str, list[str]]:
    """The classes and colours to choose from, with those that a grounder used here."""
    try:
        known = vocabulary(suite).words
    except FormalimgError:
        known = {}
    seen = Scene.from_json(task.grounded).objects if task.grounded else ()
    classes = dict.fromkeys([*known.get("class", ()), *(obj.label for obj in seen)])
    colours = dict.fromkeys([*known.get("color", ()), *(obj.color for obj in seen if obj.color), "other"])
    return {"class": list(classes), "color": list(colours)}


_LONGEST_NAME = 200


def keep_answer(study: Study, request: Request, body: Body) -> Response:
    """Keep an answer; it is on the disk when this is confirmed."""
    rater = rater_of(study, request)
    task, step, key = (text_in(body, name, longest=_LONGEST_NAME) for name in ("task", "step", "key"))
    value, seconds = body.get("value"), body.get("seconds")
    if not isinstance(value, bool | int | float | dict):
        raise HTTPException(400, "value is missing: send true, false, a number, or boxes")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise HTTPException(400, "seconds is missing: send a number")
    try:
        with told_to_raters():
            study.answer(rater, task, step, value, seconds, key)
    except AnswerError as error:
        return _refused(study, rater, task, error, step)
    return JSONResponse({"kept": key})


def keep_finished(study: Study, request: Request, body: Body) -> Response:
    """Finish the rater's current task, if the answers that count are those in sight."""
    rater = rater_of(study, request)
    task = text_in(body, "task", longest=_LONGEST_NAME)
    seen = body.get("answers")
    if seen is not None and not isinstance(seen, dict):
        raise HTTPException(400, "answers are none: send them by the names of their steps")
    try:
        with told_to_raters():
            study.finish(rater, task, seen)
    except OtherAnswersError as error:
        return JSONResponse({"error": str(error), "moved_on": True, "differs": True}, 409)
    except AnswerError as error:
        return _refused(study, rater, task, error)
    return JSONResponse({"finished": task})


def put_off(study: Study, request: Request, body: Body) -> Response:
    """Let the rater go on with the next image, because this one cannot be shown."""
    rater = rater_of(study, request)
    task = text_in(body, "task", longest=_LONGEST_NAME)
    try:
        with told_to_raters():
            study.put_off(rater, task)
    except AnswerError as error:
        return _refused(study, rater, task, error)
    return JSONResponse({"put_off": task})


def _refused(study: Study, rater: str, task: str, error: AnswerError, step: str = "") -> Response:
    """Why nothing was kept, and whether the rater is further on by now, as with two windows or a second click."""
    with told_to_raters():
        current = study.next_task(rater)
    at_task = current is not None and current.id == task
    closed = [it.name for it in current.steps if it.once and it.name in current.answers] if current else []
    words = str(error).encode("utf-8", "replace").decode()  # it may quote halves of characters
    return JSONResponse({"error": words, "moved_on": not at_task or step in closed}, 409)


_QUICKLY = 3
"""How hard PNG files are pressed, of 9: people wait for them, and they go a short way."""

_decoding = BoundedSemaphore(2)
"""A large image takes hundreds of megabytes while it is decoded: not all at once."""


def bare_image(data: bytes) -> bytes:
    """The pixels of an image and nothing else, as PNG.

    Image models write their names and prompts into their files, and not all give the same kind of file. What is left is
    what judges see: upright, in RGB, transparent parts on white.

    Raises:
        FormalimgError: if the image cannot be decoded.
    """
    with _decoding:
        image = inspect(data)
        if isinstance(image, Unscored):
            raise FormalimgError(f"an image cannot be shown to raters: {image.detail}")
        bare = image.pil.copy()
        bare.info.clear()  # colour profiles too: no reader of ours minds them
        file = io.BytesIO()
        bare.save(file, "PNG", compress_level=_QUICKLY)
    return file.getvalue()


@contextmanager
def told_to_raters() -> Iterator[None]:
    """Failures of the study itself name folders, and folders name models: only the organiser gets to read them."""
    try:
        yield
    except AnswerError:
        raise
    except FormalimgError as error:
        logging.getLogger(__name__).error("a rater could not go on: %s", error)
        raise HTTPException(
            503, "something is wrong with the study: tell whoever sent you the link, and come back later"
        ) from error
