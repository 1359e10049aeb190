"""The page of an item in a run, and the page of its results in all runs of the folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg._util.text import truncate
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.base import soft_score
from formalimg.judges.failures import failure_sentences, failure_text
from formalimg.judges.observations import clause_disagreement, count_boxes, explanation_title
from formalimg.logic.syntax import to_pretty_text
from formalimg.logic.vocabulary import vocabulary_names
from formalimg.reports.gallery import image_html
from formalimg.reports.page_images import ExampleImage
from formalimg.reports.run_numbers import is_same_item
from formalimg.reports.tables.format import level_name
from formalimg.runs.database import PlannedItem
from formalimg.runs.queries import ListedImage
from formalimg.runs.reader import Judged, StoredRun
from formalimg.scoring.user_inputs import GIVEN
from formalimg.types import Benchmark, Item, Unscored, Verdict
from formalimg.web.rendering import page
from formalimg.web.viewer.highlight import WIDTH, highlight_formula, highlight_prompt, list_parts
from formalimg.web.viewer.site import READ_ERRORS, RunFolder, Site
from formalimg.web.viewer.summaries import image_path
from formalimg.web.viewer.tiles import SIGNS, outcome_name, thumbnail_url
from formalimg.web.viewer.urls import ViewState, build_url, history_url, parse_number, parse_view_state, require_value

_MAX_SIDE = 640  # boxes and labels are drawn as if the image had this size
_MAX_DROPPED = 20  # labels of dropped boxes that are listed
_MAX_LABEL = 80
_MAX_RELATED = 48  # images of the item shown from this run, and from other runs
_TEXTS = ("explanation", "not_checked")  # evidence with a section of its own


def item_page(site: Site, request: Request) -> Response:
    """Return the page of an image."""
    view = parse_view_state(request)
    name, sample = require_value(request.query_params, "item"), parse_number(request.query_params, "sample") or 0
    (section,) = site.comparison(view.run, view.judge).sections
    (row,) = section.rows
    suite = section.suite
    with site.open(view.run, view.judge) as run:
        item, suite_item = run.item(name), run.suite_item(name)
        judged = next(run.judged([(name, sample)]), None)
        if item is None or judged is None:
            raise HTTPException(404, f"the run has no image {sample} of an item {name!r}")
        verdict, is_supplied = judged.verdict, run.manifest.model.name == GIVEN
        parts = verdict.parts if isinstance(verdict, Verdict) else ()
        outcome = outcome_name(judged.outcome.passed)
        sentences = failure_sentences(verdict, suite, item.formula) if outcome == "fail" else []
        before, after = run.neighbours(view.filter, name, sample, by_score=is_supplied)
        return page(
            "item.html",
            view=view,
            row=row,
            item=item,
            sample=sample,
            file=image_path(judged) if is_supplied else "",
            level=level_name(suite, item.level),
            outcome=outcome,
            sign=SIGNS[outcome],
            verdict=verdict,
            why=verdict_reason(verdict),
            disagreement=clause_disagreement(verdict),
            dropped=_find_dropped_boxes(verdict),
            score=judged.outcome.score,
            soft_score=soft_score(verdict) if isinstance(verdict, Verdict) else None,
            gated_by=_gate_url(run, name, sample, view) if (name, sample) in row.gated else "",
            image=image_with_boxes(run, item, judged, view.run, suite),
            failed=[sentence.text for sentence in sentences],
            history=history_url(suite.name, name, view.run),
            full=_file_url(run, name, sample, view.run),
            prompt=highlight_prompt(item.prompt, parts, suite),
            formula=highlight_formula(item.formula, parts) if item.formula else [],
            playground=_url_in_playground(suite_item),
            parts=list_parts(parts, item.formula, suite),
            has_reasons=any(part.reason for part in parts),
            has_p_yes=any(part.p_yes is not None for part in parts),
            terms=suite.terms,
            explanation_title=explanation_title(verdict),
            explanation=_text(verdict, "explanation"),
            not_checked=_text(verdict, "not_checked"),
            evidence=[(key, _plain(value)) for key, value in verdict.evidence.items() if key not in _TEXTS],
            witness=build_url("/witness", run=view.run, item=name) if _has_witness(suite_item) else "",
            seed=judged.seed,
            served=judged.served,
            related={
                "samples": list(_samples(run, item, sample, view)),
                "judges": list(_other_judges(site, run, item, sample, view)),
                "others": list(islice(_in_other_runs(site, run, item, view), _MAX_RELATED)),
            },
            before=_image_url(before, view),
            after=_image_url(after, view),
        )


def _image_url(listed: ListedImage | None, view: ViewState) -> str:
    return "" if listed is None else view.url("/item", item=listed.outcome.item, sample=listed.outcome.sample)


def _gate_url(run: StoredRun, name: str, sample: int, view: ViewState) -> str:
    """Return the URL of the image whose score gates this image."""
    gate = suite_of(run.manifest.suite).gate_item(run, name)
    return build_url("/item", run=view.run, judge=view.judge, item=gate, sample=sample)


def _file_url(run: StoredRun, item: str, sample: int, name: str) -> str:
    image = run.image_file(item, sample)
    return "" if image is None else build_url("/image", run=name, item=item, sample=sample, sha256=image.sha256[:16])


def _url_in_playground(item: Item[object] | None) -> str:
    """Return the URL of an item's formula in the playground, or an empty string if it cannot be opened there."""
    if item is None or not isinstance(item.spec, FormulaSpec):
        return ""
    vocabulary = suite_of(item.suite).vocabulary
    if vocabulary not in vocabulary_names():  # the playground opens no files
        return ""
    formula = to_pretty_text(item.spec.formula, WIDTH) if item.spec.unreadable is None else item.spec.unreadable
    return build_url("/playground", vocabulary=vocabulary, formula=formula, style=item.spec.style)


