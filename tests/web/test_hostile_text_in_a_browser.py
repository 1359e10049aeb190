"""Hostile text in a real browser: pages of a forged run make no element, run no script and ask for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.support.browser import PATIENCE, needs_browser, served_at, started_browser
from tests.support.command import formalimg
from tests.support.hostile_runs import forge

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

ADDRESSES = ("/", "/run?run=0", "/gallery?run=0", "/item?run=0&item=item-3", "/compare?run=0&run=1")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as opened:
        yield opened


def test_pages_and_reports_hold_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    forge(tmp_path)
    report = tmp_path / "report.html"
    done = formalimg("report", *(str(tmp_path / "runs" / name) for name in "01"), "--out", str(report))
    assert done.code == 0, done.err
    complaints: list[str] = []
    with served_at(create_viewer_app(Site(tmp_path / "runs"), token=None)) as site:
        page = browser.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: complaints.append(request.url) if "evil." in request.url else None)
        for address in (*(f"{site}{path}" for path in ADDRESSES), report.as_uri()):
            page.goto(address)
            assert "evil" in page.content()
            made = page.evaluate("""() => [...document.querySelectorAll('*')].filter(element =>
                [...element.attributes].some(one => one.name.includes('evil') || /^on[a-z]+$/.test(one.name)) ||
                /^\\s*(javascript|data:text)/i.test(element.getAttribute('href') || '')).map(one => one.outerHTML)""")
            assert made == [], address
    assert complaints == []
