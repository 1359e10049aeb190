"""The page of one run: curve, table, failures, unscored images, and links into the gallery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from formalimg.reports.comparison_model import RunRow, Section, Tally
from formalimg.reports.corrected import is_corrected
from formalimg.reports.figures.curve import curves_html
from formalimg.reports.page import main_table_html, table_html
from formalimg.reports.tables.format import level_name
from formalimg.runs.queries import ImageFilter
from formalimg.web.rendering import page, percent, trusted_markup
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.manifest_fields import manifest_fields
from formalimg.web.viewer.runs import progress_text
from formalimg.web.viewer.scored_images import scored_images
from formalimg.web.viewer.site import READ_ERRORS, Site
from formalimg.web.viewer.tiles import PER_PAGE, list_tiles
from formalimg.web.viewer.urls import ViewState, parse_view_state

_BASELINES = ("builtin/oracle", "builtin/scatter")


class _Failure(NamedTuple):
    """A row of a failure chart, with its count and a link to the images."""

    name: str
    failed: int
    asked: int
    width: float
    share: str
    url: str


class _Level(NamedTuple):
    name: str
    url: str


def run_page(index: RunIndex, request: Request) -> Response:
    """Return the page of a run, with its progress while a process is writing to it."""
    site, view = index.site, parse_view_state(request)
    state, activity = index.state_digest(), index.activity(site.find(view.run))
    compared = site.comparison(view.run, view.judge)
    (section,) = compared.sections
    (row,) = section.rows
    kind = section.suite
    with site.open(view.run, view.judge) as run:
        judges, counts = run.judges(), run.counts()
        given = scored_images(run)
        listed = run.page(ImageFilter(), 0, PER_PAGE, by_score=True).images if given else ()
        tiles = list_tiles(run, listed, view, section)
        without_verdict = run.page(ImageFilter(outcome="unscored"), 0, 1).total if row.unscored else 0
    return page(
        "run.html",
        view=view,
        state=state,
        progress=progress_text(activity) if activity else None,
        left=counts.images - counts.done,
        suite=section.suite,
        title=section.title,
        row=row,
        fields=manifest_fields(row.manifest, row.items, row.spent),
        without_verdict=without_verdict,
        judges=[(judge.name, judge == row.manifest.judge) for judge in judges],
        terms=kind.terms,
        given=given,
        tiles=tiles,
        curve=_curve(site, section) if len(section.levels) > 1 or not row.summary.overall.scored else "",
        table=trusted_markup(main_table_html(section, compared)),
        corrected=[trusted_markup(table_html(one, section)) for one in section.shown_tables if is_corrected(one)],
        tables=[trusted_markup(table_html(one, section)) for one in section.shown_tables if not is_corrected(one)],
        marks=known_marks(row),
        levels=_levels(section, view),
        by_kind=_by_kind(row.kinds, view),
        by_word=_by_word(row, section, view),
    )


def _curve(site: Site, section: Section) -> Markup:
    (row,) = section.rows
    return trusted_markup(curves_html(replace(section, rows=(row, *_baselines(site, row))), subject=0))


def _baselines(site: Site, row: RunRow) -> Iterator[RunRow]:
    """Yield the rows of upper-bound and chance baselines with the same items, if the folder has such runs."""
    missing = {*_BASELINES} - {row.manifest.model.name}
    for found in site.runs():
        try:
            with site.open_found(found) as run:
                manifest = run.manifest
            if manifest.model.name in missing and manifest.items_digest == row.manifest.items_digest:
                yield site.comparison(found.name).sections[0].rows[0]
                missing.remove(manifest.model.name)
        except READ_ERRORS:
            continue  # the first page shows why


def split_word(name: str, row: RunRow, section: Section) -> tuple[str, str]:
    """Split a failure name into its kind and word if the suite counts concepts by category."""
    if not section.suite.value_has_kind:
        return "", name
    kinds = [kind for kind in row.kinds if name.startswith(f"{kind} ")]
    return (kinds[0], name.removeprefix(f"{kinds[0]} ")) if kinds else ("", name)


class ObservationMark(NamedTuple):
    """A property of the judge's observations that images can be filtered by, with the number of images."""

    value: str
    name: str
    images: int

    @property
    def label(self) -> str:
        """The name of the mark and the number of images."""
        return f"{self.name} ({self.images:,})"


def known_marks(row: RunRow) -> list[ObservationMark]:
    """Return the observation marks that the images of a run can be filtered by."""
    found = {
        "disagreement": ("whole and clauses disagree", row.quality.disagreements),
        "dropped": ("boxes dropped for their labels", row.quality.images_dropped),
    }
    return [ObservationMark(mark, name, count) for mark, (name, count) in found.items() if count]


def _levels(section: Section, view: ViewState) -> list[_Level]:
    return [_Level(level_name(section.suite, level), view.url("/gallery", level=level)) for level in section.levels]


def _by_kind(kinds: Mapping[str, Tally], view: ViewState) -> list[_Failure]:
    return _worst_first(
        [_failure(name, tally, view.url("/gallery", kind=name)) for name, tally in kinds.items()],
    )


def _by_word(row: RunRow, section: Section, view: ViewState) -> list[_Failure]:
    found = []
    for name, tally in row.predicates.items():
        kind, word = split_word(name, row, section)
        found.append(_failure(name, tally, view.url("/gallery", kind=kind, word=word)))
    return _worst_first(found)


def _failure(name: str, tally: Tally, address: str) -> _Failure:
    return _Failure(
        name,
        tally.failed,
        tally.asked,
        round(100 * tally.share, 1),
        percent(tally.share),
        address if tally.failed else "",
    )


def _worst_first(failures: list[_Failure]) -> list[_Failure]:
    return sorted(failures, key=lambda one: (-one.width, -one.asked, one.name))