def _has_witness(item: Item[object] | None) -> bool:
    """Return whether an item has a witness that can be drawn."""
    if item is None or suite_of(item.suite).world != "icons":
        return False
    return isinstance(item.spec, FormulaSpec) and item.spec.witness is not None


class _HostedImage(NamedTuple):
    address: str
    width: int
    height: int


def image_with_boxes(
    run: StoredRun,
    item: PlannedItem,
    judged: Judged,
    name: str,
    suite: Benchmark,
    *,
    side: int = _MAX_SIDE,
    link: str = "",
) -> Markup:
    """Return an image with its boxes, or the reason why it cannot be shown."""
    sample = judged.outcome.sample
    image = run.image_file(item.id, sample)
    if image is None:
        return Markup(image_html(ExampleImage(item, judged, "no image"), suite))
    scale = side / max(image.width, image.height)
    address = thumbnail_url(name, item.id, sample, image.sha256) if link else _file_url(run, item.id, sample, name)
    hosted = _HostedImage(address, max(round(image.width * scale), 1), max(round(image.height * scale), 1))
    return Markup(image_html(ExampleImage(item, judged, hosted), suite, link))


# --- verdict


def verdict_reason(verdict: Verdict | Unscored) -> str:
    """Return why there is no verdict, or the rule behind it, or an empty string if the parts explain it."""
    if isinstance(verdict, Unscored):
        return ": ".join(filter(None, [verdict.reason, verdict.detail]))
    return f"failed by rule: {verdict.evidence['rule']}" if "rule" in verdict.evidence else ""


def _find_dropped_boxes(verdict: Verdict | Unscored) -> dict[str, object] | None:
    """Return the boxes whose labels were not requested, or None if there are none."""
    counts = count_boxes(verdict)
    if counts is None or not counts.dropped:
        return None
    action = "left in, as published, although not asked for" if counts.left_in else "dropped for their labels"
    boxes = [
        {"label": truncate(label, _MAX_LABEL, 20), "asked_for": ", ".join(requests), "times": times}
        for (label, requests), times in Counter(counts.dropped).most_common(_MAX_DROPPED)
    ]
    return {"summary": f"{len(counts.dropped):,} of {counts.given:,} boxes {action}", "boxes": boxes}


