"""All runs of the folder, newest first."""

from __future__ import annotations

import logging
import sqlite3
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from formalimg.errors import FormalimgError
from formalimg.report import Comparison
from formalimg.runs import RunCard, Spent
from formalimg.stats import Rate
from formalimg.suites import Suite
from formalimg.web.figures import percent, rate_text
from formalimg.web.pages import page
from formalimg.web.site import FoundRun, Site
from formalimg.web.sparkline import Sparkline, sparkline


class _ListedRun(NamedTuple):
    """A run in the list: what it is, and its numbers in short."""

    name: str
    card: RunCard
    suite: Suite
    judges: tuple[str, ...]
    curve: Sparkline
    overall: str
    coverage: str
    counts: Rate
    spent: Spent


class _UnreadableRun(NamedTuple):
    name: str
    error: str


def overview_page(site: Site, request: Request) -> Response:
    """The list of runs; what cannot be read is listed with the reason."""
    listed = [_listed(site, found) for found in site.runs()]
    runs = [run for run in listed if isinstance(run, _ListedRun)]
    runs.sort(key=lambda run: run.card.created, reverse=True)
    return page(
        "overview.html",
        folder=str(site.folder),
        runs=runs,
        unreadable=[run for run in listed if isinstance(run, _UnreadableRun)],
    )


def _listed(site: Site, found: FoundRun) -> _ListedRun | _UnreadableRun:
    try:
        with site.opened(found.name) as run:
            judges = tuple(dict.fromkeys(judge.name for judge in run.judges()))
        return _in_short(found.name, site.compared(found.name), judges)
    except FormalimgError as error:
        return _UnreadableRun(found.name, str(error))
    except (sqlite3.Error, OSError, ValueError, LookupError, TypeError) as error:
        # A folder may hold anything: one that cannot be understood must not hide all the others.
        logging.getLogger(__name__).warning("cannot read %s", found.folder, exc_info=True)
        return _UnreadableRun(found.name, f"cannot be read ({type(error).__name__}: {error})")


def _in_short(name: str, compared: Comparison, judges: tuple[str, ...]) -> _ListedRun:
    (section,) = compared.sections
    (row,) = section.rows
    summary = row.summary
    band = list(summary.bands.values())[-1] if summary.bands else summary.overall
    return _ListedRun(
        name,
        row.card,
        section.suite,
        judges,
        sparkline(summary.levels, section.levels),
        rate_text(band, section.suite),
        percent(summary.overall.coverage),
        summary.overall,
        row.spent,
    )
