"""The overview: all runs of a folder, newest first."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from formalimg.errors import FormalimgError
from formalimg.reporting import Comparison
from formalimg.runs import RunCost, RunManifest
from formalimg.stats import Rate
from formalimg.suites import Suite
from formalimg.web.rendering import page, percent, rate_text
from formalimg.web.viewer.run import ManifestField, manifest_fields
from formalimg.web.viewer.site import READ_ERRORS, FoundRun, Site


class _ListedRun(NamedTuple):
    """A row of the overview.

    Attributes:
        overall: the mean over all levels of the suite, as in tables; without one, over all images of the run.
        overall_of: says so, if it is over the images.
    """

    name: str
    manifest: RunManifest
    suite: Suite
    judges: tuple[str, ...]
    fields: list[ManifestField]
    curve: Sparkline
    overall: str
    overall_of: str
    coverage: str
    counts: Rate
    spent: RunCost


class _UnreadableRun(NamedTuple):
    name: str
    error: str


def overview_page(site: Site, request: Request) -> Response:
    """Return the list of runs; unreadable ones are listed with the reason."""
    listed = [_listed(site, found) for found in site.runs()]
    runs = [run for run in listed if isinstance(run, _ListedRun)]
    runs.sort(key=lambda run: run.manifest.created, reverse=True)
    return page(
        "overview.html",
        folder=str(site.folder),
        runs=runs,
        some_missing=any("†" in run.overall for run in runs),
        unreadable=[run for run in listed if isinstance(run, _UnreadableRun)],
    )


def _listed(site: Site, found: FoundRun) -> _ListedRun | _UnreadableRun:
    try:
        with site.open(found.name) as run:
            judges = tuple(dict.fromkeys(judge.name for judge in run.judges()))
        return _summarized(found.name, site.comparison(found.name), judges)
    except FormalimgError as error:
        return _UnreadableRun(found.name, str(error))
    except READ_ERRORS as error:
        logging.getLogger(__name__).warning("cannot read %s", found.folder, exc_info=True)
        return _UnreadableRun(found.name, f"cannot be read ({type(error).__name__}: {error})")


def _summarized(name: str, compared: Comparison, judges: tuple[str, ...]) -> _ListedRun:
    (section,) = compared.sections
    (row,) = section.rows
    summary = row.summary
    band = summary.bands.get("Overall")
    is_of_levels = band is not None and band.value is not None
    return _ListedRun(
        name,
        row.manifest,
        section.suite,
        judges,
        manifest_fields(row.manifest, row.items, row.spent),
        sparkline(summary.levels, section.levels),
        rate_text(band if band and is_of_levels else summary.overall, section.suite),
        "" if is_of_levels or summary.overall.value is None else "of all its images",
        percent(summary.overall.coverage),
        summary.overall,
        row.spent,
    )


WIDTH, HEIGHT = 132, 34
_EDGE = 3


class Sparkline(NamedTuple):
    """A small curve of pass rates by level, as SVG coordinates.

    Attributes:
        line: the path through the rates; broken where a level has none.
        band: the outline of the intervals; empty if there are none.
        ends: the last point, if there is one.
        words: the alternative text.
    """

    line: str
    band: str
    ends: tuple[str, str] | None
    words: str


def sparkline(rates: Mapping[int, Rate], levels: Sequence[int]) -> Sparkline:
    """Return the curve of a run."""
    points, command = [], "M"
    line = ""
    low: list[str] = []
    high: list[str] = []
    for place, level in enumerate(levels):
        rate = rates.get(level)
        if rate is None or rate.value is None:
            command = "M"
            continue
        x, y = _x(place, len(levels)), _y(rate.value)
        line += f"{command}{x} {y}"
        command = "L"
        points.append((x, y))
        if rate.interval is not None:
            low.append(f"{x} {_y(rate.interval.low)}")
            high.append(f"{x} {_y(rate.interval.high)}")
    words = ", ".join(
        f"{level}: {rates[level].value:.2f}" for level in levels if level in rates and rates[level].value is not None
    )
    band = f"M{'L'.join(high + low[::-1])}Z" if len(low) > 1 else ""
    return Sparkline(line, band, points[-1] if points else None, words or "no figures yet")


def _x(place: int, count: int) -> str:
    return f"{_EDGE + (WIDTH - 2 * _EDGE) * (place + 0.5) / count:.1f}"


def _y(rate: float) -> str:
    return f"{_EDGE + (HEIGHT - 2 * _EDGE) * (1 - rate):.1f}"
