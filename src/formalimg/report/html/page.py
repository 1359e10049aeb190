"""The whole page: one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import repeat
from typing import TypeAlias

from formalimg.report.comparison import Comparison, Section
from formalimg.report.exhibits import Exhibit
from formalimg.report.html.cards import cards
from formalimg.report.html.curve import curve
from formalimg.report.html.failures import failures
from formalimg.report.html.gallery import gallery
from formalimg.report.html.markup import Markup, element
from formalimg.report.html.more_table import more_table
from formalimg.report.html.table import table
from formalimg.report.words import level_word, words_of

Gallery: TypeAlias = Mapping[str, Mapping[int, Sequence[Exhibit]]]
"""The pictures to be shown, by suite and by the run's place in its section."""


def html_page(comparison: Comparison, pictures: Gallery | None = None) -> str:
    """The comparison as one page, with pictures if there are any."""
    title = " and ".join(section.suite.title for section in comparison.sections)
    page = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"{title}: report"),
            element("style", page_style()),
        ),
        element(
            "body",
            element(
                "header",
                element("h1", title),
                element("p", _contents(comparison), class_="lead"),
                element("button", "dark", type="button", class_="theme", hidden=True),
            ),
            element("main", (_section(section, comparison, pictures or {}) for section in comparison.sections)),
            element("footer", element("p", "Made with formalimg. Everything on this page is in this one file.")),
            element("script", theme_script()),
            element("script", _packaged("page.js")),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def page_style() -> Markup:
    """The style of the page, for other pages in which its pieces are shown."""
    return _packaged("page.css")


def theme_script() -> Markup:
    """The script behind the button for light and dark colours, for other pages that have one."""
    return _packaged("theme.js")


def _contents(comparison: Comparison) -> str:
    return ", ".join(row.name for section in comparison.sections for row in section.rows)


def _section(section: Section, comparison: Comparison, pictures: Gallery) -> Markup:
    several = len(comparison.sections) > 1
    asked = any(row.kinds or row.predicates for row in section.rows)
    return element(
        "article",
        element("h2", section.suite.title, class_="suite") if several else "",
        cards(section),
        element(
            "section",
            element("h2", f"{words_of(section.suite).figures} by {level_word(section.suite) or 'level'}"),
            element("div", curve(section), class_="figure"),
            table(section, comparison),
        ),
        element(
            "section", element("h2", words_of(section.suite).more), map(more_table, section.tables, repeat(section))
        )
        if section.tables
        else "",
        element("section", element("h2", "What fails"), failures(section)) if asked else "",
        gallery(section, pictures.get(section.suite.name, {})),
        class_="suite",
    )


def _packaged(name: str) -> Markup:
    """Style and script are ours, and hold nothing that would end their element."""
    return Markup((files("formalimg.report.html") / name).read_text(encoding="utf-8"))
