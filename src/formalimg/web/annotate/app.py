"""A study as an application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.errors import FormalimgError
from formalimg.human_eval import RaterSummary, Study, StudyRecord, export_files, read_study, summarize_raters
from formalimg.web.annotate.raters import (
    finish_task,
    postpone_task,
    rater_error_page,
    rater_image,
    rater_page,
    store_answer,
    unknown_rater_page,
)
from formalimg.web.rendering import page
from formalimg.web.security import Body, json_endpoint
from formalimg.web.server import ServerLocation, build_app, serve_app


def create_annotation_app(study: Study, *, token: str | None) -> Starlette:
    """The site of a study as an ASGI application.

    Raters come by `/rate/` and the secret part of their link, which is all they need. Everything else is for whoever
    runs the study.

    Args:
        study: the study, opened for taking answers.
        token: what whoever runs the study must know; None for a site that only this machine can reach.
    """

    def showing(show: Callable[[Study, Request], Response]) -> Callable[[Request], Response]:
        return lambda request: show(study, request)

    def to_raters(show: Callable[[Study, Request], Response]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                return show(study, request)
            except HTTPException as error:
                return rater_error_page(error)

        return answer

    def keeping(keep: Callable[[Study, Request, Body], Response]) -> Callable[[Request, Body], Response]:
        return lambda request, body: keep(study, request, body)

    routes = [
        Route("/", showing(progress_page), methods=["GET"]),
        Route("/export/{name}", showing(export_file), methods=["GET"]),
        Route("/rate/{link}", to_raters(rater_page), methods=["GET"]),
        Route("/rate/{link}/image/{token}", to_raters(rater_image), methods=["GET"]),
        Route("/rate/{link}/answer", json_endpoint(keeping(store_answer)), methods=["POST"]),
        Route("/rate/{link}/finish", json_endpoint(keeping(finish_task)), methods=["POST"]),
        Route("/rate/{link}/later", json_endpoint(keeping(postpone_task)), methods=["POST"]),
        Route("/rate/{rest:path}", to_raters(unknown_rater_page), methods=["GET"]),
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
    """Take answers for a study until it is interrupted.

    Args:
        study: the study, opened for taking answers.
        links: the secret part of the link of each rater whose link is to be on_listening, by pseudonym.
        host: the address to listen on. Raters need nothing but their links. The page with everyone's progress names
            models, and needs a token, which is made here and is part of its address.
        port: the port; 0 for any that is free. Links that were sent hold only as long as it stays the same.
        open_browser: whether a browser is opened at the page with everyone's progress.
        on_ready: what is done with the address of that page and with the links of the raters.

    Raises:
        FormalimgError: if nothing can listen there.
    """

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
    """How a rater does, and when the last answer came (UTC)."""

    summary: RaterSummary
    last: str


def progress_page(study: Study, _request: Request) -> Response:
    """How far raters are, as of now."""
    record = read_study(study.folder)
    last = {it.rater: it.last for it in study.progress()}
    lines = [_RaterRow(summary, last[summary.rater]) for summary in summarize_raters(record)]
    return page(
        "rating-progress.html",
        name=study.folder.resolve().name,
        manifest=study.manifest,
        lines=lines,
        finished=sum(line.summary.finished for line in lines),
        of=sum(line.summary.of for line in lines),
        checks=any(task.is_check for task in record.tasks),
        files=list(_files(record)),
    )


def export_file(study: Study, request: Request) -> Response:
    """One of the files of an export, as of now."""
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
