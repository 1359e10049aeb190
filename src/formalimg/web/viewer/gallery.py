"""The gallery: images of a run with filters and pages."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from formalimg.logic.vocabulary import vocabulary
from formalimg.reports.comparison_model import RunRow, Section
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import StoredRun
from formalimg.scoring.user_inputs import GIVEN
from formalimg.web.rendering import page
from formalimg.web.viewer.facets import gallery_facets, mark_facets
from formalimg.web.viewer.run import known_marks, split_word
from formalimg.web.viewer.scored_images import scored_images
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.tiles import PER_PAGE, list_tiles
from formalimg.web.viewer.urls import ViewState, parse_number, parse_view_state


def gallery_page(site: Site, request: Request) -> Response:
    """Return one page of the gallery."""
    view = parse_view_state(request)
    query = request.query_params
    (section,) = site.comparison(view.run, view.judge).sections
    (row,) = section.rows
    with site.open(view.run, view.judge) as run:
        given = scored_images(run)
        page_number = (
            _page_of(query["at"], query, view, run) if query.get("at") else max(parse_number(query, "page") or 1, 1)
        )
        found = run.page(view.filter, (page_number - 1) * PER_PAGE, PER_PAGE, by_score=given is not None)
        index = site.cached([view.run], run.facets, what=("facets", view.judge))
        counts, about = run.count_facets(index, view.filter), _known_about(run, row, section)
        tiles = list_tiles(run, found.images, view, section)
    pages = max(-(-found.total // PER_PAGE), 1)
    return page(
        "gallery.html",
        view=view,
        suite=section.suite,
        title=section.title,
        row=row,
        given=given,
        terms=section.suite.terms,
        tiles=tiles,
        total=found.total,
        is_filtered=view.filter != ImageFilter(),
        number=page_number,
        pages=pages,
        before=view.url("/gallery", page=page_number - 1) if 1 < page_number <= pages else "",
        after=view.url("/gallery", page=page_number + 1) if page_number < pages else "",
        facets=[*gallery_facets(counts, view, section, about), *mark_facets(known_marks(row), view)],
        at=(query.get("at"), parse_number(query, "sample") or 0),
    )


def _page_of(item: str, query: Mapping[str, str], view: ViewState, run: StoredRun) -> int:
    """Return the number of the page that contains an image."""
    before = run.count_before(
        view.filter, item, parse_number(query, "sample") or 0, by_score=run.manifest.model.name == GIVEN
    )
    return before // PER_PAGE + 1


def _known_about(run: StoredRun, row: RunRow, section: Section) -> list[str]:
    """Return the subjects that items can be filtered by: classes, objects, or fields."""
    about = section.suite
    if about.vocabulary:
        return sorted(vocabulary(about.vocabulary).words["class"])
    if about.value_has_kind:
        pairs = (split_word(name, row, section) for name in row.predicates)
        return sorted({word for kind, word in pairs if kind == about.terms.subject})
    subjects = about.subjects(run)
    return sorted({tag for item in run.items.values() for tag in item.tags} if subjects is None else subjects)
