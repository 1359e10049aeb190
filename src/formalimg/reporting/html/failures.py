"""What fails: clauses by kind and by predicate, concepts by category and by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.reporting.comparison import Row, Section, Tally
from formalimg.reporting.figures import percent
from formalimg.reporting.html.markup import Markup, element, folded, join
from formalimg.reporting.html.tones import tones_of
from formalimg.reporting.words import words_of
from formalimg.suites import CATEGORIES, DIMENSIONS

_KINDS = {
    "formula": ("object", "attribute", "relation", "condition", "style", "formula"),
    "concepts": CATEGORIES,
    "counterfactual": DIMENSIONS,
}
"""The order in which kinds are told; others follow by name."""

_MOST = 24
"""So many lines of a chart are shown; the rest can be unfolded."""


def failures(section: Section) -> Markup:
    """Bars for the share of clauses or concepts that failed, side by side for all runs."""
    words = words_of(section.suite)
    return element(
        "div",
        _bars(f"by {words.kind}", section, lambda row: row.kinds, _order_of_kinds(section)),
        _bars(f"by {words.about}", section, lambda row: row.predicates, _order_of_predicates(section)),
        class_="failures" if len(section.rows) > 2 else "failures pair",
    )


def _bars(title: str, section: Section, of: Callable[[Row], Mapping[str, Tally]], names: list[str]) -> Markup:
    if not names:
        return join()
    words = words_of(section.suite)
    failed = f"{words.part.capitalize()}s {words.failed}, {title}"
    rest = names[_MOST:]
    return element(
        "div",
        _chart(failed, section, of, names[:_MOST]),
        folded(f"{len(rest)} more, {title}", _chart(f"{failed}, the rest", section, of, rest)) if rest else "",
    )


def _chart(title: str, section: Section, of: Callable[[Row], Mapping[str, Tally]], names: list[str]) -> Markup:
    tones = tones_of(section.rows)
    heads = (
        element("th", element("span", class_="swatch"), row.name, scope="col", class_=tone)
        for row, tone in zip(section.rows, tones, strict=True)
    )
    lines = (
        element(
            "tr",
            element("th", name, scope="row"),
            (_bar(of(row).get(name), tone) for row, tone in zip(section.rows, tones, strict=True)),
        )
        for name in names
    )
    return element(
        "div",
        element(
            "table",
            element("caption", title),
            element("thead", element("tr", element("td"), heads)),
            element("tbody", lines),
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=title,
    )


def _bar(tally: Tally | None, tone: str) -> Markup:
    if tally is None:
        return element("td", "not asked", class_="none")
    bar = element(
        "svg",
        element("rect", width=100, height=8, class_="track"),
        element("rect", width=100 * tally.share, height=8, class_="fill"),
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="share-bar",
    )
    return element(
        "td",
        bar,
        element("span", f"{percent(tally.share)} %", class_="share"),
        element("small", f"{tally.failed:,} of {tally.asked:,}"),
        class_=tone,
    )


def _order_of_kinds(section: Section) -> list[str]:
    found = {kind for row in section.rows for kind in row.kinds}
    known: tuple[str, ...] = _KINDS[section.suite.kind]
    return sorted(found, key=lambda kind: (known.index(kind) if kind in known else len(known), kind))


def _order_of_predicates(section: Section) -> list[str]:
    """What fails most comes first."""

    def share(name: str) -> float:
        tallies = [row.predicates[name] for row in section.rows if name in row.predicates]
        return Tally(sum(tally.failed for tally in tallies), sum(tally.asked for tally in tallies)).share

    return sorted({name for row in section.rows for name in row.predicates}, key=lambda name: (-share(name), name))
