"""Whole studies in a real browser: instructions, practice, answers, cannot tell, back, checks, and the code."""

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
from tests.web.rated_screens import DESK, PHONE, at_image

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

    Visit = Callable[..., tuple[Page, Study]]

pytestmark = [needs_browser, only_in_full]

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
