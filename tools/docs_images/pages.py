"""All screenshots, in one table: a new page is a line here.

Sites are those of `tools.docs_images.material`. Paths and selectors are those of today's pages; nothing else in this
package knows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

StepKind: TypeAlias = Literal["click", "fill", "press", "scroll", "wait"]


class Step(NamedTuple):
    """Something that is done on a page before it is photographed: to an element, or with a key."""

    kind: StepKind
    target: str
    value: str = ""


@dataclass(frozen=True)
class Shot:
    """A screenshot.

    Attributes:
        name: the image, `NAME.png`.
        site: which site it is of.
        path: the path on it; names in braces are those that the site has.
        ready: what must be there before anything is done.
        steps: what is done first.
        width, height: the window, in pixels.
        full: whether the whole page is shown, or what the window shows.
        dark: whether colours are those of a dark screen.
    """

    name: str
    site: str
    path: str = "/"
    ready: str = "body"
    steps: tuple[Step, ...] = ()
    width: int = 1280
    height: int = 860
    full: bool = False
    dark: bool = False


_FORMULA = """(exists ?cup
  (and (Is ?cup 'cup') (Has ?cup 'red')
    (forall ?fork
      (implies (Is ?fork 'fork')
        (and (LeftOf ?cup ?fork) (Above ?fork ?cup))))))"""
_RATING = "form.begun"

SHOTS = (
    Shot("report", "report", height=1290, width=1180),
    Shot("report-images", "report", steps=(Step("scroll", "[id^=images-]"),), width=1180, height=960),
    Shot("report-people", "report-people", steps=(Step("scroll", "[id^=people-]"),), width=1180, height=1230),
    Shot("figures", "figures", width=1256, full=True),
    Shot("notebook", "notebook", width=900, full=True),
    Shot("viewer-runs", "viewer"),
    Shot("viewer-run", "viewer", "/run?run=knolling-builtin-reader", width=1180),
    Shot("viewer-gallery", "viewer", "/gallery?run=knolling-builtin-reader&outcome=fail", width=1180),
    Shot("viewer-item", "viewer", "/item?run=knolling-builtin-reader&item=408&sample=0"),
    Shot(
        "viewer-compare",
        "viewer",
        "/compare?run=knolling-builtin-oracle&run=knolling-builtin-reader&run=knolling-builtin-scatter",
        height=1560,
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
        width=1180,
        height=900,
    ),
    Shot("rating-points", "rating-points", "/rate/{link}", _RATING, (Step("press", "4"),)),
    Shot("rating-pairs", "rating-pairs", "/rate/{link}", _RATING, height=800),
    Shot(
        "rating-questions",
        "rating-questions",
        "/rate/{link}",
        _RATING,
        (Step("press", "n"), Step("press", "y"), Step("press", "n")),
        dark=True,
    ),
    Shot("rating-boxes", "rating-boxes", "/rate/{link}", _RATING, (Step("press", "Tab"), Step("press", "Tab"))),
    Shot("rating-instructions", "rating-instructions", "/rate/{link}", full=True),
    Shot("rating-progress", "rating-progress", "{progress}", height=560),
    Shot("review", "review", "/group?id={group}", width=1180),
)
