"""Serving the site: on this machine only, unless told otherwise, and then only to those who have the token."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from formalimg.web.app import make_app
from formalimg.web.guarding import is_loopback
from formalimg.web.listening import listen
from formalimg.web.site import Site


def serve(
    site: Site,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    opens_browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the viewer until it is interrupted.

    Args:
        site: the runs to show.
        host: the address to listen on. Any other than this machine's own needs a token, which is made here and is
            part of the address that is told.
        port: the port; 0 for any that is free.
        opens_browser: whether a browser is opened.
        tell: what is done with the address of the site.

    Raises:
        FormalimgError: if nothing can listen there.
    """

    def told(place: Served) -> None:
        tell(place.address())
        threading.Thread(target=_work_out_numbers, args=(site,), daemon=True).start()

    serve_app(
        lambda token: make_app(site, token=token), host=host, port=port, opens_browser=opens_browser, on_progress=told
    )


class Served(NamedTuple):
    """Where a site is served.

    Attributes:
        host: what it listens on.
        port: the port.
        token: what visitors must know; None if nothing is asked of them.
    """

    host: str
    port: int
    token: str | None

    def address(self, path: str = "/", *, secret: bool = True) -> str:
        """The address of a page, with the token, if there is one and it is wanted.

        A site that listens everywhere is opened by this machine's name.
        """
        name = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host
        shown = f"[{name}]" if ":" in name else name
        return f"http://{shown}:{self.port}{path}" + (f"?token={self.token}" if self.token and secret else "")


def serve_app(
    make: Callable[[str | None], ASGIApp],
    *,
    host: str,
    port: int,
    opens_browser: bool,
    on_progress: Callable[[Served], None],
    always_token: bool = False,
) -> None:
    """Serve any of our sites until it is interrupted.

    Args:
        make: makes the site, with the token that visitors must know.
        host: the address to listen on; there is a token with any other than this machine's own.
        port: the port; 0 for any that is free.
        opens_browser: whether a browser is opened at the first page.
        on_progress: is called when the port is taken, before the first visitor is answered.
        always_token: there is a token even if only this machine can reach the site, because not all who use the machine
            may see all of it.

    Raises:
        FormalimgError: if nothing can listen there.
    """
    token = None if is_loopback(host) and not always_token else secrets.token_urlsafe(24)
    listening = listen(host, port)
    place = Served(host, listening.getsockname()[1], token)
    server = uvicorn.Server(uvicorn.Config(make(token), log_level="warning", server_header=False))
    on_progress(place)
    if opens_browser:
        threading.Thread(target=webbrowser.open, args=(place.address(),), daemon=True).start()
    with listening, contextlib.suppress(KeyboardInterrupt):  # which is how it is meant to end
        server.run(sockets=[listening])


def _work_out_numbers(site: Site) -> None:
    """Sum up all runs before anyone asks; what cannot be read says so on the first page."""
    for found in site.runs():
        try:
            site.compared(found.name)
        except Exception:
            continue
