"""The review in a real browser: three groups decided by keyboard, and nothing lost to a reload or a second window."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from formalimg.benchmarks.cfworld.authoring.review_desk import GroupDesk
from formalimg.benchmarks.cfworld.authoring.review_queue import read_review
from formalimg.web.review import create_review_app
from tests.support.browser import PATIENCE, needs_browser, playwright, served_at
from tests.web.review_queues import FINE, OURS, harmful_group, queue_of
from tests.web.sites import HARM

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

IDS = [group.id for group in OURS[:4]]


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    return queue_of([*OURS[:4], harmful_group()], tmp_path)


@pytest.fixture
def page(browser: Browser, queue: Path) -> Iterator[Page]:
    """A page of the queue that has seen no complaint, but of answers that refuse, or that we kept from coming."""
    with served_at(create_review_app(GroupDesk(queue), token=None)) as address:
        complaints: list[str] = []
        context = browser.new_context(base_url=address, viewport={"width": 1100, "height": 800})
        context.set_default_timeout(PATIENCE)
        opened = context.new_page()
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        meant = re.compile(r"status of 4|net::ERR_FAILED")
        opened.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type == "error" and not meant.search(message.text) else None
            ),
        )
        opened.on(
            "request", lambda request: None if request.url.startswith(address) else complaints.append(request.url)
        )
        yield opened
        harmed = opened.evaluate("typeof pwned")
        context.close()
    assert not complaints
    assert harmed == "undefined"


def said(page: Page, words: str) -> None:
    playwright.expect(page.locator(".status")).to_contain_text(words)


def test_three_groups_by_keyboard_and_a_reload_in_the_middle(page: Page, queue: Path) -> None:
    away = threading.Event()
    # Before the page is there: a route that comes later may come too late for it.
    page.route("**/decide", lambda route: route.abort() if away.is_set() else route.continue_())
    page.goto("/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/group?id={IDS[0]}")
    page.keyboard.press("a")
    said(page, "accepted, and kept in queue.jsonl")
    assert read_review(queue).decisions[IDS[0]] == "accept"
    page.keyboard.press("j")
    page.wait_for_url(f"**/group?id={IDS[1]}")
    away.set()
    page.keyboard.press("r")
    page.keyboard.press("j")  # the next page waits for the decision, and does not come if it fails
    said(page, "Once more leaves without it")
    away.clear()
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.wait_for_url(f"**/group?id={IDS[2]}")
    assert read_review(queue).decisions[IDS[1]] == "reject"
    page.keyboard.press("e")
    page.keyboard.press("Control+End")
    page.keyboard.type(" A gun lies there.")
    playwright.expect(page.locator(".findings")).to_contain_text("unsafe: factual says 'gun'")
    page.keyboard.press("Control+Enter")
    said(page, "edited, but unsafe")
    page.reload()
    said(page, "not saved yet")
    factual = page.get_by_label("Factual prompt")
    assert factual.input_value() == f"{OURS[2].factual} A gun lies there."
    factual.fill(OURS[2].factual + FINE)
    playwright.expect(page.locator(".findings")).to_have_text("none")
    page.keyboard.press("Control+Enter")
    said(page, "accepted as edited, and kept in queue.jsonl")
    assert page.locator("[data-show=factual]").inner_text() == OURS[2].factual + FINE
    page.keyboard.press("m")
    page.keyboard.type("the day was miss")
    page.reload()
    assert page.get_by_label("Note").input_value() == "the day was miss"
    page.keyboard.press("m")
    page.keyboard.press("Control+End")
    page.keyboard.type("ing")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.wait_for_url("**/")
    assert page.locator(".decision").all_inner_texts() == [
        "✓ accepted",
        "✗ rejected",
        "✎ accepted as edited",
        "○ undecided",
        "○ undecided",
    ]
    review = read_review(queue)
    assert list(review.decisions.values()) == ["accept", "reject", "edit", "", ""]
    assert [kept.group.factual for kept in review.accepted] == [OURS[0].factual, OURS[2].factual + FINE]
    assert review.notes == {IDS[2]: "the day was missing"}


def test_a_second_window_is_refused_and_what_was_typed_in_it_stays(page: Page, queue: Path) -> None:
    page.goto(f"/group?id={IDS[3]}")
    other = page.context.new_page()
    other.goto(f"/group?id={IDS[3]}")
    other.keyboard.press("r")
    said(other, "rejected, and kept")
    other.close()
    page.keyboard.press("e")
    page.get_by_label("Factual prompt").fill(OURS[3].factual + FINE)
    page.get_by_role("button", name="Save and accept").click()
    said(page, "was changed in another window")
    assert read_review(queue).decisions[IDS[3]] == "reject"
    page.reload()
    said(page, "what you had typed, and not saved, is here again")
    page.get_by_role("button", name="Discard").click()
    assert page.locator("[data-show=factual]").inner_text() == OURS[3].factual
    page.keyboard.press("x")
    said(page, "taken back")
    assert read_review(queue).decisions[IDS[3]] == ""


def test_harmful_text_is_text_also_where_it_is_edited_and_narrow_windows_do_not_scroll_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator(".step").last.click()
    page.wait_for_url("**/group?id=**")
    page.keyboard.press("e")
    page.get_by_label("Changed law").fill(f"{HARM} and more")
    playwright.expect(page.locator(".questions-table").last).to_contain_text("and more")  # written by the script
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
