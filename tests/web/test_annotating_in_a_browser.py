"""Raters in a real browser, by keyboard: every protocol to its end, two at once, and nothing lost on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.records import RatedTask, read_study
from formalimg.human_eval.study import open_study
from formalimg.scenes.scene import Scene
from formalimg.web.annotation import create_annotation_app
from tests.support.browser import PATIENCE, needs_browser
from tests.web.rated_studies import studied

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = needs_browser


class ServerLocation:
    """A study that is served, and can be away for a while."""

    def __init__(self, folder: Path, links: dict[str, str]) -> None:
        self.folder, self.links, self._port = folder, links, 0
        self.start()

    def start(self) -> None:
        self._study = open_study(self.folder)
        app = create_annotation_app(self._study, token=None)
        self._server = uvicorn.Server(
            uvicorn.Config(app, port=self._port, log_level="critical", timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self._port = self._server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._study.close()

    def address(self, rater: str = "rater-1") -> str:
        return f"http://127.0.0.1:{self._port}/rate/{self.links[rater]}"

    def answered(self) -> list[RatedTask]:
        """The finished tasks, in the order in which they were finished."""
        done = [task for task in read_study(self.folder).tasks if task.finished]
        return sorted(done, key=lambda task: task.finished)


Serve = Callable[..., ServerLocation]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(protocol: RatingProtocol, **how: Any) -> ServerLocation:
            made = studied(tmp_path, protocol, **how)
            served = ServerLocation(made.folder, dict(made.links))
            stack.callback(served.stop)
            return served

        yield start


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[[], Page]]:
    """Pages of browsers that know nothing of each other, and that have seen no complaint but of a server away."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def make() -> Page:
            context = browser.new_context(viewport={"width": 1100, "height": 800})
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("dialog", lambda dialog: dialog.accept())
            return page

        yield make
    assert [it for it in complaints if "ERR_CONNECTION" not in it and "ERR_FAILED" not in it] == []


def _at(page: Page, number: int) -> None:
    """Wait until the page of the rater's image of this number can be answered."""
    page.wait_for_function(
        "number => document.querySelector('.how-far')?.textContent.startsWith(`Image ${number} of`)"
        " && document.querySelector('form.begun')",
        arg=number,
    )


def _open(page: Page, address: str, number: int = 1) -> Page:
    page.goto(address)
    _at(page, number)
    return page


def _thanked(page: Page) -> None:
    page.get_by_role("heading", name="Thank you").wait_for()
    assert page.evaluate("[localStorage.length, typeof pwned]") == [0, "undefined"]


def test_five_points_by_keyboard(serve: Serve, new_page: Callable[[], Page]) -> None:
    served = serve("likert", count=3)
    page = _open(new_page(), served.address())
    page.keyboard.press("Enter")
    page.get_by_text("One question has no answer yet.").wait_for()
    for number, points in enumerate("245", 1):
        _at(page, number)
        page.keyboard.press("1")
        page.keyboard.press(points)  # the last counts
        assert page.locator("input:checked").get_attribute("value") == points
        page.keyboard.press("Enter")
    _thanked(page)
    done = served.answered()
    assert [[it.value for it in task.history] for task in done] == [[1, 2], [1, 4], [1, 5]]
    assert all(0 < task.seconds < 60 for task in done)


def test_questions_by_keyboard_and_a_reload_in_the_middle(serve: Serve, new_page: Callable[[], Page]) -> None:
    served = serve("questions", count=2)
    page = _open(new_page(), served.address())
    assert page.locator(".rating-step").count() == 1
    page.keyboard.press("n")
    page.get_by_text("You answered no.").wait_for()
    _at(page, 1)
    page.keyboard.press("y")
    page.get_by_text("Saved.").wait_for()
    page.reload()
    _at(page, 1)
    assert page.get_by_text("You answered no.").is_visible()
    assert page.locator("input:checked").count() == 1
    page.keyboard.press("n")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("n")  # the first question after all
    page.keyboard.press("Enter")
    _at(page, 2)
    page.keyboard.press("y")
    page.get_by_text("You answered yes.").wait_for()
    _at(page, 2)
    for _ in range(2):
        page.keyboard.press("y")
    page.keyboard.press("Enter")
    _thanked(page)
    said = [[(it.step, it.value) for it in task.history] for task in served.answered()]
    assert said == [
        [("alignment", False), ("question 1", True), ("question 2", False), ("question 1", False)],
        [("alignment", True), ("question 1", True), ("question 2", True)],
    ]


def test_scores_by_keyboard(serve: Serve, new_page: Callable[[], Page]) -> None:
    served = serve("scores", count=1)
    page = _open(new_page(), served.address())
    page.keyboard.type("1.7")
    page.keyboard.press("Enter")
    page.get_by_text("A score is a number from 0 to 1.").wait_for()
    page.keyboard.press("Control+a")
    page.keyboard.type("0.35")
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    _thanked(page)
    (task,) = served.answered()
    assert {name: it.value for name, it in task.answers.items()} == {"question 1": 0.35, "question 2": 0.65}