def _text(verdict: Verdict | Unscored, name: str) -> str:
    text = verdict.evidence.get(name)
    return text if isinstance(text, str) else ""


def _plain(value: object) -> str:
    """Return an observation of the judge with texts unchanged and everything else as JSON."""
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return "\n\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


# --- related images


class RelatedImage(NamedTuple):
    """Another image or verdict of the same item."""

    name: str
    outcome: str
    sign: str
    why: str  # what failed
    url: str
    thumbnail: str  # its URL; empty if there is none
    is_here: bool  # whether the page shows it


def _samples(run: StoredRun, item: PlannedItem, sample: int, view: ViewState) -> Iterator[RelatedImage]:
    first = max(min(sample - _MAX_RELATED // 2, run.manifest.samples - _MAX_RELATED), 0)
    keys = [(item.id, number) for number in range(first, min(first + _MAX_RELATED, run.manifest.samples))]
    for judged in run.judged(keys) if len(keys) > 1 else ():
        number = judged.outcome.sample
        url, thumbnail = view.url("/item", item=item.id, sample=number), _thumbnail(run, view.run, item.id, number)
        yield _link_image(run, item, judged, f"image {number}", url, thumbnail, number == sample)


def _other_judges(
    site: Site, run: StoredRun, item: PlannedItem, sample: int, view: ViewState
) -> Iterator[RelatedImage]:
    judges = run.judges()
    for index, judge in enumerate(judges) if len(judges) > 1 else ():
        with site.open(view.run, index) as judged_run:
            for judged in judged_run.judged([(item.id, sample)]):
                url = view.url("/item", judge=index, item=item.id, sample=sample)
                yield _link_image(run, item, judged, judge.name, url, "", judge == run.manifest.judge)


def _in_other_runs(site: Site, run: StoredRun, item: PlannedItem, view: ViewState) -> Iterator[RelatedImage]:
    """Yield all images of the item in other runs of the suite, skipping unreadable runs."""
    for folder in site.runs():
        if folder.name == view.run:
            continue
        try:
            with site.open_folder(folder) as candidate:
                if candidate.manifest.suite == run.manifest.suite and is_same_item(run, item, candidate):
                    images = partial(_all_images, candidate, folder.name, item)
                    yield from site.shared(("related", folder.name, item.id), images)
        except READ_ERRORS:
            continue


def _all_images(run: StoredRun, name: str, item: PlannedItem) -> list[RelatedImage]:
    images: list[RelatedImage] = []
    samples = min(run.manifest.samples, _MAX_RELATED)
    for judged in run.judged([(item.id, sample) for sample in range(samples)]):
        sample = judged.outcome.sample
        title = f"{run.manifest.model.name} ({name})" + (f", image {sample}" if samples > 1 else "")
        url = build_url("/item", run=name, item=item.id, sample=sample)
        images.append(_link_image(run, item, judged, title, url, _thumbnail(run, name, item.id, sample), False))
    return images


def _link_image(
    run: StoredRun, item: PlannedItem, judged: Judged, name: str, url: str, thumbnail: str, is_here: bool
) -> RelatedImage:
    outcome = outcome_name(judged.outcome.passed)
    failure = "" if outcome == "pass" else failure_text(judged.verdict, suite_of(run.manifest.suite), item.formula)
    return RelatedImage(name, outcome, SIGNS[outcome], failure, url, thumbnail, is_here)


def _thumbnail(run: StoredRun, name: str, item: str, sample: int) -> str:
    image = run.image_file(item, sample)
    return "" if image is None else thumbnail_url(name, item, sample, image.sha256)


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
