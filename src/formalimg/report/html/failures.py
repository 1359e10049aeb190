"""What fails: clauses by kind and by predicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from formalimg.report.comparison import Row, Section, Tally
from formalimg.report.figures import percent
from formalimg.report.html.markup import Markup, element, join
from formalimg.report.html.tones import tones_of

_KINDS = ("object", "attribute", "relation", "condition", "style", "formula")
"""The order in which kinds are told; others follow by name."""


def failures(section: Section) -> Markup:
    """Bars for the share of clauses that failed, side by side for all runs."""
    return element(
        "div",
        _bars("by kind of clause", section, lambda row: row.kinds, _order_of_kinds(section)),
        _bars("by predicate", section, lambda row: row.predicates, _order_of_predicates(section)),
        class_="failures" if len(section.rows) > 2 else "failures pair",
    )


def _bars(title: str, section: Section, of: Callable[[Row], Mapping[str, Tally]], names: list[str]) -> Markup:
    if not names:
        return join()
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
            element("caption", f"Clauses that failed, {title}"),
            element("thead", element("tr", element("td"), heads)),
            element("tbody", lines),
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label=f"Failures {title}",
    )


def _bar(tally: Tally | None, tone: str) -> Markup:
    if tally is None:
        return element("td", "not asked", class_="none")
    width = element("i", style=f"width:{100 * tally.share:.1f}%")
    return element(
        "td",
        element("span", width, class_="bar", aria_hidden="true"),
        element("span", f"{percent(tally.share)} %", class_="share"),
        element("small", f"{tally.failed:,} of {tally.asked:,}"),
        class_=tone,
    )


def _order_of_kinds(section: Section) -> list[str]:
    found = {kind for row in section.rows for kind in row.kinds}
    return sorted(found, key=lambda kind: (_KINDS.index(kind) if kind in _KINDS else len(_KINDS), kind))


def _order_of_predicates(section: Section) -> list[str]:
    """What fails most comes first."""

    def share(name: str) -> float:
        tallies = [row.predicates[name] for row in section.rows if name in row.predicates]
        return Tally(sum(tally.failed for tally in tallies), sum(tally.asked for tally in tallies)).share

    return sorted({name for row in section.rows for name in row.predicates}, key=lambda name: (-share(name), name))