def _drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press, move and let go of the mouse, in shares of the image."""
    place = page.locator(".boxes").bounding_box()
    assert place is not None
    (x, y), (to_x, to_y) = (
        (place["x"] + place["width"] * right, place["y"] + place["height"] * down) for right, down in (start, end)
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(to_x, to_y, steps=3)
    page.mouse.up()


def test_boxes_by_keyboard_and_mouse(serve: Serve, new_page: Callable[[], Page]) -> None:
    served = serve("boxes", count=2)
    page = _open(new_page(), served.address())
    keys = page.keyboard
    keys.press("ArrowRight")
    keys.press("Shift+ArrowDown")
    keys.press("o")
    keys.type("blue")
    keys.press("Enter")
    keys.press("a")
    keys.type("bok")
    keys.press("Escape")
    keys.press("Enter")
    page.get_by_text("which is not among the words").wait_for()
    keys.type("book")
    keys.press("Enter")
    page.reload()  # what was drawn is still there
    _at(page, 1)
    assert page.locator(".box-list li").count() == 2
    keys.press("Tab")
    keys.press("Delete")
    keys.press("z")
    keys.press("ArrowLeft")
    keys.press("z")
    keys.press("Enter")
    _at(page, 2)
    _drag(page, (0.2, 0.2), (0.25, 0.3))  # moves the cup
    _drag(page, (0.6, 0.6), (0.8, 0.7))  # draws a new box
    keys.type("pen")
    keys.press("Enter")
    keys.press("Enter")
    _thanked(page)
    first, second = (task.answers["boxes"].value for task in served.answered())
    assert first == {
        "objects": [
            {"label": "cup", "color": "blue", "box_2d": [105, 100, 305, 405]},
            {"label": "book", "color": None, "box_2d": [400, 400, 600, 600]},
        ]
    }
    cup, pen = Scene.from_json(second).objects
    assert (cup.label, pen.label) == ("cup", "pen")
    assert cup.box == pytest.approx((150, 200, 350, 500), abs=3)
    assert pen.box == pytest.approx((600, 600, 800, 700), abs=3)


def test_two_raters_at_once(serve: Serve, new_page: Callable[[], Page]) -> None:
    served = serve("likert", count=3, raters=2)
    pages = {rater: _open(new_page(), served.address(rater)) for rater in served.links}
    for number in (1, 2, 3):
        for points, page in zip("25", pages.values(), strict=True):
            _at(page, number)
            page.keyboard.press(points)
        for page in pages.values():
            page.keyboard.press("Enter")
    for page in pages.values():
        _thanked(page)
    assert sorted((task.rater, task.answers["compliance"].value) for task in served.answered()) == [
        *[("rater-1", 2)] * 3,
        *[("rater-2", 5)] * 3,
    ]


def test_a_server_that_is_away_loses_no_answer(serve: Serve, new_page: Callable[[], Page]) -> None:
    served = serve("questions", count=1)
    page = _open(new_page(), served.address())
    page.keyboard.press("y")
    page.get_by_text("You answered yes.").wait_for()
    _at(page, 1)
    served.stop()
    page.keyboard.press("n")
    page.keyboard.press("y")
    page.keyboard.press("Enter")
    page.get_by_text("Not saved yet: the server cannot be reached").wait_for()
    served.start()
    _thanked(page)
    (task,) = served.answered()
    assert [(it.step, it.value) for it in task.history] == [
        ("alignment", True),
        ("question 1", False),
        ("question 2", True),
    ]


def test_answers_that_wait_survive_a_closed_window_and_a_lost_confirmation(
    serve: Serve, new_page: Callable[[], Page]
) -> None:
    served = serve("likert", count=1)
    page = new_page()
    page.route("**/answer", lambda route: route.abort())  # before the page is there: later may be too late for it
    _open(page, served.address())
    page.keyboard.press("4")
    page.get_by_text("Not saved yet").wait_for()
    again = page.context.new_page()
    page.close()

    def arrives_but_is_not_confirmed(route: Route) -> None:
        route.fetch()
        route.abort()

    again.route("**/answer", arrives_but_is_not_confirmed, times=1)
    _open(again, served.address())
    again.get_by_text("Saved.").wait_for()
    assert again.locator("input:checked").get_attribute("value") == "4"
    again.keyboard.press("Enter")
    _thanked(again)
    (task,) = served.answered()
    assert [it.value for it in task.history] == [4]


@pytest.mark.parametrize("protocol", ["questions", "boxes"])
def test_narrow_windows_do_not_scroll_sideways(
    serve: Serve, new_page: Callable[[], Page], protocol: RatingProtocol
) -> None:
    served = serve(protocol, count=1)
    page = new_page()
    page.set_viewport_size({"width": 360, "height": 700})
    _open(page, served.address())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
