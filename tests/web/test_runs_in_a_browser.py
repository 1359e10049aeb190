"""The runs page in a real browser: a run in progress updates by itself, and tags are edited in place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.tags import read_tags
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.support.browser import PATIENCE, needs_browser, playwright, served_at
from tests.web.sites import HARM, Eye, concept_items, concept_run, image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    concept_run(tmp_path / "one", 6)
    concept_run(tmp_path / "two", 6, model="test/other", judge=Eye(turned=True))
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with served_at(create_viewer_app(Site(folder), token=None)) as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def test_a_run_in_progress_updates_by_itself_and_ends_by_itself(page: Page, folder: Path) -> None:
    expect = playwright.expect
    allowed = threading.Semaphore(0)

    def paint(prompt: str, seed: int) -> Image.Image:
        assert allowed.acquire(timeout=60)
        return image(prompt, seed)

    page.goto("/")
    page.evaluate("window.isTheSamePage = true")
    config = RunConfig(concept_items(10), CallableModel(paint, name="test/slow"), size=64)
    run = threading.Thread(target=execute, args=(config, folder / "slow", Eye()))
    run.start()
    try:
        row = page.locator("tr[data-run=slow]")
        expect(row.get_by_role("progressbar")).to_be_visible()  # a new run appears without a reload
        allowed.release(3)
        expect(row.locator("[data-part=done]")).to_have_text("3 of 10 images")
        allowed.release(4)
        expect(row.locator("[data-part=done]")).to_have_text("7 of 10 images")
        expect(row.locator("[data-part=rate]")).to_contain_text("images/min")
        expect(row.locator("[data-part=left]")).to_contain_text("left")
    finally:
        allowed.release(10)
        run.join(60)
    expect(row.get_by_role("progressbar")).to_have_count(0)
    expect(row.locator(".scored")).to_contain_text("9 of 10")  # one of them is not understood
    assert page.evaluate("window.isTheSamePage")


def test_the_page_of_a_run_follows_it_to_its_end(page: Page, folder: Path) -> None:
    expect = playwright.expect
    allowed = threading.Semaphore(0)

    def paint(prompt: str, seed: int) -> Image.Image:
        assert allowed.acquire(timeout=60)
        return image(prompt, seed)

    page.goto("/")
    config = RunConfig(concept_items(10), CallableModel(paint, name="test/slow"), size=64)
    run = threading.Thread(target=execute, args=(config, folder / "slow", Eye()))
    run.start()
    try:
        allowed.release(1)
        expect(page.locator("tr[data-run=slow] [data-part=done]")).to_have_text("1 of 10 images")
        page.goto("/run?run=slow")
        page.evaluate("window.isTheSamePage = true")
        expect(page.get_by_text("in progress")).to_be_visible()
        allowed.release(3)
        expect(page.locator("[data-part=done]")).to_have_text("4 of 10 images")
    finally:
        allowed.release(10)
        run.join(60)
    expect(page.get_by_text("in progress")).to_have_count(0)
    expect(page.locator(".lead").first).to_contain_text("10 images, 9 scored")
    assert page.evaluate("window.isTheSamePage")


def test_what_is_searched_is_shown_as_it_is_typed(page: Page) -> None:
    page.goto("/")
    page.evaluate("window.isTheSamePage = true")
    page.get_by_role("searchbox").press_sequentially("other")
    playwright.expect(page.locator("tr[data-run]")).to_have_count(1)
    assert page.url.endswith("/?text=other")
    playwright.expect(page.get_by_label("Edit tags and note of two")).to_be_visible()
    playwright.expect(page.get_by_role("searchbox")).to_be_focused()
    assert page.evaluate("window.isTheSamePage")


def test_tags_edited_in_place_survive_a_reload_and_lead_to_their_runs(page: Page, folder: Path) -> None:
    page.goto("/")
    page.get_by_label("Edit tags and note of one").click()
    page.get_by_label("tags, separated by commas").fill("ablation, jk<b>")
    page.get_by_role("textbox", name="note").fill(HARM)
    page.get_by_role("button", name="Save").click()
    tags = page.locator("tr[data-run=one] .tag")
    playwright.expect(tags).to_have_text(["ablation", "jk<b>"])
    page.reload()
    playwright.expect(tags).to_have_text(["ablation", "jk<b>"])
    playwright.expect(page.locator("tr[data-run=one] .note")).to_have_text(HARM)
    assert page.evaluate("typeof pwned") == "undefined"
    assert read_tags(folder / "one").tags == ("ablation", "jk<b>")
    tags.first.click()
    page.wait_for_url("**/?tag=ablation")
    assert page.locator("tr[data-run]").count() == 1


def test_two_who_edit_at_once_see_what_the_other_wrote(page: Page, folder: Path) -> None:
    other = page.context.new_page()
    for window, text in ((page, "mine"), (other, "theirs")):
        window.goto("/")
        window.get_by_label("Edit tags and note of one").click()
        window.get_by_label("tags, separated by commas").fill(text)
    other.get_by_label("tags, separated by commas").press("Enter")
    playwright.expect(other.locator("tr[data-run=one] .tag")).to_have_text("theirs")
    page.get_by_role("button", name="Save").click()
    playwright.expect(page.get_by_role("alert")).to_contain_text("Somebody else has changed these tags")
    playwright.expect(page.locator("tr[data-run=one] .tag")).to_have_text("theirs")
    assert read_tags(folder / "one").tags == ("theirs",)
    page.get_by_label("tags, separated by commas").fill("theirs, mine")
    page.get_by_role("button", name="Save").click()
    playwright.expect(page.locator("tr[data-run=one] .tag")).to_have_text(["theirs", "mine"])


def test_sorting_filtering_and_a_baseline_are_in_the_address(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="overall").click()
    page.wait_for_url("**/?sort=overall")
    page.locator("tr[data-run=one]").get_by_role("link", name="pin as baseline").click()
    page.wait_for_url("**/?sort=overall&baseline=one")
    assert page.locator("tr[data-run=two] .difference").inner_text().startswith(("+", "−", "0"))
    page.get_by_label("model").select_option("test/other")
    page.wait_for_url("**model=test%2Fother**")
    assert page.locator("tr[data-run]").count() == 1
    assert "sort=overall" in page.url
    page.get_by_role("link", name="show all").click()
    page.wait_for_url("**/?baseline=one")


def test_on_a_phone_the_filters_are_one_tap_away(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/")
    model = page.locator("select[name=model]")
    playwright.expect(page.locator("tr[data-run=one]")).to_be_in_viewport()
    playwright.expect(model).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    model.select_option("test/other")
    page.wait_for_url("**model=test%2Fother**")
    assert page.locator("tr[data-run]").count() == 1
