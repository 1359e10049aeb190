"""Serving a study to its raters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.human_eval import Study
from formalimg.web.annotating.app import make_annotation_app
from formalimg.web.serving import Served, serve_app


def serve_study(
    study: Study,
    links: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    opens_browser: bool = True,
    tell: Callable[[str, Mapping[str, str]], None],
) -> None:
    """Take answers for a study until it is interrupted.

    Args:
        study: the study, opened for taking answers.
        links: the secret part of the link of each rater whose link is to be told, by pseudonym.
        host: the address to listen on. Raters need nothing but their links. The page with everyone's progress names
            models, and needs a token, which is made here and is part of its address.
        port: the port; 0 for any that is free. Links that were sent hold only as long as it stays the same.
        opens_browser: whether a browser is opened at the page with everyone's progress.
        tell: what is done with the address of that page and with the links of the raters.

    Raises:
        FormalimgError: if nothing can listen there.
    """

    def told(place: Served) -> None:
        tell(
            place.address(),
            {rater: place.address(f"/rate/{link}", secret=False) for rater, link in links.items()},
        )

    serve_app(
        lambda token: make_annotation_app(study, token=token),
        host=host,
        port=port,
        opens_browser=opens_browser,
        on_progress=told,
        always_token=True,
    )
