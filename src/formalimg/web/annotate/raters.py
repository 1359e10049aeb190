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
from formalimg.web.security import Body, require_text

_LIKERT_POINT = re.compile(r"(?<!\S)([1-5]): (.*?)\.?(?=\s[1-5]: |$)", re.DOTALL)
"""What one of five points stands for, as the criteria of a step say it."""

_CACHE_ONE_DAY = {"Cache-Control": "private, max-age=86400, immutable"}


class _ShownStep(NamedTuple):
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


def require_rater(study: Study, request: Request) -> str:
    """The rater whose link it is.

    Raises:
        HTTPException: if it is nobody's.
    """
    try:
        with hide_study_errors():
            return study.rater_of(request.path_params["link"])
    except AnswerError as error:
        raise HTTPException(404, str(error)) from error


def rater_page(study: Study, request: Request) -> Response:
    """The page of a rater: what is asked now, or thanks."""
    rater = require_rater(study, request)
    with hide_study_errors():
        task = study.next_task(rater)
    if task is None:
        return page("rating-done.html")
    return page(
        "rating.html",
        here=f"/rate/{request.path_params['link']}",
        task=task,
        steps=[_shown_step(step, task) for step in task.steps],
        protocol=study.manifest.protocol,
        scene=json.dumps(task.answers.get("boxes") or task.grounded or {"objects": []}),
        words=_label_choices(study.manifest.suite, task) if study.manifest.protocol == "boxes" else {},
    )


def rater_image(study: Study, request: Request) -> Response:
    """One of the rater's images, its pixels only."""
    rater = require_rater(study, request)
    try:
        with hide_study_errors():
            data = strip_metadata(study.image(rater, request.path_params["token"]))
    except AnswerError as error:
        raise HTTPException(404, str(error)) from error
    return Response(data, media_type="image/png", headers=_CACHE_ONE_DAY)


def unknown_rater_page(_study: Study, _request: Request) -> Response:
    """What is said below `/rate/` where there is nothing."""
    raise HTTPException(404, "there is no such page: open the link that you were sent")


def rater_error_page(error: HTTPException) -> Response:
    """A mistake, on_listening to a rater: without a way to pages that are none of a rater's."""
    return page("rating-error.html", error.status_code, words=error.detail)


def _shown_step(step: RatingStep, task: RatingTask) -> _ShownStep:
    given = json.dumps(task.answers[step.name]) if step.name in task.answers else ""
    points = tuple(_LIKERT_POINT.findall(step.criteria)) if step.kind == "likert" else ()
    return _ShownStep(step, given, step.once and bool(given), points, "" if points else step.criteria)


def _label_choices(suite: str, task: RatingTask) -> dict[str, list[str]]:
    """The classes and colours to choose from, with those that a grounder used here."""
    try:
        known = vocabulary(suite).words
    except FormalimgError:
        known = {}
    seen = Scene.from_json(task.grounded).objects if task.grounded else ()
    classes = dict.fromkeys([*known.get("class", ()), *(obj.label for obj in seen)])
    colours = dict.fromkeys([*known.get("color", ()), *(obj.color for obj in seen if obj.color), "other"])
    return {"class": list(classes), "color": list(colours)}


_MAX_NAME_LENGTH = 200


def store_answer(study: Study, request: Request, body: Body) -> Response:
    """Keep an answer; it is on the disk when this is confirmed."""
    rater = require_rater(study, request)
    task, step, key = (require_text(body, name, max_length=_MAX_NAME_LENGTH) for name in ("task", "step", "key"))
    value, seconds = body.get("value"), body.get("seconds")
    if not isinstance(value, bool | int | float | dict):
        raise HTTPException(400, "value is missing: send true, false, a number, or boxes")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise HTTPException(400, "seconds is missing: send a number")
    try:
        with hide_study_errors():
            study.answer(rater, task, step, value, seconds, key)
    except AnswerError as error:
        return _refused(study, rater, task, error, step)
    return JSONResponse({"kept": key})


def finish_task(study: Study, request: Request, body: Body) -> Response:
    """Finish the rater's current task, if the answers that count are those in sight."""
    rater = require_rater(study, request)
    task = require_text(body, "task", max_length=_MAX_NAME_LENGTH)
    seen = body.get("answers")
    if seen is not None and not isinstance(seen, dict):
        raise HTTPException(400, "answers are none: send them by the names of their steps")
    try:
        with hide_study_errors():
            study.finish(rater, task, seen)
    except OtherAnswersError as error:
        return JSONResponse({"error": str(error), "moved_on": True, "differs": True}, 409)
    except AnswerError as error:
        return _refused(study, rater, task, error)
    return JSONResponse({"finished": task})


def postpone_task(study: Study, request: Request, body: Body) -> Response:
    """Let the rater go on with the next image, because this one cannot be shown."""
    rater = require_rater(study, request)
    task = require_text(body, "task", max_length=_MAX_NAME_LENGTH)
    try:
        with hide_study_errors():
            study.put_off(rater, task)
    except AnswerError as error:
        return _refused(study, rater, task, error)
    return JSONResponse({"put_off": task})


def _refused(study: Study, rater: str, task: str, error: AnswerError, step: str = "") -> Response:
    """Why nothing was kept, and whether the rater is further on by now, as with two windows or a second click."""
    with hide_study_errors():
        current = study.next_task(rater)
    at_task = current is not None and current.id == task
    closed = [it.name for it in current.steps if it.once and it.name in current.answers] if current else []
    words = str(error).encode("utf-8", "replace").decode()  # it may quote halves of characters
    return JSONResponse({"error": words, "moved_on": not at_task or step in closed}, 409)


_COMPRESS_LEVEL = 3
"""How hard PNG files are pressed, of 9: people wait for them, and they go a short way."""

_decoding = BoundedSemaphore(2)
"""A large image takes hundreds of megabytes while it is decoded: not all at once."""


def strip_metadata(data: bytes) -> bytes:
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
        bare.save(file, "PNG", compress_level=_COMPRESS_LEVEL)
    return file.getvalue()


@contextmanager
def hide_study_errors() -> Iterator[None]:
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
