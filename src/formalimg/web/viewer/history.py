"""The history page of an item: its results in all runs of the folder, by date."""

from __future__ import annotations

from contextlib import suppress

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.failures import failure_sentences
from formalimg.reports.run_numbers import is_same_item
from formalimg.reports.tables.format import level_name
from formalimg.runs.database import PlannedItem
from formalimg.runs.reader import Judged, StoredRun
from formalimg.types import Benchmark
from formalimg.web.rendering import page
from formalimg.web.viewer.site import READ_ERRORS, RunFolder, Site
from formalimg.web.viewer.tiles import SIGNS, outcome_name, thumbnail_url
from formalimg.web.viewer.urls import build_url, history_url

_MAX_SAMPLES = 8  # images of an item that are shown of each run


def history_page(site: Site, request: Request) -> Response:
    """Return the history page of an item over all runs.

    If several items have this id, the page is about the one of the run in the query, or of the newest run.
    """
    suite, name = suite_of(request.path_params["suite"]), str(request.path_params["item"])
    folders = _folders_with(site, suite, name)
    chosen = request.query_params.get("run") or (folders[-1].name if folders else "")
    if chosen not in [folder.name for folder in folders]:
        where = f"run {chosen!r}" if chosen else "any run"
        raise HTTPException(404, f"there is no item {name!r} of {suite.name} in {where}")
    runs, different = [], []
    with site.open(chosen) as first:
        item = first.item(name)
        assert item is not None, "it was found there"
        for folder in folders:
            with site.open_folder(folder) as run:
                if is_same_item(first, item, run):
                    runs.append(_run_values(run, folder.name, item, suite))
                else:
                    different.append((folder.name, history_url(suite.name, name, folder.name)))
    scored = [run for run in runs if run["scored"]]
    passed = sum(run["passed"] == run["scored"] for run in scored)
    return page(
        "history.html",
        suite=suite,
        item=item,
        level=level_name(suite, item.level),
        chosen=chosen,
        runs=runs,
        summary=f"passes in {passed} of {len(scored)} run{'' if len(scored) == 1 else 's'} that have a verdict",
        others=different,
        max_samples=_MAX_SAMPLES,
    )


def _folders_with(site: Site, suite: Benchmark, item: str) -> list[RunFolder]:
    """Return the runs with an item of the given ID by date, skipping unreadable runs."""
    dated = []
    for folder in site.runs():
        with suppress(*READ_ERRORS), site.open_folder(folder) as run:
            if run.manifest.suite == suite.name and run.item(item) is not None:
                dated.append((run.manifest.created, folder))
    return [folder for _, folder in sorted(dated, key=lambda pair: pair[0])]


def _run_values(run: StoredRun, name: str, item: PlannedItem, suite: Benchmark) -> dict[str, object]:
    samples = run.manifest.samples
    images = list(run.judged([(item.id, sample) for sample in range(samples)]))
    passed = [judged.outcome.passed for judged in images if judged.outcome.passed is not None]
    return {
        "name": name,
        "url": build_url("/run", run=name),
        "manifest": run.manifest,
        "images": [_image_values(run, name, item, judged, suite) for judged in images[:_MAX_SAMPLES]],
        "passed": sum(passed),
        "scored": len(passed),
        "samples": samples,
    }


def _image_values(run: StoredRun, name: str, item: PlannedItem, judged: Judged, suite: Benchmark) -> dict[str, object]:
    outcome, sample = outcome_name(judged.outcome.passed), judged.outcome.sample
    image = run.image_file(item.id, sample)
    sentences = failure_sentences(judged.verdict, suite, item.formula) if outcome != "pass" else []
    return {
        "sample": sample,
        "outcome": outcome,
        "sign": SIGNS[outcome],
        "failed": [sentence.text for sentence in sentences],
        "url": build_url("/item", run=name, item=item.id, sample=sample),
        "thumbnail": "" if image is None else thumbnail_url(name, item.id, sample, image.sha256),
    }
