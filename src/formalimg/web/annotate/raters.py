"""Pages for raters: one image at a time with its rating steps, and the endpoints that store answers."""

from __future__ import annotations

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

from formalimg._util.images import png_bytes
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.protocol import PREFERENCES, AnswerError, OtherAnswersError, RatingStep, instructions_for
from formalimg.human_eval.study import RatingTask, Study
from formalimg.logic.vocabulary import vocabulary
from formalimg.runs.inspection import inspect
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from formalimg.web.json_body import Body, require_text
from formalimg.web.rendering import page

_LIKERT_POINT = re.compile(r"(?<!\S)([1-5]): (.*?)\.?(?=\s[1-5]: |$)", re.DOTALL)
"""The meaning of one of five points, as the criteria of a step list it."""

_CACHE_ONE_DAY = {"Cache-Control": "private, max-age=86400, immutable"}


class _ShownStep(NamedTuple):
    """A rating step as shown to raters."""

    step: RatingStep  # the step
    answer: str  # the rater's answer so far, as JSON; empty if there is none
    is_closed: bool  # whether the answer is final
    points: tuple[tuple[str, str], ...]  # the meaning of each of five points, for Likert steps
    criteria: str  # other criteria, where they are not listed by point


def require_rater(study: Study, request: Request) -> str:
    """Return the rater whose link is in the URL."""
    try:
        with hide_study_errors():
            return study.rater_of(request.path_params["link"])
    except AnswerError as error:
        raise HTTPException(404, str(error)) from error


def rater_page(study: Study, request: Request) -> Response:
    """Return the page of a rater: the instructions, the current task, or a closing page."""
    rater = require_rater(study, request)
    here = f"/rate/{request.path_params['link']}"
    with hide_study_errors():
        if not study.has_started(rater):
            return _instructions(study, here, is_first=True)
        task = study.next_task(rater)
        if task is None:
            code, url = study.completion_code(rater), study.manifest.completion_url
            return page("rating-done.html", here=here, code=code, url=url)
    return page(
        "rating.html",
        here=here,
        task=task,
        has_instructions=study.manifest.instructions,
        steps=[_shown_step(step, task) for step in task.steps],
        protocol=study.manifest.protocol,
        scene=json.dumps(task.answers.get("boxes") or task.grounded or {"objects": []}),
        words=_label_choices(study.manifest.suite, task) if study.manifest.protocol == "boxes" else {},
    )


def instructions_page(study: Study, request: Request) -> Response:
    """Return the page with the rating instructions."""
    require_rater(study, request)
    return _instructions(study, f"/rate/{request.path_params['link']}", is_first=False)


def _instructions(study: Study, here: str, *, is_first: bool) -> Response:
    manifest = study.manifest
    return page(
        "rating-instructions.html",
        here=here,
        is_first=is_first,
        told=instructions_for(manifest.protocol, manifest.suite),
        protocol=manifest.protocol,
        has_checks=bool(manifest.checks),
        as_json=json.dumps,
    )


def rater_image(study: Study, request: Request) -> Response:
    """Return one of the rater's images, without metadata."""
    rater = require_rater(study, request)
    try:
        with hide_study_errors():
            data = strip_metadata(study.image(rater, request.path_params["token"]))
    except AnswerError as error:
        raise HTTPException(404, str(error)) from error
    return Response(data, media_type="image/png", headers=_CACHE_ONE_DAY)


def unknown_rater_page(_study: Study, _request: Request) -> Response:
    """Respond to unknown paths below `/rate/`."""
    raise HTTPException(404, "there is no such page: open the link that you were sent")


def rater_error_page(error: HTTPException) -> Response:
    """Return an error page for raters, without links to the organiser's pages."""
    return page("rating-error.html", error.status_code, message=error.detail)


def _shown_step(step: RatingStep, task: RatingTask) -> _ShownStep:
    answer = json.dumps(task.answers[step.name]) if step.name in task.answers else ""
    points = tuple(_LIKERT_POINT.findall(step.criteria)) if step.kind == "likert" else ()
    return _ShownStep(step, answer, step.once and bool(answer), points, "" if points else step.criteria)


def _label_choices(suite: str, task: RatingTask) -> dict[str, list[str]]:
    """Return the available classes and colours, including those that the grounder used for this task."""
    try:
        known = vocabulary(suite_of(suite).vocabulary).words
    except FormalimgError:
        known = {}
    seen = Scene.from_json(task.grounded).objects if task.grounded else ()
    classes = dict.fromkeys([*known.get("class", ()), *(obj.label for obj in seen)])
    colours = dict.fromkeys([*known.get("color", ()), *(obj.color for obj in seen if obj.color), "other"])
    return {"class": list(classes), "color": list(colours)}


