"""Serving the site: on this machine only, unless told otherwise, and then only to those who have the token."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from formalimg.errors import FormalimgError
from formalimg.web.app import make_app
from formalimg.web.guarding import LOOPBACK
from formalimg.web.site import Site


def serve(
    site: Site,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    opens_browser: bool = True,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve the site until it is interrupted.

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
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    listening = _listening(host, port)
    address = site_address(host, listening.getsockname()[1], token)
    config = uvicorn.Config(make_app(site, token=token), log_level="warning", server_header=False)
    server = uvicorn.Server(config)
    tell(address)
    if opens_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    threading.Thread(target=_work_out_numbers, args=(site,), daemon=True).start()
    with listening, contextlib.suppress(KeyboardInterrupt):  # which is how it is meant to end
        server.run(sockets=[listening])


def is_loopback(host: str) -> bool:
    """Can only this machine reach the address?"""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def site_address(host: str, port: int, token: str | None) -> str:
    """The address to open. A site that listens everywhere is opened by this machine's name."""
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise FormalimgError(
            f"cannot listen on {host} port {port} ({error.strerror}): choose another --port"
        ) from error


def _work_out_numbers(site: Site) -> None:
    """Sum up all runs before anyone asks; what cannot be read says so on the first page."""
    for found in site.runs():
        try:
            site.compared(found.name)
        except Exception:
            continue
