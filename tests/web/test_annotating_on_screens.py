"""What raters have before their eyes, in a real browser: the image above all, whatever its shape and their screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formalimg.human_eval.records import read_study
from tests.support.browser import needs_browser
from tests.support.sizes import only_in_full
from tests.web.rated_screens import DESK, PHONE, Look, at_image
from tests.web.rated_studies import MODEL

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [needs_browser, only_in_full]

PLACE = "document.querySelector('.rated-image').getBoundingClientRect().toJSON()"


def _in_sight(page: Page) -> bool:
    height = page.evaluate("innerHeight")
    place = page.evaluate(PLACE)
    return bool(place["top"] >= 0 and place["bottom"] <= height and place["height"] > 0.2 * height)


def test_on_a_phone_the_next_image_is_in_sight_and_stays_so(look: Look) -> None:
    page = look("scores", PHONE, count=2)
    assert _in_sight(page)
    for score in page.locator("input[type=number]").all():
        score.fill("0.5")
        assert _in_sight(page)  # one looks at it again for every question
    page.locator(".next").click()
    at_image(page, 2)
    assert page.evaluate("scrollY") == 0
    assert _in_sight(page)
    assert page.evaluate("document.activeElement.tagName") == "BODY"  # no keyboard over half of the screen


def test_keys_are_in_sight_on_a_desk(look: Look) -> None:
    page = look("likert", DESK, count=1)
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.parametrize("shape", [(2000, 150), (150, 2000)])
def test_images_of_odd_shapes_can_be_seen_in_full_size(look: Look, shape: tuple[int, int]) -> None:
    page = look("likert", DESK, count=1, shape=shape)
    if shape[0] > shape[1]:
        assert page.evaluate(PLACE)["width"] > 1000  # across the page, instead of a thin line at one side
    page.keyboard.press("f")
    place = page.evaluate(PLACE)
    assert (place["width"], place["height"]) == shape
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="whole image").click()
    assert page.evaluate(PLACE)["height"] < 800
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()


def test_small_images_have_no_full_size(look: Look) -> None:
    page = look("likert", DESK, count=1)
    assert page.locator(".full-size").is_hidden()


def test_names_of_boxes_at_the_edge_are_not_cut(look: Look) -> None:
    seen = {"objects": [{"label": "screwdriver", "color": "yellow", "box_2d": [900, 500, 1000, 600]}]}
    page = look("boxes", PHONE, count=1, seen=seen)
    for end in ("left", "right"):
        place = page.locator(".boxes text").evaluate(f"it => it.getBoundingClientRect().{end}")
        assert 0 <= place <= 390


def test_there_is_no_next_image_before_the_questions(look: Look) -> None:
    page = look("questions", DESK, count=1)
    assert page.locator(".next").is_hidden()
    page.keyboard.press("y")
    page.get_by_text("You answered yes.").wait_for()
    assert page.locator(".next").is_visible()


def test_who_waits_for_an_image_in_vain_is_told_whom_to_ask(look: Look, browser: Browser, tmp_path: Path) -> None:
    page = look("likert", DESK, count=1)
    images = tmp_path / MODEL / "images"
    images.rename(tmp_path / "away")
    other = browser.new_context().new_page()  # which has not seen it before
    other.clock.install()
    other.goto(page.url)
    other.get_by_text("trying again").wait_for()
    other.clock.run_for(2000)
    other.get_by_text("tell whoever sent you the link").wait_for()
    assert other.locator("form.begun").count() == 0
    (tmp_path / "away").rename(images)
    other.clock.run_for(4000)
    other.locator("form.begun").wait_for()
    assert other.locator(".problem").inner_text() == ""
    other.context.close()


def test_who_waits_for_an_image_in_vain_can_go_on_with_others(look: Look, browser: Browser, tmp_path: Path) -> None:
    page = look("likert", DESK, count=2)
    words = page.locator(".rating-words").text_content() or ""
    (number,) = (number for number in range(2) if f"number {number}." in words)
    (file,) = (tmp_path / MODEL / "images").glob(f"00{number}.*")
    file.rename(tmp_path / file.name)
    other = browser.new_context().new_page()  # which has not seen it before
    other.clock.install()
    other.goto(page.url)
    other.get_by_text("trying again").wait_for()
    assert other.locator(".later").is_hidden(), "it may be back in a moment"
    other.clock.run_for(2000)
    other.get_by_role("button", name="Go on with the next image").click()
    other.wait_for_function("words => document.querySelector('.rating-words')?.textContent !== words", arg=words)
    at_image(other, 1)
    other.keyboard.press("4")
    other.keyboard.press("Enter")
    other.get_by_text("Image 2 of 2").wait_for()
    assert other.locator(".rating-words").text_content() == words
    assert other.locator(".later").count() == 0, "there is nothing else to go on with"
    (tmp_path / file.name).rename(file)
    other.reload()
    at_image(other, 2)
    other.keyboard.press("5")
    other.keyboard.press("Enter")
    other.get_by_role("heading", name="Thank you").wait_for()
    assert all(task.finished for task in read_study(tmp_path / f"{MODEL}-likert").tasks)
    other.context.close()