_MAX_NAME_LENGTH = 200


def store_answer(study: Study, request: Request, body: Body) -> Response:
    """Store an answer on disk before responding."""
    rater = require_rater(study, request)
    task, step, key = (require_text(body, name, max_length=_MAX_NAME_LENGTH) for name in ("task", "step", "key"))
    value, seconds = body.get("value"), body.get("seconds")
    if not isinstance(value, bool | int | float | dict) and value not in (CANNOT_TELL, *PREFERENCES):
        raise HTTPException(
            400, "value is missing: send true, false, a number, left, right, tie, cannot tell, or boxes"
        )
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise HTTPException(400, "seconds is missing: send a number")
    try:
        with hide_study_errors():
            study.answer(rater, task, step, value, seconds, key)
    except AnswerError as error:
        return _refused(study, rater, task, error, step)
    return JSONResponse({"kept": key})


def finish_task(study: Study, request: Request, body: Body) -> Response:
    """Finish the rater's current task if the stored answers match those on the page."""
    rater = require_rater(study, request)
    task = require_text(body, "task", max_length=_MAX_NAME_LENGTH)
    answers = body.get("answers")
    if answers is not None and not isinstance(answers, dict):
        raise HTTPException(400, "answers is not an object: send answers by the names of their steps")
    try:
        with hide_study_errors():
            study.finish(rater, task, answers)
    except OtherAnswersError as error:
        return JSONResponse({"error": str(error), "moved_on": True, "differs": True}, 409)
    except AnswerError as error:
        return _refused(study, rater, task, error)
    return JSONResponse({"finished": task})


def postpone_task(study: Study, request: Request, body: Body) -> Response:
    """Move the rater on to the next image if the current one cannot be shown."""
    rater = require_rater(study, request)
    task = require_text(body, "task", max_length=_MAX_NAME_LENGTH)
    try:
        with hide_study_errors():
            study.put_off(rater, task)
    except AnswerError as error:
        return _refused(study, rater, task, error)
    return JSONResponse({"put_off": task})


def start_rating(study: Study, request: Request, _body: Body) -> Response:
    """Record that the rater has read the instructions."""
    rater = require_rater(study, request)
    with hide_study_errors():
        study.start(rater)
    return JSONResponse({"started": True})


def return_to_last(study: Study, request: Request, body: Body) -> Response:
    """Go back to the image that the rater finished last."""
    rater = require_rater(study, request)
    task = require_text(body, "task", max_length=_MAX_NAME_LENGTH) if body.get("task") is not None else None
    try:
        with hide_study_errors():
            study.go_back(rater, task)
    except AnswerError as error:
        return _refused(study, rater, task or "", error)
    return JSONResponse({"back": True})


def _refused(study: Study, rater: str, task: str, error: AnswerError, step: str = "") -> Response:
    """Report why an answer was not stored, and whether the rater has moved on, for example in a second window."""
    with hide_study_errors():
        current = study.next_task(rater)
    at_task = current is not None and current.id == task
    closed = [it.name for it in current.steps if it.once and it.name in current.answers] if current else []
    message = str(error).encode("utf-8", "replace").decode()  # it may quote lone surrogates
    return JSONResponse({"error": message, "moved_on": not at_task or step in closed}, 409)


_COMPRESS_LEVEL = 3  # PNG compression, from 0 to 9: low, because raters wait for it
_decoding = BoundedSemaphore(2)  # Decoding a large image takes hundreds of megabytes: at most two at a time


def strip_metadata(data: bytes) -> bytes:
    """Return the pixels of an image as PNG, without metadata.

    Image models write their names and prompts into their files, and file formats differ. What is left is what judges
    see: upright, in RGB, transparent parts on white.
    """
    with _decoding:
        image = inspect(data)
        if isinstance(image, Unscored):
            raise FormalimgError(f"an image cannot be shown to raters: {image.detail}")
        bare = image.pil.copy()
        bare.info.clear()  # colour profiles too: judges ignore them
        return png_bytes(bare, compress_level=_COMPRESS_LEVEL)


@contextmanager
def hide_study_errors() -> Iterator[None]:
    """Replace study errors with a neutral one, as paths in their messages could reveal model names."""
    try:
        yield
    except AnswerError:
        raise
    except FormalimgError as error:
        logging.getLogger(__name__).error("a rater could not go on: %s", error)
        raise HTTPException(
            503, "something is wrong with the study: tell whoever sent you the link, and come back later"
        ) from error
