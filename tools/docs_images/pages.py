"""All screenshots, in one table: a new page is a line here.

Sites are those of `tools.docs_images.material`. Paths and selectors are those of today's pages; nothing else in this
package knows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

StepKind: TypeAlias = Literal["click", "fill", "press", "scroll", "select", "upload", "wait"]


class Step(NamedTuple):
    """Something that is done on a page before it is photographed: to an element, or with a key."""

    kind: StepKind
    target: str
    value: str = ""


class Screen(NamedTuple):
    """A kind of screen: what its images are called besides, its size if it has its own, and its colours."""

    suffix: str
    size: tuple[int, int] | None
    dark: bool


_PHONE = (390, 844)
DESKTOP = Screen("", None, False)
SCREENS = (DESKTOP, Screen("-phone", _PHONE, False), Screen("-dark", None, True), Screen("-phone-dark", _PHONE, True))


@dataclass(frozen=True)
class Shot:
    """A screenshot, or one for each kind of screen.

    Attributes:
        name: the image, `NAME.png`.
        site: which site it is of.
        path: the path on it; names in braces are those that the site has.
        ready: what is there when the page is ready.
        steps: what is done then.
        width: of the window.
        height: of the window.
        full: the whole page, and not only what the window shows; on a phone, the window all the same.
        stores: the steps change what the site stores, so that each screenshot needs a new one.
        title: of the page, where it is shown on every kind of screen.
        purpose: a sentence that says what the page is for.
    """

    name: str
    site: str
    path: str = "/"
    ready: str = "body"
    steps: tuple[Step, ...] = ()
    width: int = 1280
    height: int = 860
    full: bool = False
    stores: bool = False
    title: str = ""
    purpose: str = ""

    @property
    def screens(self) -> tuple[Screen, ...]:
        """The kinds of screens that it is shown on."""
        return SCREENS if self.title else (DESKTOP,)


_FORMULA = """(exists ?cup
  (and (Is ?cup 'cup') (Has ?cup 'red')
    (forall ?fork
      (implies (Is ?fork 'fork')
        (and (LeftOf ?cup ?fork) (Above ?fork ?cup))))))"""
_PROMPT = (
    "Every donut is horizontally aligned with a blue watch and to its left, and has a backpack below it; "
    "the watch is in the top half of the image; and the backpack is in the bottom half of the image."
)
_THREE_RUNS = "run=knolling-builtin-oracle&run=knolling-builtin-reader&run=knolling-builtin-scatter"
_RATING = "form.begun"

SHOTS = (
    Shot(
        "viewer-runs",
        "viewer-many",
        "/?baseline=knolling-reader&suite=knolling&sort=overall&order=desc",
        height=1240,
        title="Runs",
        purpose="Every run of a folder, to search, filter, tag, and compare with a pinned baseline.",
    ),
    Shot(
        "viewer-filtered",
        "viewer-many",
        "/?group=suite&tag=ceiling",
        title="Runs, filtered and grouped",
        purpose="The same list with one tag chosen, in groups by suite.",
    ),
    Shot(
        "viewer-run",
        "viewer",
        "/run?run=knolling-builtin-reader",
        title="A run",
        purpose="The pass rates of one run by level, between ceiling and floor, and where it fails.",
    ),
    Shot(
        "viewer-gallery",
        "viewer",
        "/gallery?run=knolling-builtin-reader&outcome=fail",
        title="Images",
        purpose="The images of a run with what failed in each, found by outcome, level, predicate, class or text.",
    ),
    Shot(
        "viewer-item",
        "viewer",
        "/item?run=knolling-builtin-reader&item=408&sample=0",
        title="An image",
        purpose="Why one image passes or fails: boxes, the phrase of the prompt, the formula and the observation.",
    ),
    Shot(
        "viewer-history",
        "viewer",
        "/items/knolling/408",
        title="An item over all runs",
        purpose="What every run of the folder made of the same item, from the oldest to the newest.",
    ),
    Shot(
        "viewer-differences",
        "viewer",
        f"/compare?{_THREE_RUNS}&baseline=knolling-builtin-reader",
        steps=(Step("scroll", "section:has(> [aria-label='Differences by level'])"),),
        title="Comparison",
        purpose="How much better or worse runs are than a baseline, level by level, with paired differences.",
    ),
    Shot(
        "viewer-compare",
        "viewer",
        f"/compare?{_THREE_RUNS}&baseline=knolling-builtin-reader&compared=knolling-builtin-scatter&group=lost",
        steps=(Step("scroll", "#items"),),
        title="Comparison, item by item",
        purpose="The same items side by side: those that a run won or lost against the baseline.",
    ),
    Shot(
        "viewer-export",
        "export",
        "/index.html",
        title="Static export",
        purpose="The pages of the viewer as files, for a web server or a disk, without a running program.",
    ),
    Shot(
        "viewer-playground",
        "viewer",
        "/playground",
        steps=(
            Step("fill", "#formula", _FORMULA),
            Step("wait", "#solve:enabled"),
            Step("click", "#solve"),
            Step("wait", "#stage img"),
        ),
        title="Playground",
        purpose="Write a formula, see what it requires, and find or verify a scene.",
    ),
    Shot(
        "viewer-score",
        "viewer",
        "/playground/score",
        steps=(
            Step("upload", "#file", "{image}"),
            Step("fill", "#prompt", _PROMPT),
            Step("click", "#score:enabled"),
            Step("wait", "#parts tr"),
        ),
        title="Playground, any image and prompt",
        purpose="Score one image by one prompt, as `formalimg score` does.",
    ),
    Shot(
        "failing-image",
        "viewer-learned",
        "/item?run=knolling-tiny&item=602&sample=0",
        steps=(Step("scroll", ".item-place"),),
        width=960,
        height=456,
    ),
    Shot(
        "report",
        "report",
        height=1400,
        title="Report",
        purpose="What was measured and what came out, on the first screen of one file; here of Knolling.",
    ),
    Shot(
        "report-conceptmix",
        "report-conceptmix",
        height=1290,
        title="Report, ConceptMix",
        purpose="The same for a suite that is judged by questions.",
    ),
    Shot(
        "report-images",
        "report",
        steps=(
            Step("click", "nav [href='#images-0']"),
            Step("select", "[data-filter=outcome]", "fail"),
            Step("scroll", "[id^=images-]"),
        ),
        width=1180,
        height=960,
    ),
    Shot(
        "report-people",
        "report-people",
        steps=(Step("click", "nav [href='#people-0']"), Step("scroll", "[id^=people-]")),
        width=1180,
        height=1230,
    ),
    Shot("figures", "figures", width=1256, full=True),
    Shot("notebook", "notebook", width=900, full=True),
    Shot(
        "rating-instructions",
        "rating-instructions",
        "/rate/{link}",
        full=True,
        title="Study: instructions",
        purpose="What raters read before the first image.",
    ),
    Shot(
        "rating-points",
        "rating-points",
        "/rate/{link}",
        _RATING,
        (Step("press", "4"),),
        stores=True,
        title="Study: points",
        purpose="How well an image follows its prompt, in one to five points.",
    ),
    Shot(
        "rating-pairs",
        "rating-pairs",
        "/rate/{link}",
        _RATING,
        height=1040,
        title="Study: pairs",
        purpose="Which of two images of different runs is better.",
    ),
    Shot(
        "rating-questions",
        "rating-questions",
        "/rate/{link}",
        _RATING,
        (
            Step("press", "n"),
            Step("wait", f"{_RATING}:has-text('You answered')"),
            Step("press", "n"),
            Step("wait", "input:checked"),
            Step("press", "c"),
            Step("wait", ":nth-match(input:checked, 2)"),
        ),
        stores=True,
        title="Study: questions",
        purpose="The image as a whole, and then yes or no to each question.",
    ),
    Shot(
        "rating-boxes",
        "rating-boxes",
        "/rate/{link}",
        _RATING,
        (Step("press", "Tab"), Step("press", "Tab")),
        stores=True,
        title="Study: boxes",
        purpose="Correct the boxes, classes and colours of the objects.",
    ),
    Shot(
        "rating-progress",
        "rating-progress",
        "{progress}",
        title="Study: progress",
        purpose="What the organiser sees: how far the raters are, and their answers as files.",
    ),
    Shot(
        "review-queue",
        "review",
        title="Review: all groups",
        purpose="The items that a chat model wrote, in groups, with their decisions so far.",
    ),
    Shot(
        "review",
        "review",
        "/group?id={group}",
        title="Review: a group",
        purpose="Accept, reject or edit the items of one group before they become part of a suite.",
    ),
)
