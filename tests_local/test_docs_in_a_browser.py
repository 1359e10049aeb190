"""The documentation site, built and read in a real browser: search finds pages, nothing is fetched from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.browser import PATIENCE, needs_browser, started_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'formalimg[docs]'")
pytestmark = needs_browser

ROOT = Path(__file__).parents[1]
SCREENS = {"desk": (1280, 900), "phone": (390, 844)}


def build(site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site), *options]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as opened:
        yield opened


@pytest.fixture(params=SCREENS)
def page(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Page]:
    """A page that asks nobody but its own server for anything, and whose scripts do not fail."""
    width, height = SCREENS[request.param]
    context = browser.new_context(base_url=address, viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda one: None if one.url.startswith((address, "data:")) else complaints.append(one.url))
    opened.on("response", lambda one: None if one.status < 400 else complaints.append(f"{one.status} {one.url}"))
    yield opened
    context.close()
    assert not complaints


def search(page: Page, words: str) -> None:
    if page.locator("label.md-header__button[for=__search]").is_visible():
        page.locator("label.md-header__button[for=__search]").click()
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially(words)


def test_search_leads_to_a_command(page: Page) -> None:
    page.goto("/index.html")
    page.wait_for_load_state("networkidle")
    search(page, "share verify")
    page.locator(".md-search-result__link[href*='#share-verify']").first.click()
    page.wait_for_url("**/reference/commands.html*#share-verify")
    assert page.locator("#share-verify").is_visible()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("W&B", "guides/sharing.html"),
        ("vLLM", "guides/vllm.html"),
        ("CLIP", "reference/suites/geneval.html"),
        ("GenEval", "reference/suites/geneval.html"),
    ],
)
def test_search_on_a_disk_finds_names(browser: Browser, site: Path, words: str, first: str) -> None:
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.goto(f"{site.as_uri()}/index.html")
    opened.wait_for_load_state("networkidle")
    search(opened, words)
    link = opened.locator(".md-search-result__link").first
    link.wait_for()
    assert first in (link.get_attribute("href") or "")
    opened.close()


def test_an_option_has_a_place_on_the_page_of_commands(page: Page) -> None:
    page.goto("/reference/commands.html#run--per-level")
    assert page.locator("dt[id='run--per-level']:target").is_visible()


@pytest.mark.parametrize(
    "path", ["index", "guides/index", "reference/commands", "reference/api/formalimg", "project/changelog"]
)
def test_pages_fit_their_screens(page: Page, path: str) -> None:
    page.goto(f"/{path}.html")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("article img").evaluate_all("images => images.every(image => image.naturalWidth > 0)")


def test_broken_links_and_pages_that_nobody_finds_fail_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n\n[b](b.md), [c](#c), [d](../d.py).\n", encoding="utf-8")
    (tmp_path / "docs" / "lost.md").write_text("# Lost\n\nNothing leads here:\n- a list\n", encoding="utf-8")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[0]
    here = {
        "docs_dir: docs": f"docs_dir: {tmp_path / 'docs'}",
        "[tools/docs_hooks.py]": f"[{ROOT / 'tools' / 'docs_hooks.py'}]",
        "[assets/theme.css, assets/site.css]": "[]",
        "[assets/site.js]": "[]",
    }
    for name, replacement in here.items():
        assert name in settings
        settings = settings.replace(name, replacement)
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnav:\n  - index.md\n", encoding="utf-8")
    built = build(tmp_path / "site", "--config-file", str(tmp_path / "mkdocs.yml"))
    assert built.returncode != 0
    for complaint in ("'b.md'", "'#c'", "d.py", "lost.md", "1 <li> in CommonMark, but 0 here"):
        assert complaint in built.stderr, built.stderr
