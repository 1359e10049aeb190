"""Raters in a real browser: a whole study, two windows, and screens of all sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from formalimg.human_eval.attention_checks import StudyRules
from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.records import read_study, summarize_raters
from formalimg.human_eval.study import Study, open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.web.annotation import create_annotation_app
from tests.human_eval.rated_runs import concept_items, opened, rated_run
from tests.support.browser import PATIENCE, needs_browser, served_at
from tests.support.sizes import only_in_full
from tests.web.rated_screens import DESK, PHONE, Look, at_image
from tests.web.rated_studies import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page, Route

    Visit = Callable[..., tuple[Page, Study]]

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


ITEMS = concept_items(4, levels=1)


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """Opens the link of the only rater of a new study, on a screen; nothing may go wrong in the browser."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def start(protocol: RatingProtocol, screen: dict[str, Any], runs: int = 1) -> tuple[Page, Study]:
            folders = [rated_run(tmp_path / f"secret-{number}", ITEMS) for number in range(runs)]
            with opened(*folders) as found:
                made: NewStudy = create_study(
                    tmp_path / "study",
                    found,
                    protocol,
                    raters=1,
                    per_image=1,
                    checks=None,
                    rules=StudyRules(),
                    instructions=True,
                    completion_url="https://platform.example/complete?cc=ABC",
                )
            study = stack.enter_context(open_study(made.folder))
            here = stack.enter_context(served_at(create_annotation_app(study, token=None)))
            context = browser.new_context(**screen)
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.goto(f"{here}/rate/{made.links['rater-1']}")
            return page, study

        yield start
    assert complaints == []


def _practise(page: Page, wrong: str, right: list[str]) -> None:
    """Read the instructions, answer the first practice wrong and the others right, and start."""
    page.get_by_role("heading", name="Before you begin").wait_for()
    assert page.get_by_text("If you cannot tell, say so").is_visible()
    assert page.get_by_text("These check whether the words are read").is_visible()
    assert page.locator(".counting figure").count() >= 2
    form = page.locator("form.practice:visible")
    form.get_by_text(wrong, exact=True).click()
    form.get_by_text("Not quite.").wait_for()
    for answer in right:
        form.get_by_text(answer, exact=True).click()
        form.get_by_text("Right.").wait_for()
        form.get_by_role("button").click()


def _no_sideways_scrolling(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_five_points_from_the_instructions_to_the_code(visit: Visit, screen: dict[str, Any]) -> None:
    page, study = visit("likert", screen)
    _no_sideways_scrolling(page)
    _practise(page, "3", ["5", "2", "1"])
    of = 6  # four images, and two checks by default
    told = {item.prompt: item.id for item in ITEMS}
    seen: list[str] = []
    for number in range(1, of + 1):
        at_image(page, number)
        image = page.locator(".rated-image").get_attribute("src")
        assert image is not None
        is_check = image in seen
        seen.append(image)
        assert page.locator(".rating-words").inner_text().removeprefix("Prompt").strip() in told
        if number == 2:
            page.get_by_text("Cannot tell", exact=True).click()
        else:
            page.locator(f"input[value='{1 if is_check else 5}']").check()
        page.get_by_text("Saved.").wait_for()
        if number == 3:  # back to the second, which can be told after all
            page.get_by_role("button", name="Back").click()
            page.get_by_text("looked at again").wait_for()
            at_image(page, 2)
            assert page.locator("input:checked").get_attribute("value") == '"cannot tell"'
            assert page.get_by_role("button", name="Back").count() == 0
            page.locator("input[value='2']").check()
            page.get_by_text("Saved.").wait_for()
            page.locator(".next").click()
            at_image(page, 3)
            assert page.locator("input:checked").count() == 1, "what was answered before is still there"
        if number == 4:
            page.get_by_text("Cannot tell", exact=True).click()
            page.get_by_text("Saved.").wait_for()
        _no_sideways_scrolling(page)
        page.locator(".next").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    code = page.locator(".code").inner_text().strip()
    assert code == study.completion_codes()["rater-1"]
    assert page.get_by_role("link", name="Go back to where you came from").get_attribute("href") == (
        "https://platform.example/complete?cc=ABC"
    )
    page.get_by_role("button", name="Look at the last image again").click()
    at_image(page, of)
    page.locator(".next").click()
    page.get_by_role("heading", name="Thank you").wait_for()

    record = read_study(study.folder)
    histories = [[it.value for it in task.history] for task in record.tasks]
    assert sum("cannot tell" in own for own in histories) == 2
    assert ["cannot tell", 2] in histories
    assert all(it.seconds > 0 for task in record.tasks for it in task.history[:1])
    (rater,) = summarize_raters(record)
    assert (rater.finished, rater.checks, rater.excluded) == (of, 2, "" if rater.checks_passed else rater.excluded)


def test_which_of_two_by_keyboard(visit: Visit) -> None:
    page, study = visit("ab", DESK, runs=2)
    _practise(page, "Right", ["Left", "Tie"])
    for number, key in enumerate("lrtclr", 1):
        at_image(page, number)
        left, right = page.locator(".rated-image").all()
        boxes = left.bounding_box(), right.bounding_box()
        assert boxes[0] is not None
        assert boxes[1] is not None
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"], "side by side"
        assert "secret" not in page.content()
        page.keyboard.press(key)
        page.get_by_text("Saved.").wait_for()
        page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    said = sorted(str(task.answers["preference"].value) for task in read_study(study.folder).tasks)
    assert said == ["cannot tell", "left", "left", "right", "right", "tie"]


def test_instructions_can_be_read_again_and_a_reload_does_not_ask_twice(visit: Visit) -> None:
    page, _ = visit("questions", PHONE)
    _practise(page, "No", ["Yes", "No"])
    at_image(page, 1)
    page.reload()
    at_image(page, 1)
    page.get_by_role("link", name="Read the instructions again").click()
    page.get_by_role("heading", name="Instructions").wait_for()
    page.get_by_role("link", name="Go on rating").click()
    at_image(page, 1)
    page.get_by_text("Cannot tell", exact=True).click()
    page.get_by_text("You answered that you cannot tell").wait_for()
