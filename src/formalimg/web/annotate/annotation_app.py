"""The annotation site as an ASGI application, `serve_study`, and the organiser's progress page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.study_tables import RaterSummary
from formalimg.human_eval.records import StudyRecord, read_study, summarize_raters
from formalimg.human_eval.study import Study
from formalimg.human_eval.study_export import export_files
from formalimg.web.annotate.raters import (
    finish_task,
    instructions_page,
    postpone_task,
    rater_error_page,
    rater_image,
    rater_page,
    return_to_last,
    start_rating,
    store_answer,
    unknown_rater_page,
)
from formalimg.web.json_body import Body, json_endpoint
from formalimg.web.rendering import page
from formalimg.web.server import ServerLocation, build_app, serve_app


def create_annotation_app(study: Study, *, token: str | None) -> Starlette:
    """Build the ASGI application of a rating study.

    Raters enter at `/rate/` with the secret part of their link, which is all they need. Everything else is for the
    organiser of the study.
    """

    def organiser_page(show: Callable[[Study, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: show(study, request)

    def rater_route(show: Callable[[Study, Request], Response]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                return show(study, request)
            except HTTPException as error:
                return rater_error_page(error)

        return answer

    def with_study(keep: Callable[[Study, Request, Body], Response]) -> Callable[[Request, Body], Response]:
        return lambda request, body: keep(study, request, body)

    routes = [
        Route("/", organiser_page(progress_page), methods=["GET"]),
        Route("/export/{name}", organiser_page(export_file), methods=["GET"]),
        Route("/rate/{link}", rater_route(rater_page), methods=["GET"]),
        Route("/rate/{link}/image/{token}", rater_route(rater_image), methods=["GET"]),
        Route("/rate/{link}/instructions", rater_route(instructions_page), methods=["GET"]),
        Route("/rate/{link}/start", json_endpoint(with_study(start_rating)), methods=["POST"]),
        Route("/rate/{link}/back", json_endpoint(with_study(return_to_last)), methods=["POST"]),
        Route("/rate/{link}/answer", json_endpoint(with_study(store_answer)), methods=["POST"]),
        Route("/rate/{link}/finish", json_endpoint(with_study(finish_task)), methods=["POST"]),
        Route("/rate/{link}/later", json_endpoint(with_study(postpone_task)), methods=["POST"]),
        Route("/rate/{rest:path}", rater_route(unknown_rater_page), methods=["GET"]),
    ]
    return build_app(routes, token=token, command="formalimg annotate", public_prefixes=("/rate/", "/static/"))


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
        on_ready(
            location.url(),
            {rater: location.url(f"/rate/{link}", secret=False) for rater, link in links.items()},
        )

    serve_app(
        lambda token: create_annotation_app(study, token=token),
        host=host,
        port=port,
        open_browser=open_browser,
        on_listening=on_listening,
        always_token=True,
    )


_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class _RaterRow(NamedTuple):
    """The progress of a rater, and the time of the last answer (UTC)."""

    summary: RaterSummary
    last: str


def progress_page(study: Study, _request: Request) -> Response:
    """Return the page with the progress of all raters."""
    record = read_study(study.folder)
    last = {it.rater: it.last for it in study.progress()}
    rows = [_RaterRow(summary, last[summary.rater]) for summary in summarize_raters(record)]
    return page(
        "rating-progress.html",
        name=study.folder.resolve().name,
        manifest=study.manifest,
        rows=rows,
        finished=sum(row.summary.finished for row in rows),
        of=sum(row.summary.of for row in rows),
        checks=any(task.is_check for task in record.tasks),
        files=list(_files(record)),
    )


def export_file(study: Study, request: Request) -> Response:
    """Return an export file with the answers collected so far."""
    name = request.path_params["name"]
    texts = _files(read_study(study.folder))
    if name not in texts:
        raise HTTPException(404, "there is no such file, or nobody has finished an image yet")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    media_type = _TYPES[name.rpartition(".")[2]]
    return Response(texts[name].encode("utf-8", "replace"), media_type=media_type, headers=headers)


def _files(record: StudyRecord) -> dict[str, str]:
    try:
        return export_files(record)
    except FormalimgError:  # nobody has finished anything yet
        return {}
