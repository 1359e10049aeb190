"""What raters see: one image at a time, and what is asked about it."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.errors import FormalimgError
from formalimg.human_eval import AnswerError, Step, Study, Task
from formalimg.logic import vocabulary
from formalimg.scenes import Scene
from formalimg.web.annotating.blinding import bare_image, told_to_raters
from formalimg.web.pages import page

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

    step: Step
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


def _asked(step: Step, task: Task) -> _Asked:
    given = json.dumps(task.answers[step.name]) if step.name in task.answers else ""
    points = tuple(_POINT.findall(step.criteria)) if step.kind == "likert" else ()
    return _Asked(step, given, step.once and bool(given), points, "" if points else step.criteria)


def _words(suite: str, task: Task) -> dict[str, list[str]]:
    """The classes and colours to choose from, with those that a grounder used here."""
    try:
        known = vocabulary(suite).words
    except FormalimgError:
        known = {}
    seen = Scene.from_json(task.grounded).objects if task.grounded else ()
    classes = dict.fromkeys([*known.get("class", ()), *(obj.label for obj in seen)])
    colours = dict.fromkeys([*known.get("color", ()), *(obj.color for obj in seen if obj.color), "other"])
    return {"class": list(classes), "color": list(colours)}
