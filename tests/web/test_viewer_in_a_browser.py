"""The viewer in a real browser: keys, filters, live runs, and text that tries to do harm."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.support.browser import PATIENCE, needs_browser, playwright, served_at, watched
from tests.support.command import formalimg
from tests.support.hostile_runs import forge
from tests.web.sites import HARM, Eye, concept_items, concept_run, image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    with served_at(create_viewer_app(Site(runs), token=None)) as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that has seen no complaint: no error of a script, nothing that the policy had to stop, nothing outside."""
    context = browser.new_context(base_url=address, viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    complaints = watched(opened, address)
    yield opened
    harmed = opened.evaluate("typeof pwned")
    context.close()
    assert not complaints
    assert harmed == "undefined"


def test_from_the_runs_to_an_image_and_back_by_keyboard(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.className") == "step"
    page.get_by_role("link", name="test/painter").click()
    page.wait_for_url("**/run?run=first")
    page.keyboard.press("g")
    page.wait_for_url("**/gallery?run=first")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?run=first&item=item-1&sample=0")
    page.keyboard.press("j")
    page.wait_for_url("**&item=item-2&**")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**&item=item-1&**")
    page.keyboard.press("u")
    page.wait_for_url("**/gallery?run=first&at=item-1")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.href").endswith("item=item-2&sample=0")
    page.keyboard.press("n")
    page.wait_for_url("**page=2")
    page.keyboard.press("u")
    page.wait_for_url("**/run?run=first")


def test_a_choice_is_shown_at_once_and_is_in_the_address(page: Page) -> None:
    page.goto("/gallery?run=first")
    page.get_by_label("outcome").get_by_role("link", name="unscored").click()
    page.wait_for_url("**/gallery?run=first&outcome=unscored")
    assert page.locator(".count").inner_text().startswith("15 images")
    assert page.locator(".tile").count() == 15
    page.keyboard.press("/")
    page.keyboard.type("number 6 with")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=number+6+with")
    assert page.locator(".tile").count() == 1
    assert "outcome=unscored" in page.url
    assert page.get_by_label("outcome").locator("[aria-current]").inner_text().split() == ["unscored", "1"]


def test_choices_can_be_combined_and_taken_back(page: Page) -> None:
    page.goto("/gallery?run=first")
    page.get_by_label("outcome").get_by_role("link", name="fail").click()
    page.get_by_label("failed category").get_by_role("link", name="number").click()
    page.wait_for_url("**outcome=fail&kind=number")
    for facet, name in (("failed value", "3"), ("k", "k 3")):
        link = page.get_by_label(facet, exact=True).get_by_role("link", name=name)
        number = link.locator("small").inner_text()
        link.click()
        page.wait_for_load_state()
        assert page.locator(".count").inner_text().startswith(f"{number} image"), "as many as the choice said"
    page.get_by_label("outcome").locator("[aria-current]").click()
    page.wait_for_function("!location.search.includes('outcome')")
    assert "kind=number" in page.url
    page.go_back()
    assert "outcome=fail" in page.url


def test_thumbnails_are_loaded(page: Page) -> None:
    page.goto("/gallery?run=knolling")
    assert page.evaluate(
        "document.querySelector('.tile img').decode().then(() => document.querySelector('.tile img').naturalWidth)"
    )


def test_images_of_any_shape_are_shown_whole(page: Page) -> None:
    page.goto("/gallery?run=upright")
    page.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
    image, tile = (page.locator(place).first.bounding_box() for place in (".tile img", ".tile .shown"))
    assert image
    assert tile
    assert image["height"] <= tile["height"]
    page.goto("/item?run=upright&item=item-0")
    shown = page.locator(".item-image img").bounding_box()
    assert shown
    assert shown["height"] <= 800


def test_boxes_show_when_they_are_asked_for(page: Page) -> None:
    page.goto("/item?run=knolling&item=0&sample=0")
    seen = "getComputedStyle(document.querySelector('.detected:not(.fault)')).opacity"
    page.mouse.move(2, 2)
    assert page.evaluate(seen) == "0"
    page.keyboard.press("b")
    assert page.evaluate(seen) == "1"
    page.keyboard.press("b")
    page.locator(".item-image .image").hover()
    assert page.evaluate(seen) == "1"


def test_chosen_runs_are_compared(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Compare first").check()
    page.get_by_label("Compare nested/<b>second&").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/compare?run=**")
    assert page.get_by_role("heading", name="Item by item").is_visible()
    assert page.locator("svg.curve:not(.differences-chart) .run").count() == 2


def test_the_colours_can_be_switched_and_stay_so(page: Page) -> None:
    page.goto("/")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Switch to dark colours").click()
    assert page.evaluate(paper) != light
    page.goto("/run?run=first")
    assert page.evaluate(paper) != light


def test_narrow_windows_do_not_scroll_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    item = "/item?run=first&item=item-3&sample=0"
    for path in ("/", "/run?run=first", "/gallery?run=first", item, "/compare?run=first"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    concept_run(tmp_path / "one", 6)
    concept_run(tmp_path / "two", 6, model="test/other", judge=Eye(turned=True))
    return tmp_path


@pytest.fixture
def browser_address(folder: Path) -> Iterator[str]:
    with served_at(create_viewer_app(Site(folder), token=None)) as found:
        yield found


@pytest.fixture
def browser_page(browser: Browser, browser_address: str) -> Iterator[Page]:
    context = browser.new_context(base_url=browser_address, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@contextmanager
def slow_run(folder: Path) -> Iterator[threading.Semaphore]:
    """A run of ten images in a thread; the semaphore lets as many of them be painted as it is released."""
    allowed = threading.Semaphore(0)

    def paint(prompt: str, seed: int) -> Image.Image:
        assert allowed.acquire(timeout=60)
        return image(prompt, seed)

    config = RunConfig(concept_items(10), CallableModel(paint, name="test/slow"), size=64)
    run = threading.Thread(target=execute, args=(config, folder, Eye()))
    run.start()
    try:
        yield allowed
    finally:
        allowed.release(10)
        run.join(60)


def test_a_run_in_progress_updates_by_itself_and_ends_by_itself(browser_page: Page, folder: Path) -> None:
    expect = playwright.expect
    browser_page.goto("/")
    browser_page.evaluate("window.isTheSamePage = true")
    with slow_run(folder / "slow") as allowed:
        row = browser_page.locator("tr[data-run=slow]")
        expect(row.get_by_role("progressbar")).to_be_visible()  # a new run appears without a reload
        allowed.release(3)
        expect(row.locator("[data-part=done]")).to_have_text("3 of 10 images")
        allowed.release(4)
        expect(row.locator("[data-part=done]")).to_have_text("7 of 10 images")
        expect(row.locator("[data-part=rate]")).to_contain_text("images/min")
        expect(row.locator("[data-part=left]")).to_contain_text("left")
    expect(row.get_by_role("progressbar")).to_have_count(0)
    expect(row.locator(".scored")).to_contain_text("9 of 10")  # one of them is not understood
    assert browser_page.evaluate("window.isTheSamePage")


def test_the_page_of_a_run_follows_it_to_its_end(browser_page: Page, folder: Path) -> None:
    expect = playwright.expect
    browser_page.goto("/")
    with slow_run(folder / "slow") as allowed:
        allowed.release(1)
        expect(browser_page.locator("tr[data-run=slow] [data-part=done]")).to_have_text("1 of 10 images")
        browser_page.goto("/run?run=slow")
        browser_page.evaluate("window.isTheSamePage = true")
        expect(browser_page.get_by_text("in progress")).to_be_visible()
        allowed.release(3)
        expect(browser_page.locator("[data-part=done]")).to_have_text("4 of 10 images")
    expect(browser_page.get_by_text("in progress")).to_have_count(0)
    expect(browser_page.locator(".lead").first).to_contain_text("10 images, 9 scored")
    assert browser_page.evaluate("window.isTheSamePage")


def test_what_is_searched_is_shown_as_it_is_typed(browser_page: Page) -> None:
    browser_page.goto("/")
    browser_page.evaluate("window.isTheSamePage = true")
    browser_page.get_by_role("searchbox").press_sequentially("other")
    playwright.expect(browser_page.locator("tr[data-run]")).to_have_count(1)
    assert browser_page.url.endswith("/?text=other")
    playwright.expect(browser_page.get_by_label("Edit tags and note of two")).to_be_visible()
    playwright.expect(browser_page.get_by_role("searchbox")).to_be_focused()
    assert browser_page.evaluate("window.isTheSamePage")


def test_tags_edited_in_place_survive_a_reload_and_lead_to_their_runs(browser_page: Page, folder: Path) -> None:
    browser_page.goto("/")
    browser_page.get_by_label("Edit tags and note of one").click()
    browser_page.get_by_label("tags, separated by commas").fill("ablation, jk<b>")
    browser_page.get_by_role("textbox", name="note").fill(HARM)
    browser_page.get_by_role("button", name="Save").click()
    tags = browser_page.locator("tr[data-run=one] .tag")
    playwright.expect(tags).to_have_text(["ablation", "jk<b>"])
    browser_page.reload()
    playwright.expect(tags).to_have_text(["ablation", "jk<b>"])
    playwright.expect(browser_page.locator("tr[data-run=one] .note")).to_have_text(HARM)
    assert browser_page.evaluate("typeof pwned") == "undefined"
    assert read_tags(folder / "one").tags == ("ablation", "jk<b>")
    tags.first.click()
    browser_page.wait_for_url("**/?tag=ablation")
    assert browser_page.locator("tr[data-run]").count() == 1


def test_two_who_edit_at_once_see_what_the_other_wrote(browser_page: Page, folder: Path) -> None:
    other = browser_page.context.new_page()
    for window, text in ((browser_page, "mine"), (other, "theirs")):
        window.goto("/")
        window.get_by_label("Edit tags and note of one").click()
        window.get_by_label("tags, separated by commas").fill(text)
    other.get_by_label("tags, separated by commas").press("Enter")
    playwright.expect(other.locator("tr[data-run=one] .tag")).to_have_text("theirs")
    browser_page.get_by_role("button", name="Save").click()
    playwright.expect(browser_page.get_by_role("alert")).to_contain_text("Somebody else has changed these tags")
    playwright.expect(browser_page.locator("tr[data-run=one] .tag")).to_have_text("theirs")
    assert read_tags(folder / "one").tags == ("theirs",)
    browser_page.get_by_label("tags, separated by commas").fill("theirs, mine")
    browser_page.get_by_role("button", name="Save").click()
    playwright.expect(browser_page.locator("tr[data-run=one] .tag")).to_have_text(["theirs", "mine"])


def test_sorting_filtering_and_a_baseline_are_in_the_address(browser_page: Page) -> None:
    browser_page.goto("/")
    browser_page.get_by_role("link", name="overall").click()
    browser_page.wait_for_url("**/?sort=overall")
    browser_page.locator("tr[data-run=one]").get_by_role("link", name="pin as baseline").click()
    browser_page.wait_for_url("**/?sort=overall&baseline=one")
    assert browser_page.locator("tr[data-run=two] .difference").inner_text().startswith(("+", "−", "0"))
    browser_page.get_by_label("model").select_option("test/other")
    browser_page.wait_for_url("**model=test%2Fother**")
    assert browser_page.locator("tr[data-run]").count() == 1
    assert "sort=overall" in browser_page.url
    browser_page.get_by_role("link", name="show all").click()
    browser_page.wait_for_url("**/?baseline=one")


def test_on_a_phone_the_filters_are_one_tap_away(browser_page: Page) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 844})
    browser_page.goto("/")
    model = browser_page.locator("select[name=model]")
    playwright.expect(browser_page.locator("tr[data-run=one]")).to_be_in_viewport()
    playwright.expect(model).to_be_hidden()
    browser_page.get_by_role("button", name="Filters").click()
    model.select_option("test/other")
    browser_page.wait_for_url("**model=test%2Fother**")
    assert browser_page.locator("tr[data-run]").count() == 1


ADDRESSES = ("/", "/run?run=0", "/gallery?run=0", "/item?run=0&item=item-3", "/compare?run=0&run=1")


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
