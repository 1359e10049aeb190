"""Human ratings in the browser: one page per rater, and a progress page for the organiser of the study."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from formalimg._util.images import png_bytes
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.protocol import PREFERENCES, AnswerError, OtherAnswersError, RatingStep, instructions_for
from formalimg.human_eval.records import StudyRecord, read_study, summarize_raters
from formalimg.human_eval.study import RatingTask, Study
from formalimg.human_eval.study_export import export_files
from formalimg.logic.vocabulary import vocabulary
from formalimg.runs.inspection import inspect
from formalimg.scenes.scene import Scene
from formalimg.types import Unscored
from formalimg.web.json_body import Body, json_endpoint, require_text
from formalimg.web.rendering import page
from formalimg.web.server import ServerLocation, build_app, serve_app

_LIKERT_POINT = re.compile(r"(?<!\S)([1-5]): (.*?)\.?(?=\s[1-5]: |$)", re.DOTALL)  # as in the criteria of a step
_CACHE_ONE_DAY = {"Cache-Control": "private, max-age=86400, immutable"}
_MAX_NAME_LENGTH = 200
_COMPRESS_LEVEL = 3  # of PNG, from 0 to 9: low, as raters wait for it
_EXPORT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
_decoding = BoundedSemaphore(2)  # decoding a large image takes hundreds of megabytes


def create_annotation_app(study: Study, *, token: str | None) -> Starlette:
    """Build the ASGI application of a rating study.

    Raters enter at `/rate/` with the secret part of their link, which is all they need. Everything else is for the
    organiser of the study.
    """
    pages = _StudyPages(study)
    public = ("/rate/", "/static/")
    return build_app(pages.routes(), token=token, command="formalimg annotate", public_prefixes=public)


def serve_study(
    study: Study,
    links: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = True,
    on_ready: Callable[[str, Mapping[str, str]], None],
) -> None:
    """Collect ratings for a study until interrupted."""

    def on_listening(location: ServerLocation) -> None:
        rater_urls = {rater: location.url(f"/rate/{link}", secret=False) for rater, link in links.items()}
        on_ready(location.url(), rater_urls)

    serve_app(
        lambda token: create_annotation_app(study, token=token),
        host=host,
        port=port,
        open_browser=open_browser,
        on_listening=on_listening,
        always_token=True,
    )


class _StudyPages:
    """The pages and endpoints of a study."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def routes(self) -> list[Route]:
        rater = "/rate/{link}"
        return [
            Route("/", self._progress_page),
            Route("/export/{name}", self._export_file),
            Route(rater, _rater_endpoint(self._rater_page)),
            Route(f"{rater}/image/{{token}}", _rater_endpoint(self._image)),
            Route(f"{rater}/instructions", _rater_endpoint(self._instructions_page)),
            Route(f"{rater}/start", self._action(self._start), methods=["POST"]),
            Route(f"{rater}/back", self._action(self._go_back), methods=["POST"]),
            Route(f"{rater}/answer", self._action(self._store_answer), methods=["POST"]),
            Route(f"{rater}/finish", self._action(self._finish), methods=["POST"]),
            Route(f"{rater}/later", self._action(self._postpone), methods=["POST"]),
            Route("/rate/{rest:path}", _rater_endpoint(_no_page)),
        ]

    # --- organiser

    def _progress_page(self, _request: Request) -> Response:
        study = self._study
        record = read_study(study.folder)
        summaries = summarize_raters(record)
        last = {progress.rater: progress.last for progress in study.progress()}
        return page(
            "rating-progress.html",
            name=study.folder.resolve().name,
            manifest=study.manifest,
            rows=[{"summary": summary, "last": last[summary.rater]} for summary in summaries],
            finished=sum(summary.finished for summary in summaries),
            of=sum(summary.of for summary in summaries),
            checks=any(task.is_check for task in record.tasks),
            files=list(_files(record)),
        )

    def _export_file(self, request: Request) -> Response:
        name = request.path_params["name"]
        texts = _files(read_study(self._study.folder))
        if name not in texts:
            raise HTTPException(404, "there is no such file, or no rater has finished an image yet")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        media_type = _EXPORT_TYPES[name.rpartition(".")[2]]
        return Response(texts[name].encode("utf-8", "replace"), media_type=media_type, headers=headers)

    # --- pages of raters

    def _rater(self, request: Request) -> str:
        """Return the rater whose link is in the URL."""
        try:
            with hide_study_errors():
                return self._study.rater_of(request.path_params["link"])
        except AnswerError as error:
            raise HTTPException(404, str(error)) from error

    def _rater_page(self, request: Request) -> Response:
        """Return the instructions, the current task, or a closing page."""
        study, rater, here = self._study, self._rater(request), f"/rate/{request.path_params['link']}"
        with hide_study_errors():
            if not study.has_started(rater):
                return self._instructions(request, is_first=True)
            task = study.next_task(rater)
            if task is None:
                code, url = study.completion_code(rater), study.manifest.completion_url
                return page("rating-done.html", here=here, code=code, url=url)
        return page(
            "rating.html",
            here=here,
            task=task,
            has_instructions=study.manifest.instructions,
            steps=[_step_values(step, task) for step in task.steps],
            protocol=study.manifest.protocol,
            scene=json.dumps(task.answers.get("boxes") or task.grounded or {"objects": []}),
            words=_label_choices(study.manifest.suite, task) if study.manifest.protocol == "boxes" else {},
        )

    def _instructions_page(self, request: Request) -> Response:
        self._rater(request)
        return self._instructions(request, is_first=False)

    def _instructions(self, request: Request, *, is_first: bool) -> Response:
        manifest = self._study.manifest
        return page(
            "rating-instructions.html",
            here=f"/rate/{request.path_params['link']}",
            is_first=is_first,
            told=instructions_for(manifest.protocol, manifest.suite),
            protocol=manifest.protocol,
            has_checks=bool(manifest.checks),
            as_json=json.dumps,
        )

    def _image(self, request: Request) -> Response:
        rater = self._rater(request)
        try:
            with hide_study_errors():
                data = strip_metadata(self._study.image(rater, request.path_params["token"]))
        except AnswerError as error:
            raise HTTPException(404, str(error)) from error
        return Response(data, media_type="image/png", headers=_CACHE_ONE_DAY)

    # --- actions of raters, each stored on disk before the response

    def _action(self, work: Callable[[str, Body], dict[str, object]]) -> Callable[[Request], Awaitable[Response]]:
        def respond(request: Request, body: Body) -> Response:
            rater = self._rater(request)
            try:
                with hide_study_errors():
                    return JSONResponse(work(rater, body))
            except OtherAnswersError as error:
                return JSONResponse({"error": str(error), "moved_on": True, "differs": True}, 409)
            except AnswerError as error:
                return self._refuse(rater, body, error)

        return json_endpoint(respond)

    def _refuse(self, rater: str, body: Body, error: AnswerError) -> Response:
        """Report why an answer was not stored, and whether the rater has moved on, for example in a second window."""
        with hide_study_errors():
            task = self._study.next_task(rater)
        is_at_task = task is not None and task.id == (body.get("task") or "")
        final_steps = [step.name for step in task.steps if step.once and step.name in task.answers] if task else []
        message = str(error).encode("utf-8", "replace").decode()  # it may quote lone surrogates
        return JSONResponse({"error": message, "moved_on": not is_at_task or body.get("step") in final_steps}, 409)

    def _store_answer(self, rater: str, body: Body) -> dict[str, object]:
        task, step, key = (require_text(body, name, max_length=_MAX_NAME_LENGTH) for name in ("task", "step", "key"))
        value, seconds = body.get("value"), body.get("seconds")
        if not isinstance(value, bool | int | float | dict) and value not in (CANNOT_TELL, *PREFERENCES):
            raise HTTPException(
                400, "value is missing: send true, false, a number, left, right, tie, cannot tell, or boxes"
            )
        if not isinstance(seconds, int | float) or isinstance(seconds, bool):
            raise HTTPException(400, "seconds is missing: send a number")
        self._study.answer(rater, task, step, value, seconds, key)
        return {"kept": key}

    def _finish(self, rater: str, body: Body) -> dict[str, object]:
        task, answers = require_text(body, "task", max_length=_MAX_NAME_LENGTH), body.get("answers")
        if answers is not None and not isinstance(answers, dict):
            raise HTTPException(400, "answers is not an object: send answers by the names of their steps")
        self._study.finish(rater, task, answers)
        return {"finished": task}

    def _postpone(self, rater: str, body: Body) -> dict[str, object]:
        task = require_text(body, "task", max_length=_MAX_NAME_LENGTH)
        self._study.put_off(rater, task)
        return {"put_off": task}

    def _start(self, rater: str, _body: Body) -> dict[str, object]:
        self._study.start(rater)
        return {"started": True}

    def _go_back(self, rater: str, body: Body) -> dict[str, object]:
        is_named = body.get("task") is not None
        self._study.go_back(rater, require_text(body, "task", max_length=_MAX_NAME_LENGTH) if is_named else None)
        return {"back": True}


