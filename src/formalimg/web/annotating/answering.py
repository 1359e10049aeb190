"""What raters send: each answer by itself, and that an image is finished. Sent twice, it is kept once."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from formalimg.human_eval import AnswerError, OtherAnswersError, Study
from formalimg.web.annotating.blinding import told_to_raters
from formalimg.web.annotating.raters import rater_of
from formalimg.web.bodies import Body, text_in

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
