"""A study as an application."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from formalimg.human_eval import Study
from formalimg.web.annotating.answering import keep_answer, keep_finished, put_off
from formalimg.web.annotating.organising import export_file, progress_page
from formalimg.web.annotating.raters import nowhere_page, rater_image, rater_page, told_on_a_page
from formalimg.web.assembling import assemble
from formalimg.web.bodies import Body, taking_json


def make_annotation_app(study: Study, *, token: str | None) -> Starlette:
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
                return told_on_a_page(error)

        return answer

    def keeping(keep: Callable[[Study, Request, Body], Response]) -> Callable[[Request, Body], Response]:
        return lambda request, body: keep(study, request, body)

    routes = [
        Route("/", showing(progress_page), methods=["GET"]),
        Route("/export/{name}", showing(export_file), methods=["GET"]),
        Route("/rate/{link}", to_raters(rater_page), methods=["GET"]),
        Route("/rate/{link}/image/{token}", to_raters(rater_image), methods=["GET"]),
        Route("/rate/{link}/answer", taking_json(keeping(keep_answer)), methods=["POST"]),
        Route("/rate/{link}/finish", taking_json(keeping(keep_finished)), methods=["POST"]),
        Route("/rate/{link}/later", taking_json(keeping(put_off)), methods=["POST"]),
        Route("/rate/{rest:path}", to_raters(nowhere_page), methods=["GET"]),
    ]
    return assemble(routes, token=token, command="formalimg annotate", open_below=("/rate/", "/static/"))
