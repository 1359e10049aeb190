"""One rater in two windows, or at two machines: nobody goes on with answers that are not in sight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.human_eval.records import read_study
from tests.support.browser import PATIENCE, needs_browser
from tests.support.sizes import only_in_full
from tests.web.rated_screens import DESK, Look, at_image
from tests.web.rated_studies import MODEL

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = [needs_browser, only_in_full]

LEFT_OF_BOXES = "[...document.querySelectorAll('.boxes rect.box')].map(it => +it.getAttribute('x'))"


def test_what_another_machine_said_is_shown_before_it_counts(look: Look, browser: Browser, tmp_path: Path) -> None:
    page = look("likert", DESK, count=1)
    page.keyboard.press("4")
    page.get_by_text("Saved.").wait_for()
    other = browser.new_context().new_page()
    other.goto(page.url)
    at_image(other, 1)
    other.keyboard.press("2")
    other.get_by_text("Saved.").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("answered differently").wait_for()
    assert page.locator("input:checked").get_attribute("value") == "2"
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    (done,) = read_study(tmp_path / f"{MODEL}-likert").tasks
    assert [it.value for it in done.history] == [4, 2, 4]
    other.context.close()


def test_whoever_is_behind_another_window_is_told_so(look: Look, tmp_path: Path) -> None:
    page = look("likert", DESK, count=2)
    other = page.context.new_page()
    other.goto(page.url)
    at_image(other, 1)
    other.keyboard.press("2")
    other.keyboard.press("Enter")
    at_image(other, 2)
    page.bring_to_front()
    page.keyboard.press("5")
    at_image(page, 2)
    page.get_by_text("went on in another window").wait_for()
    assert page.locator("input:checked").count() == 0
    (done,) = (task for task in read_study(tmp_path / f"{MODEL}-likert").tasks if task.finished)
    assert [it.value for it in done.history] == [2]


def test_boxes_are_drawn_in_all_windows_of_a_browser_at_once(look: Look) -> None:
    page = look("boxes", DESK, count=2)
    other = page.context.new_page()
    other.goto(page.url)
    at_image(other, 1)
    other.keyboard.press("ArrowRight")
    page.get_by_text("drawn in another window").wait_for()
    assert page.evaluate(LEFT_OF_BOXES) == [105]
    page.bring_to_front()
    page.keyboard.press("ArrowRight")
    other.get_by_text("drawn in another window").wait_for()
    assert other.evaluate(LEFT_OF_BOXES) == [110]
    other.keyboard.press("z")  # there is a way back, also from what was drawn elsewhere
    page.wait_for_function(f"() => {LEFT_OF_BOXES}[0] === 105")  # an expression would be an eval, which is refused
    page.close()  # and does not take with it what the other has
    other.reload()
    at_image(other, 1)
    assert other.evaluate(LEFT_OF_BOXES) == [105]


def test_a_window_with_boxes_goes_on_with_the_one_that_finishes(look: Look, tmp_path: Path) -> None:
    page = look("boxes", DESK, count=2)
    other = page.context.new_page()
    other.goto(page.url)
    at_image(other, 1)
    other.keyboard.press("Delete")
    other.keyboard.press("Enter")
    at_image(other, 2)
    at_image(page, 2)
    page.get_by_text("You went on in another window.").wait_for()
    page.bring_to_front()
    page.keyboard.press("Enter")
    for window in (page, other):
        window.get_by_role("heading", name="Thank you").wait_for()
        assert window.evaluate("localStorage.length") == 0
    said = [task.answers["boxes"].value for task in read_study(tmp_path / f"{MODEL}-boxes").tasks]
    assert sorted(len(it["objects"]) for it in said) == [0, 1]  # type: ignore[index, arg-type]


def test_boxes_of_another_machine_are_shown_before_they_count(look: Look, browser: Browser, tmp_path: Path) -> None:
    address = look("boxes", DESK, count=1).url
    here, there = (browser.new_context().new_page() for _ in range(2))
    here.set_default_timeout(PATIENCE)
    held: list[Route] = []
    here.route("**/finish", lambda route: route.continue_() if held else held.append(route))
    there.route("**/finish", lambda route: route.abort())
    for page in (here, there):
        page.goto(address)
        at_image(page, 1)
    with here.expect_request("**/finish"):
        here.keyboard.press("Enter")
    there.keyboard.press("Delete")
    there.keyboard.press("Enter")
    there.get_by_text("Not saved yet").wait_for()  # its boxes are kept by now
    held[0].continue_()
    here.get_by_text("answered differently").wait_for()
    assert here.get_by_text("There are no boxes.").is_visible()
    here.keyboard.press("Enter")
    here.get_by_role("heading", name="Thank you").wait_for()
    (done,) = read_study(tmp_path / f"{MODEL}-boxes").tasks
    assert [len(it.value["objects"]) for it in done.history] == [1, 0, 0]  # type: ignore[index, arg-type]
    here.context.close()
    there.context.close()
