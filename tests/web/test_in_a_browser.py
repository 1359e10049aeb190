"""The pages in a real browser: looking, filtering, moving by keyboard; and no script but our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.support.browser import PATIENCE, needs_browser, served_at

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
    complaints: list[str] = []
    context = browser.new_context(base_url=address, viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("dialog", lambda dialog: complaints.append(dialog.message))
    opened.on("request", lambda request: None if request.url.startswith(address) else complaints.append(request.url))
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
