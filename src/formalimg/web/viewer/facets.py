"""Facets: filter choices for images, each with its image count and URL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from formalimg.reports.comparison_model import Section
from formalimg.reports.tables.format import level_name
from formalimg.runs.image_counts import FacetCounts
from formalimg.web.viewer.run import ObservationMark
from formalimg.web.viewer.urls import ViewState

_SHOWN = 8  # Choices of a facet that are shown at once


class FacetChoice(NamedTuple):
    """A facet choice: its label, its image count, and the URL that selects it or, if possible, removes it."""

    label: str
    images: str
    url: str
    is_chosen: bool
    can_undo: bool = True


class Facet(NamedTuple):
    """A facet with its name, its first choices, and the remaining choices."""

    title: str
    choices: Sequence[FacetChoice]
    more: Sequence[FacetChoice] = ()


def gallery_facets(
    counts: FacetCounts, view: ViewState, section: Section, known_about: Collection[str]
) -> Iterator[Facet]:
    """Yield the facets of a run's images that offer a choice."""
    suite, terms, chosen = section.suite, section.suite.terms, view.filter
    outcomes = {one: counts.outcome[one] for one in ("fail", "pass", "unscored") if one in counts.outcome}
    levels = {str(level): counts.level[level] for level in sorted(counts.level) if len(section.levels) > 1}
    about = {word: number for word, number in counts.about.items() if word in known_about}
    level = None if chosen.level is None else str(chosen.level)
    names = {text: level_name(suite, int(text)) for text in (*levels, *filter(None, [level]))}
    found = [
        _facet("outcome", "outcome", outcomes, chosen.outcome, view),
        _facet(suite.level or "level", "level", levels, level, view, names),
        _facet(f"failed {terms.kind}", "kind", _frequent(counts.kind), chosen.kind or None, view),
        _facet(f"failed {terms.about}", "word", _frequent(counts.word), chosen.word or None, view),
        _facet(terms.subject, "about", _frequent(about), chosen.about or None, view),
    ]
    yield from (one for one in found if one.choices)


def mark_facets(marks: Sequence[ObservationMark], view: ViewState) -> Iterator[Facet]:
    """Yield the facet of the judge's observations, if there are any."""
    if marks:
        counts, names = {one.value: one.images for one in marks}, {one.value: one.name for one in marks}
        yield _facet("judge", "mark", counts, view.filter.mark, view, names)


def _facet(
    title: str,
    name: str,
    counts: Mapping[str, int],
    chosen: str | None,
    view: ViewState,
    names: Mapping[str, str] | None = None,
) -> Facet:
    """Return a facet, which includes the selected choice even if no image matches."""
    values = [*counts] if chosen is None or chosen in counts else [chosen, *counts]
    choices = [
        FacetChoice(
            (names or {}).get(value, value),
            f"{counts.get(value, 0):,}",
            view.url("/gallery", **{name: None if value == chosen else value}),
            value == chosen,
        )
        for value in values
    ]
    if len(choices) <= _SHOWN + 2:
        return Facet(title, choices)
    shown = [one for place, one in enumerate(choices) if place < _SHOWN or one.is_chosen]
    return Facet(title, shown, [one for one in choices if one not in shown])


def _frequent(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
