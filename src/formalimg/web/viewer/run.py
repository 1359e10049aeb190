"""The page of one run: curve, table, failures, unscored images, and links into the gallery."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
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
from formalimg.web.rendering import page, percent
from formalimg.web.viewer.index import RunIndex
from formalimg.web.viewer.runs import progress_text
from formalimg.web.viewer.site import READ_ERRORS, Site
from formalimg.web.viewer.summaries import manifest_fields, summarize_user_images
from formalimg.web.viewer.tiles import PER_PAGE, list_tiles
from formalimg.web.viewer.urls import parse_view_state

_BASELINES = ("builtin/oracle", "builtin/scatter")


class ObservationMark(NamedTuple):
    """A property of the judge's observations that images can be filtered by, with the number of images."""

    value: str
    name: str
    images: int

    @property
    def label(self) -> str:
        """The name of the mark and the number of images."""
        return f"{self.name} ({self.images:,})"


def run_page(index: RunIndex, request: Request) -> Response:
    """Return the page of a run, with its progress while a process is writing to it."""
    site, view = index.site, parse_view_state(request)
    state, activity = index.state_digest(), index.activity(site.find(view.run))
    compared = site.comparison(view.run, view.judge)
    (section,) = compared.sections
    (row,) = section.rows
    with site.open(view.run, view.judge) as run:
        judges, counts = run.judges(), run.counts()
        supplied = summarize_user_images(run)
        images = run.page(ImageFilter(), 0, PER_PAGE, by_score=True).images if supplied else ()
        tiles = list_tiles(run, images, view, section)
        without_verdict = run.page(ImageFilter(outcome="unscored"), 0, 1).total if row.unscored else 0
    by_kind = [_failure(name, tally, view.url("/gallery", kind=name)) for name, tally in row.kinds.items()]
    by_word = []
    for name, tally in row.predicates.items():
        kind, word = split_word(name, row, section)
        by_word.append(_failure(name, tally, view.url("/gallery", kind=kind, word=word)))
    has_curve = len(section.levels) > 1 or not row.summary.overall.scored
    # Reports escape all foreign text in their markup.
    tables = [(Markup(table_html(table, section)), is_corrected(table)) for table in section.shown_tables]
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
        terms=section.suite.terms,
        given=supplied,
        tiles=tiles,
        curve=_curve(site, section, row) if has_curve else "",
        table=Markup(main_table_html(section, compared)),
        corrected=[table for table, is_correction in tables if is_correction],
        tables=[table for table, is_correction in tables if not is_correction],
        marks=observation_marks(row),
        levels=[
            {"name": level_name(section.suite, level), "url": view.url("/gallery", level=level)}
            for level in section.levels
        ],
        by_kind=_worst_first(by_kind),
        by_word=_worst_first(by_word),
    )


def _curve(site: Site, section: Section, row: RunRow) -> Markup:
    return Markup(curves_html(replace(section, rows=(row, *_baselines(site, row))), subject=0))


def _baselines(site: Site, row: RunRow) -> Iterator[RunRow]:
    """Yield the rows of upper-bound and chance baselines with the same items, if the folder has such runs."""
    missing = {*_BASELINES} - {row.manifest.model.name}
    for folder in site.runs():
        with suppress(*READ_ERRORS):  # the first page shows why
            with site.open_folder(folder) as run:
                manifest = run.manifest
            if manifest.model.name in missing and manifest.items_digest == row.manifest.items_digest:
                yield site.comparison(folder.name).sections[0].rows[0]
                missing.remove(manifest.model.name)


def split_word(name: str, row: RunRow, section: Section) -> tuple[str, str]:
    """Split a failure name into its kind and word if the suite counts concepts by category."""
    if section.suite.value_has_kind:
        for kind in row.kinds:
            if name.startswith(f"{kind} "):
                return kind, name.removeprefix(f"{kind} ")
    return "", name


def observation_marks(row: RunRow) -> list[ObservationMark]:
    """Return the observation marks that the images of a run can be filtered by."""
    marks = [
        ObservationMark("disagreement", "whole and clauses disagree", row.quality.disagreements),
        ObservationMark("dropped", "boxes dropped for their labels", row.quality.images_dropped),
    ]
    return [mark for mark in marks if mark.images]


class _Failure(NamedTuple):
    """A row of a failure chart, with its count and a link to the images."""

    name: str
    failed: int
    asked: int
    width: float
    share: str
    url: str


def _failure(name: str, tally: Tally, url: str) -> _Failure:
    width = round(100 * tally.share, 1)
    return _Failure(name, tally.failed, tally.asked, width, percent(tally.share), url if tally.failed else "")


def _worst_first(failures: list[_Failure]) -> list[_Failure]:
    return sorted(failures, key=lambda failure: (-failure.width, -failure.asked, failure.name))
