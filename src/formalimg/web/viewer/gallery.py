"""The gallery: images of a run, filtered and paged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from formalimg.judges.failures import failure_sentences
from formalimg.logic.vocabulary import vocabulary
from formalimg.reports.comparison_model import RunRow, Section
from formalimg.reports.labels import level_name
from formalimg.runs.queries import ImageFilter, ListedImage
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Verdict
from formalimg.web.rendering import page
from formalimg.web.viewer.facets import gallery_facets, mark_facets
from formalimg.web.viewer.run import known_marks, split_word
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.urls import ViewState, build_url, parse_number, parse_view_state

PER_PAGE = 48

MAX_PROMPT_LENGTH = 400
"""Characters of a prompt below a thumbnail: more than its lines hold."""

SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}


class _Tile(NamedTuple):
    """An image of the gallery; `failed` says what it does not show, `parts` are the failed parts as they are stored."""

    item: str
    sample: int
    level: str
    outcome: str
    sign: str
    prompt: str
    reason: str
    failed: list[str]
    parts: list[str]
    url: str
    thumbnail: str


def gallery_page(site: Site, request: Request) -> Response:
    """Return one page of the gallery."""
    view = parse_view_state(request)
    query = request.query_params
    (section,) = site.comparison(view.run, view.judge).sections
    (row,) = section.rows
    with site.open(view.run, view.judge) as run:
        page_number = (
            _page_of(query["at"], query, view, run) if query.get("at") else max(parse_number(query, "page") or 1, 1)
        )
        found = run.page(view.filter, (page_number - 1) * PER_PAGE, PER_PAGE)
        index = site.cached([view.run], run.facets, what=("facets", view.judge))
        counts, about = run.count_facets(index, view.filter), _known_about(run, row, section)
        images = [(image.outcome.item, image.outcome.sample) for image in found.images]
        opening = common_opening([image.prompt for image in found.images])
        tiles = [
            _tile(image, judged, _formula(run, judged), view, section, opening)
            for image, judged in zip(found.images, run.judged(images), strict=True)
        ]
    pages = max(-(-found.total // PER_PAGE), 1)
    return page(
        "gallery.html",
        view=view,
        suite=section.suite,
        title=section.title,
        row=row,
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
    """Return the number of the page that an image is on."""
    return run.count_before(view.filter, item, parse_number(query, "sample") or 0) // PER_PAGE + 1


def _known_about(run: StoredRun, row: RunRow, section: Section) -> list[str]:
    """Return the subjects of items: classes, objects, or fields."""
    about = section.suite
    if about.vocabulary:
        return sorted(vocabulary(about.vocabulary).words["class"])
    if about.value_has_kind:
        pairs = (split_word(name, row, section) for name in row.predicates)
        return sorted({word for kind, word in pairs if kind == about.terms.subject})
    subjects = about.subjects(run)
    return sorted({tag for item in run.items.values() for tag in item.tags} if subjects is None else subjects)


def outcome_name(passed: bool | None) -> str:
    """Return pass, fail or unscored."""
    return "unscored" if passed is None else "pass" if passed else "fail"


def _tile(image: ListedImage, judged: Judged, formula: str, view: ViewState, section: Section, opening: str) -> _Tile:
    outcome = image.outcome
    label = outcome_name(outcome.passed)
    verdict, suite = judged.verdict, section.suite
    parts = verdict.parts if isinstance(verdict, Verdict) else ()
    return _Tile(
        outcome.item,
        outcome.sample,
        level_name(suite, outcome.level),
        label,
        SIGNS[label],
        image.prompt.removeprefix(opening)[:MAX_PROMPT_LENGTH],
        outcome.reason,
        [one.text for one in failure_sentences(verdict, suite, formula)] if outcome.passed is False else [],
        [part.name for part in parts if part.score < 1] if suite.terms.is_code else [],
        view.url("/item", item=outcome.item, sample=outcome.sample),
        thumbnail_url(view.run, outcome.item, outcome.sample, image.sha256),
    )


def _formula(run: StoredRun, judged: Judged) -> str:
    item = run.item(judged.outcome.item)
    return item.formula if item else ""


def thumbnail_url(run: str, item: str, sample: int, sha256: str | None) -> str:
    """Return the URL of a thumbnail, with its digest so that browsers may cache it forever; empty without an image."""
    return "" if sha256 is None else build_url("/thumbnail", run=run, item=item, sample=sample, sha256=sha256[:16])


def common_opening(prompts: Sequence[str]) -> str:
    """Return whole sentences that all prompts begin with, such as one on style: they would hide the differences."""
    if len(prompts) < 2:
        return ""
    first, last = min(prompts), max(prompts)  # a prefix of these two is a prefix of all
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared[: shared.rfind(". ") + 2] if ". " in shared else ""
