"""Screens on which raters look at a study, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formalimg.human_eval.protocol import RatingProtocol
from formalimg.human_eval.study import open_study
from formalimg.web.annotation import create_annotation_app
from tests.support.browser import PATIENCE, served_at
from tests.web.rated_studies import studied

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 700}, "has_touch": True, "is_mobile": True}
DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
SHOWN = "number => document.querySelector('form.begun') && document.title.startsWith(`Image ${number} of`)"

Look = Callable[..., "Page"]


@contextmanager
def screens(browser: Browser, home: Path) -> Iterator[Look]:
    """What opens the first page of a new study on a screen."""
    with ExitStack() as stack:

        def opened(protocol: RatingProtocol, screen: dict[str, Any], **how: Any) -> Page:
            made = studied(home, protocol, **how)
            study = stack.enter_context(open_study(made.folder))
            here = stack.enter_context(served_at(create_annotation_app(study, token=None)))
            context = browser.new_context(**screen)
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(f"{here}/rate/{made.links['rater-1']}")
            at_image(page, 1)
            return page

        yield opened


def at_image(page: Page, number: int) -> None:
    """Wait until the rater's image of this number can be answered."""
    page.wait_for_function(SHOWN, arg=number)
