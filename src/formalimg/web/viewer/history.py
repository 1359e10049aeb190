"""The history page of an item: its results in all runs of the folder, by date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.failures import failure_sentences
from formalimg.reports.run_numbers import is_same_item
from formalimg.reports.tables.format import level_name
from formalimg.runs.database import PlannedItem
from formalimg.runs.manifest import RunManifest
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Benchmark
from formalimg.web.rendering import page
from formalimg.web.viewer.site import READ_ERRORS, FoundRun, Site
from formalimg.web.viewer.tiles import SIGNS, outcome_name, thumbnail_url
from formalimg.web.viewer.urls import build_url, history_url

_MAX_SAMPLES = 8  # Images of an item that are shown of each run


class _HistoryImage(NamedTuple):
    """An image of the item in a run."""

    sample: int
    outcome: str
    sign: str
    failed: list[str]
    url: str
    thumbnail: str


class _HistoryRun(NamedTuple):
    """A run with the item: its first images, and how many of all its images pass."""

    name: str
    url: str
    manifest: RunManifest
    images: list[_HistoryImage]
    passed: int
    scored: int
    samples: int


def history_page(site: Site, request: Request) -> Response:
    """Return the history page of an item over all runs.

    Of several items of this id, it is the one that the run of the query has; by default, that of the newest run.
    """
    suite, name = suite_of(request.path_params["suite"]), str(request.path_params["item"])
    found = list(_runs_with(site, suite, name))
    found.sort(key=lambda one: one[1].created)
    chosen = request.query_params.get("run") or (found[-1][0].name if found else "")
    if chosen not in [run.name for run, _ in found]:
        where = f"run {chosen!r}" if chosen else "any run"
        raise HTTPException(404, f"there is no item {name!r} of {suite.name} in {where}")
    runs: list[_HistoryRun] = []
    others: list[str] = []
    with site.open(chosen) as first:
        item = first.item(name)
        assert item is not None, "it was found there"
        for listed, _ in found:
            with site.open_found(listed) as run:
                if is_same_item(first, item, run):
                    runs.append(_history_run(run, listed.name, item, suite))
                else:
                    others.append(listed.name)
    return page(
        "history.html",
        suite=suite,
        item=item,
        level=level_name(suite, item.level),
        chosen=chosen,
        runs=runs,
        summary=_summary(runs),
        others=[(run_name, history_url(suite.name, name, run_name)) for run_name in others],
        max_samples=_MAX_SAMPLES,
    )


def _runs_with(site: Site, suite: Benchmark, item: str) -> Iterator[tuple[FoundRun, RunManifest]]:
    """Yield the runs with an item of the given ID, skipping unreadable runs."""
    for found in site.runs():
        try:
            with site.open_found(found) as run:
                if run.manifest.suite == suite.name and run.item(item) is not None:
                    yield found, run.manifest
        except READ_ERRORS:
            continue


def _history_run(run: StoredRun, name: str, item: PlannedItem, suite: Benchmark) -> _HistoryRun:
    samples = run.manifest.samples
    every = list(run.judged([(item.id, sample) for sample in range(samples)]))
    passed = [judged.outcome.passed for judged in every if judged.outcome.passed is not None]
    return _HistoryRun(
        name,
        build_url("/run", run=name),
        run.manifest,
        [_history_image(run, name, item, judged, suite) for judged in every[:_MAX_SAMPLES]],
        sum(passed),
        len(passed),
        samples,
    )


def _history_image(run: StoredRun, name: str, item: PlannedItem, judged: Judged, suite: Benchmark) -> _HistoryImage:
    outcome, sample = outcome_name(judged.outcome.passed), judged.outcome.sample
    found = run.image_file(item.id, sample)
    return _HistoryImage(
        sample,
        outcome,
        SIGNS[outcome],
        [one.text for one in failure_sentences(judged.verdict, suite, item.formula)] if outcome != "pass" else [],
        build_url("/item", run=name, item=item.id, sample=sample),
        "" if found is None else thumbnail_url(name, item.id, sample, found.sha256),
    )


def _summary(runs: Sequence[_HistoryRun]) -> str:
    """Return the number of runs in which all images of the item pass, as text."""
    scored = [run for run in runs if run.scored]
    passed = sum(run.passed == run.scored for run in scored)
    return f"passes in {passed} of {len(scored)} run{'' if len(scored) == 1 else 's'} that have a verdict"
