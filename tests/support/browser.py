"""A real browser, and sites that it can reach; who imports this is skipped where there is no browser to be had."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn
from starlette.types import ASGIApp

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_CHROMIUM = Path("/usr/bin/chromium")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]

PATIENCE = 20_000
"""So many milliseconds pages are waited for: much more than they take, also where everything is slow."""

needs_browser = pytest.mark.skipif(not _CHROMIUM.exists(), reason=f"there is no browser at {_CHROMIUM}")


@contextmanager
def started_browser() -> Iterator[Browser]:
    """A browser, started once for all tests of a file."""
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield opened
        opened.close()


@contextmanager
def served_at(app: ASGIApp) -> Iterator[str]:
    """The address at which a site is served for a while."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


def watched(page: Page, *inside: str) -> list[str]:
    """The complaints of a page, as they come: errors, dialogs, and requests for other addresses than those inside."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda one: None if one.url.startswith(inside) else complaints.append(one.url))
    return complaints