def _rater_endpoint(show: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Return an endpoint whose error pages have no links to the organiser's pages."""

    def respond(request: Request) -> Response:
        try:
            return show(request)
        except HTTPException as error:
            return page("rating-error.html", error.status_code, message=error.detail)

    return respond


def _no_page(_request: Request) -> Response:
    raise HTTPException(404, "there is no such page: open the link that you were sent")


def _files(record: StudyRecord) -> dict[str, str]:
    try:
        return export_files(record)
    except FormalimgError:  # no rater has finished anything yet
        return {}


def _step_values(step: RatingStep, task: RatingTask) -> dict[str, object]:
    answer = json.dumps(task.answers[step.name]) if step.name in task.answers else ""
    points = _LIKERT_POINT.findall(step.criteria) if step.kind == "likert" else []
    return {
        "step": step,
        "answer": answer,
        "is_closed": step.once and bool(answer),
        "points": points,  # the meaning of each point
        "criteria": "" if points else step.criteria,
    }


def _label_choices(suite: str, task: RatingTask) -> dict[str, list[str]]:
    """Return the available classes and colours, including those that the grounder used for this task."""
    try:
        words = vocabulary(suite_of(suite).vocabulary).words
    except FormalimgError:
        words = {}
    objects = Scene.from_json(task.grounded).objects if task.grounded else ()
    classes = dict.fromkeys([*words.get("class", ()), *(obj.label for obj in objects)])
    colours = dict.fromkeys([*words.get("color", ()), *(obj.color for obj in objects if obj.color), "other"])
    return {"class": list(classes), "color": list(colours)}


def strip_metadata(data: bytes) -> bytes:
    """Return an image as judges see it, as PNG without metadata, in which models write their names and prompts."""
    with _decoding:
        image = inspect(data)
        if isinstance(image, Unscored):
            raise FormalimgError(f"an image cannot be shown to raters: {image.detail}")
        pixels = image.pil.copy()
        pixels.info.clear()  # colour profiles too: judges ignore them
        return png_bytes(pixels, compress_level=_COMPRESS_LEVEL)


@contextmanager
def hide_study_errors() -> Iterator[None]:
    """Replace study errors with a neutral one, as paths in their messages could reveal model names."""
    try:
        yield
    except AnswerError:
        raise
    except FormalimgError as error:
        logging.getLogger(__name__).error("a rater could not continue: %s", error)
        raise HTTPException(
            503, "something is wrong with the study: tell whoever sent you the link, and come back later"
        ) from error
