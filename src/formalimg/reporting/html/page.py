"""The whole page: one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.reporting.comparison import Comparison, Section
from formalimg.reporting.exhibits import Exhibit
from formalimg.reporting.figures import counted, listed
from formalimg.reporting.html.cards import cards
from formalimg.reporting.html.curve import curve
from formalimg.reporting.html.failures import failures
from formalimg.reporting.html.gallery import gallery
from formalimg.reporting.html.head import head, scripts
from formalimg.reporting.html.markup import Markup, element, join
from formalimg.reporting.html.more_table import more_table
from formalimg.reporting.html.people import people
from formalimg.reporting.html.table import table
from formalimg.reporting.words import FAILURES_COUNTED, level_word, words_of

if TYPE_CHECKING:
    from formalimg.analysis import StudyOfPeople

Gallery: TypeAlias = Mapping[str, Mapping[int, Sequence[Exhibit]]]
"""The images to be shown, by suite and by the run's place in its section."""


class _Part(NamedTuple):
    """A part of the page: how it is called in the head of the page, its own heading, and what it shows."""

    name: str
    heading: str
    inside: Markup


def html_page(
    comparison: Comparison, images: Gallery | None = None, studied: Sequence[StudyOfPeople] = (), remark: str = ""
) -> str:
    """The comparison as one page.

    Args:
        comparison: what it is about.
        images: the images to be shown, if any.
        studied: what people say about the images, if they were asked.
        remark: what must be known about the choice of images.
    """
    title = " and ".join(section.suite.title for section in comparison.sections)
    parts = [
        [
            *_parts(section, comparison, [study for study in studied if study.suite == section.suite.name]),
            _Part("images", "Images", gallery(section, (images or {}).get(section.suite.name, {}), remark)),
        ]
        for section in comparison.sections
    ]
    parts = [[part for part in those if part.inside] for those in parts]
    page = element(
        "html",
        head(f"{title}: report"),
        element(
            "body",
            element("a", "to the content", class_="skip", href="#content"),
            element(
                "header",
                element("nav", _contents(comparison, parts), aria_label="On this page", class_="contents"),
                element("button", "dark", type="button", class_="theme", hidden=True),
                class_="top",
            ),
            element(
                "main",
                element("h1", title),
                element("p", _lead(comparison), class_="lead"),
                map(_article, range(len(parts)), comparison.sections, parts, repeat(len(parts) > 1)),
                id="content",
            ),
            element("footer", element("p", "Made with formalimg. This page asks for nothing from the network.")),
            scripts(),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _parts(section: Section, comparison: Comparison, studied: Sequence[StudyOfPeople]) -> Iterator[_Part]:
    words, level = words_of(section.suite), level_word(section.suite) or "level"
    figure = element(
        "div", curve(section), class_="figure", tabindex="0", role="region", aria_label=f"{words.figures} by {level}"
    )
    yield _Part(words.figures.lower(), f"{words.figures} by {level}", join(figure, table(section, comparison)))
    yield _Part("more tables", words.more, join(map(more_table, section.tables, repeat(section))))
    asked = any(row.kinds or row.predicates for row in section.rows)
    counted_are = element("p", FAILURES_COUNTED, class_="caption")
    yield _Part("what fails", "What fails", join(failures(section), counted_are) if asked else join())
    yield _Part("people", "Compared with people", join(map(people, studied, repeat(section))))


def _contents(comparison: Comparison, parts: Sequence[Sequence[_Part]]) -> Markup:
    """Links to the parts of the page; to the suites where there are several."""
    places = [(_anchor(0, part), part.name) for part in parts[0]]
    if len(parts) > 1:
        places = [(f"suite-{number}", section.suite.title) for number, section in enumerate(comparison.sections)]
    return join(*(element("a", name, href=f"#{anchor}") for anchor, name in places))


def _anchor(number: int, part: _Part) -> str:
    return f"{part.name.replace(' ', '-')}-{number}"


def _lead(comparison: Comparison) -> str:
    rows = [row for section in comparison.sections for row in section.rows]
    expected, scored = (sum(getattr(row.summary.overall, of) for row in rows) for of in ("expected", "scored"))
    return f"{listed([row.name for row in rows])}: {counted(expected, 'image')}, {scored:,} scored"


def _article(number: int, section: Section, parts: Sequence[_Part], several: bool) -> Markup:
    return element(
        "article",
        element("h2", section.suite.title, class_="suite") if several else "",
        cards(section),
        (element("section", element("h2", part.heading), part.inside, id=_anchor(number, part)) for part in parts),
        class_="suite",
        id=f"suite-{number}",
    )
