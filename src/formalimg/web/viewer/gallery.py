"""The gallery: images of a run with facets to filter them, and pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from formalimg.logic.vocabulary import vocabulary
from formalimg.reports.comparison_model import RunRow, Section
from formalimg.reports.tables.format import level_name
from formalimg.runs.image_counts import FacetCounts
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import StoredRun
from formalimg.web.rendering import page
from formalimg.web.viewer.run import observation_marks, split_word
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.summaries import summarize_user_images
from formalimg.web.viewer.tiles import PER_PAGE, list_tiles
from formalimg.web.viewer.urls import ViewState, parse_number, parse_view_state

_FIRST_CHOICES = 8  # choices of a facet that are shown at once


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


def gallery_page(site: Site, request: Request) -> Response:
    """Return one page of the gallery."""
    view, query = parse_view_state(request), request.query_params
    (section,) = site.comparison(view.run, view.judge).sections
    (row,) = section.rows
    item, sample = query.get("at"), parse_number(query, "sample") or 0  # the image whose page is left, if any
    with site.open(view.run, view.judge) as run:
        supplied = summarize_user_images(run)
        by_score = supplied is not None
        number = max(parse_number(query, "page") or 1, 1)
        if item:
            number = run.count_before(view.filter, item, sample, by_score=by_score) // PER_PAGE + 1
        images = run.page(view.filter, (number - 1) * PER_PAGE, PER_PAGE, by_score=by_score)
        index = site.cached([view.run], run.facets, what=("facets", view.judge))
        facets = list(_facets(run.count_facets(index, view.filter), view, section, _subjects(run, row, section)))
        tiles = list_tiles(run, images.images, view, section)
    if marks := observation_marks(row):
        counts, names = {mark.value: mark.images for mark in marks}, {mark.value: mark.name for mark in marks}
        facets.append(_facet("judge", "mark", counts, view.filter.mark, view, names))
    pages = max(-(-images.total // PER_PAGE), 1)
    return page(
        "gallery.html",
        view=view,
        suite=section.suite,
        title=section.title,
        row=row,
        given=supplied,
        terms=section.suite.terms,
        tiles=tiles,
        total=images.total,
        is_filtered=view.filter != ImageFilter(),
        number=number,
        pages=pages,
        before=view.url("/gallery", page=number - 1) if 1 < number <= pages else "",
        after=view.url("/gallery", page=number + 1) if number < pages else "",
        facets=facets,
        at=(item, sample),
    )


def _subjects(run: StoredRun, row: RunRow, section: Section) -> Collection[str]:
    """Return the subjects that items can be filtered by: classes, objects, or fields."""
    suite = section.suite
    if suite.vocabulary:
        return vocabulary(suite.vocabulary).words["class"]
    if suite.value_has_kind:
        pairs = (split_word(name, row, section) for name in row.predicates)
        return {word for kind, word in pairs if kind == suite.terms.subject}
    subjects = suite.subjects(run)
    return {tag for item in run.items.values() for tag in item.tags} if subjects is None else subjects


def _facets(counts: FacetCounts, view: ViewState, section: Section, subjects: Collection[str]) -> Iterator[Facet]:
    """Yield the facets of a run's images that offer a choice."""
    suite, terms, chosen = section.suite, section.suite.terms, view.filter
    outcomes = {name: counts.outcome[name] for name in ("fail", "pass", "unscored") if name in counts.outcome}
    levels = {str(level): counts.level[level] for level in sorted(counts.level) if len(section.levels) > 1}
    level = None if chosen.level is None else str(chosen.level)
    names = {text: level_name(suite, int(text)) for text in (*levels, *filter(None, [level]))}
    about = {word: count for word, count in counts.about.items() if word in subjects}
    facets = [
        _facet("outcome", "outcome", outcomes, chosen.outcome, view),
        _facet(suite.level or "level", "level", levels, level, view, names),
        _facet(f"failed {terms.kind}", "kind", _most_frequent_first(counts.kind), chosen.kind or None, view),
        _facet(f"failed {terms.about}", "word", _most_frequent_first(counts.word), chosen.word or None, view),
        _facet(terms.subject, "about", _most_frequent_first(about), chosen.about or None, view),
    ]
    return (facet for facet in facets if facet.choices)


def _facet(
    title: str,
    name: str,
    counts: Mapping[str, int],
    chosen: str | None,
    view: ViewState,
    names: Mapping[str, str] | None = None,
) -> Facet:
    """Return a facet, which includes the selected choice even if no image matches."""
    choices = [
        FacetChoice(
            (names or {}).get(value, value),
            f"{counts.get(value, 0):,}",
            view.url("/gallery", **{name: None if value == chosen else value}),
            value == chosen,
        )
        for value in ([*counts] if chosen is None or chosen in counts else [chosen, *counts])
    ]
    if len(choices) <= _FIRST_CHOICES + 2:
        return Facet(title, choices)
    first = [choice for index, choice in enumerate(choices) if index < _FIRST_CHOICES or choice.is_chosen]
    return Facet(title, first, [choice for choice in choices if choice not in first])


def _most_frequent_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
