"""The images of a run, page by page, as the filters want them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from formalimg.logic import vocabulary, vocabulary_names
from formalimg.reporting import Row, Section, level_name, words_of
from formalimg.runs import ImageFilter, ListedImage, StoredRun
from formalimg.web.rendering import page
from formalimg.web.viewer.run import split_word
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.urls import Look, address, look_of, number

PER_PAGE = 48

MOST_OF_PROMPT = 400
"""So many characters are more than the lines below a small image hold."""

_ABOUT = {"formula": "class", "concepts": "object", "counterfactual": "field"}
"""What objects that items speak of are called, by kind of suite."""

SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}


class _Tile(NamedTuple):
    """An image of the wall."""

    item: str
    sample: int
    level: str
    outcome: str
    sign: str
    prompt: str
    reason: str
    address: str
    thumbnail: str


class _Choice(NamedTuple):
    """Something to choose among the filters."""

    value: str
    words: str


def gallery_page(site: Site, request: Request) -> Response:
    """One page of the gallery."""
    look = look_of(request)
    query = request.query_params
    (section,) = site.compared(look.run, look.judge).sections
    (row,) = section.rows
    with site.opened(look.run, look.judge) as run:
        wanted_page = _page_of(query["at"], query, look, run) if query.get("at") else max(number(query, "page") or 1, 1)
        known_about = _known_about(run, row, section)
        found = run.page(look.wanted, (wanted_page - 1) * PER_PAGE, PER_PAGE)
    opening = common_opening([image.prompt for image in found.images])
    pages = max(-(-found.total // PER_PAGE), 1)
    return page(
        "gallery.html",
        look=look,
        suite=section.suite,
        row=row,
        words=words_of(section.suite),
        tiles=[_tile(image, look, section, opening) for image in found.images],
        total=found.total,
        is_filtered=look.wanted != ImageFilter(),
        number=wanted_page,
        pages=pages,
        before=look.address("/gallery", page=wanted_page - 1) if 1 < wanted_page <= pages else "",
        after=look.address("/gallery", page=wanted_page + 1) if wanted_page < pages else "",
        levels=[_Choice(str(level), level_name(section.suite, level)) for level in section.levels],
        kinds=sorted(row.kinds),
        known_words=_words(row, section),
        about=_ABOUT[section.suite.kind],
        known_about=known_about,
        at=(query.get("at"), number(query, "sample") or 0),
    )


def _page_of(item: str, query: Mapping[str, str], look: Look, run: StoredRun) -> int:
    """The page that an image is on."""
    return run.wanted_before(look.wanted, item, number(query, "sample") or 0) // PER_PAGE + 1


def _known_about(run: StoredRun, row: Row, section: Section) -> list[str]:
    """What items may speak of: classes, objects, or fields."""
    match section.suite.kind:
        case "formula":
            suite = section.suite.name
            return sorted(vocabulary(suite).words["class"]) if suite in vocabulary_names() else []
        case "concepts":
            pairs = (split_word(name, row, section) for name in row.predicates)
            return sorted({word for kind, word in pairs if kind == "object"})
        case _:
            return sorted({tag for item in run.items.values() for tag in item.tags})


def outcome_sort(passed: bool | None) -> str:
    """Pass, fail or unscored."""
    return "unscored" if passed is None else "pass" if passed else "fail"


def _tile(image: ListedImage, look: Look, section: Section, opening: str) -> _Tile:
    outcome = image.outcome
    sort = outcome_sort(outcome.passed)
    return _Tile(
        outcome.item,
        outcome.sample,
        level_name(section.suite, outcome.level),
        sort,
        SIGNS[sort],
        image.prompt.removeprefix(opening)[:MOST_OF_PROMPT],
        outcome.reason,
        look.address("/item", item=outcome.item, sample=outcome.sample),
        thumbnail_address(look.run, outcome.item, outcome.sample, image.sha256),
    )


def thumbnail_address(run: str, item: str, sample: int, sha256: str | None) -> str:
    """Where the small image is; empty if there is none. The digest is in it, so browsers may keep it for good."""
    return "" if sha256 is None else address("/thumbnail", run=run, item=item, sample=sample, sha256=sha256[:16])


def common_opening(prompts: Sequence[str]) -> str:
    """Whole sentences that all prompts of a page begin with, such as one on style: they would hide what differs."""
    if len(prompts) < 2:
        return ""
    first, last = min(prompts), max(prompts)  # what these two share, all share
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared[: shared.rfind(". ") + 2] if ". " in shared else ""


def _words(row: Row, section: Section) -> list[str]:
    return sorted({split_word(name, row, section)[1] for name in row.predicates})
