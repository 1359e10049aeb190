"""The page of an image: prompt, verdict and reasons, and the same item in other samples, judges and runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
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
from formalimg.web.rendering import page, trusted_markup
from formalimg.web.viewer.clauses import WIDTH, highlight_formula, shown_parts
from formalimg.web.viewer.highlight import highlight_prompt
from formalimg.web.viewer.scored_images import image_path
from formalimg.web.viewer.site import READ_ERRORS, Site
from formalimg.web.viewer.tiles import SIGNS, outcome_name, thumbnail_url
from formalimg.web.viewer.urls import ViewState, build_url, history_url, parse_number, parse_view_state, require_value

_MAX_SIDE = 640
"""Boxes and labels are drawn as if the image had this size."""

_MAX_DROPPED = 20
"""So many different labels that were not asked for are listed."""
_MAX_LABEL = 80

_SHOWN_ELSEWHERE = ("explanation", "not_checked")


class _HostedImage(NamedTuple):
    """An image served by the site."""

    address: str
    width: int
    height: int


def item_page(site: Site, request: Request) -> Response:
    """Return the page of an image."""
    view = parse_view_state(request)
    name, sample = require_value(request.query_params, "item"), parse_number(request.query_params, "sample") or 0
    (section,) = site.comparison(view.run, view.judge).sections
    (row,) = section.rows
    terms = section.suite.terms
    with site.open(view.run, view.judge) as run:
        item, asked = run.item(name), run.suite_item(name)
        judged = next(run.judged([(name, sample)]), None)
        if item is None or judged is None:
            raise HTTPException(404, f"the run has no image {sample} of an item {name!r}")
        parts = judged.verdict.parts if isinstance(judged.verdict, Verdict) else ()
        before, after = run.neighbours(view.filter, name, sample, by_score=run.manifest.model.name == GIVEN)
        return page(
            "item.html",
            view=view,
            row=row,
            item=item,
            sample=sample,
            file=image_path(judged) if run.manifest.model.name == GIVEN else "",
            level=level_name(section.suite, item.level),
            outcome=outcome_name(judged.outcome.passed),
            sign=SIGNS[outcome_name(judged.outcome.passed)],
            verdict=judged.verdict,
            why=verdict_reason(judged.verdict),
            disagreement=clause_disagreement(judged.verdict),
            dropped=_dropped(judged.verdict),
            score=judged.outcome.score,
            soft_score=soft_score(judged.verdict) if isinstance(judged.verdict, Verdict) else None,
            gated_by=_gate_url(run, name, sample, view) if (name, sample) in row.gated else "",
            image=boxed_image(run, item, judged, view.run, section.suite),
            failed=[one.text for one in failure_sentences(judged.verdict, section.suite, item.formula)]
            if judged.outcome.passed is False
            else [],
            history=history_url(section.suite.name, name, view.run),
            full=_full(run, name, sample, view.run),
            prompt=highlight_prompt(item.prompt, parts, section.suite),
            formula=highlight_formula(item.formula, parts) if item.formula else [],
            playground=_playground(asked),
            parts=shown_parts(parts, item.formula, section.suite),
            has_reasons=any(part.reason for part in parts),
            has_p_yes=any(part.p_yes is not None for part in parts),
            terms=terms,
            explanation=_text(judged.verdict, "explanation"),
            not_checked=_text(judged.verdict, "not_checked"),
            explanation_title=explanation_title(judged.verdict),
            evidence=_evidence(judged.verdict),
            witness=build_url("/witness", run=view.run, item=name) if _has_witness(asked) else "",
            seed=judged.seed,
            served=judged.served,
            related=related_images(site, run, item, sample, view),
            before=_image_url(before, view),
            after=_image_url(after, view),
        )


def _image_url(listed: ListedImage | None, view: ViewState) -> str:
    return "" if listed is None else view.url("/item", item=listed.outcome.item, sample=listed.outcome.sample)


def _gate_url(run: StoredRun, name: str, sample: int, view: ViewState) -> str:
    """Return the URL of the image whose score gates this image."""
    gate = suite_of(run.manifest.suite).gate_item(run, name)
    return build_url("/item", run=view.run, judge=view.judge, item=gate, sample=sample)


def _full(run: StoredRun, item: str, sample: int, name: str) -> str:
    """Return the URL of the image as stored, or an empty string if there is none."""
    found = run.image_file(item, sample)
    return "" if found is None else build_url("/image", run=name, item=item, sample=sample, sha256=found.sha256[:16])


def _playground(item: Item[object] | None) -> str:
    """Return the URL of an item's formula in the playground, or an empty string if it cannot be opened there."""
    if item is None or not isinstance(item.spec, FormulaSpec):
        return ""
    vocabulary = suite_of(item.suite).vocabulary
    if vocabulary not in vocabulary_names():  # the playground opens no files
        return ""
    formula = to_pretty_text(item.spec.formula, WIDTH) if item.spec.unreadable is None else item.spec.unreadable
    return build_url("/playground", vocabulary=vocabulary, formula=formula, style=item.spec.style)


def boxed_image(
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
    found = run.image_file(item.id, judged.outcome.sample)
    if found is None:
        return trusted_markup(image_html(ExampleImage(item, judged, "no image"), suite))
    scale = side / max(found.width, found.height)
    small = thumbnail_url(name, item.id, judged.outcome.sample, found.sha256)
    served = _HostedImage(
        small if link else _full(run, item.id, judged.outcome.sample, name),
        max(round(found.width * scale), 1),
        max(round(found.height * scale), 1),
    )
    return trusted_markup(image_html(ExampleImage(item, judged, served), suite, link))


def _has_witness(item: Item[object] | None) -> bool:
    """Return whether an item has a witness that can be drawn."""
    if item is None or suite_of(item.suite).world != "icons":
        return False
    return isinstance(item.spec, FormulaSpec) and item.spec.witness is not None


class _DroppedLabel(NamedTuple):
    label: str
    asked_for: str
    times: int


class _DroppedBoxes(NamedTuple):
    """The boxes of an image whose labels were not requested."""

    summary: str
    boxes: list[_DroppedLabel]


def _dropped(verdict: Verdict | Unscored) -> _DroppedBoxes | None:
    """Return the boxes whose labels were not requested, or None if there are none."""
    found = count_boxes(verdict)
    if found is None or not found.dropped:
        return None
    what = "left in, as published, although not asked for" if found.left_in else "dropped for their labels"
    return _DroppedBoxes(
        f"{len(found.dropped):,} of {found.given:,} boxes {what}",
        [
            _DroppedLabel(truncate(label, _MAX_LABEL, 20), ", ".join(asked), times)
            for (label, asked), times in Counter(found.dropped).most_common(_MAX_DROPPED)
        ],
    )


def _text(verdict: Verdict | Unscored, name: str) -> str:
    text = verdict.evidence.get(name)
    return text if isinstance(text, str) else ""


def _evidence(verdict: Verdict | Unscored) -> list[tuple[str, str]]:
    """Return further observations of the judge, with text unchanged and everything else as JSON."""
    return [(name, _plain(value)) for name, value in verdict.evidence.items() if name not in _SHOWN_ELSEWHERE]


def _plain(value: object) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


_MAX_RELATED = 48
"""Number of related images shown from the run, and from other runs."""


class RelatedImage(NamedTuple):
    """Another image or verdict of the same item."""

    name: str  # its label
    outcome: str  # its outcome
    sign: str
    why: str  # what failed
    url: str  # its page
    thumbnail: str  # the URL of its thumbnail; empty if there is none
    is_here: bool  # whether it is the one the page shows


class RelatedImages(NamedTuple):
    """Related images for a page, in lists that are empty if there is only the image itself."""

    samples: list[RelatedImage]
    judges: list[RelatedImage]
    others: list[RelatedImage]


def related_images(site: Site, run: StoredRun, item: PlannedItem, sample: int, view: ViewState) -> RelatedImages:
    """Return the other samples, judges and runs of the item."""
    return RelatedImages(
        list(_samples(run, item, sample, view)),
        list(_other_judges(site, run, item, sample, view)),
        list(islice(_in_other_runs(site, run, item, view), _MAX_RELATED)),
    )


def verdict_reason(verdict: Verdict | Unscored) -> str:
    """Return why there is no verdict, or the rule behind it, or an empty string if the parts explain it."""
    if isinstance(verdict, Unscored):
        return ": ".join(filter(None, [verdict.reason, verdict.detail]))
    return f"failed by rule: {verdict.evidence['rule']}" if "rule" in verdict.evidence else ""


def _samples(run: StoredRun, item: PlannedItem, sample: int, view: ViewState) -> Iterator[RelatedImage]:
    first = max(min(sample - _MAX_RELATED // 2, run.manifest.samples - _MAX_RELATED), 0)
    wanted = [(item.id, one) for one in range(first, min(first + _MAX_RELATED, run.manifest.samples))]
    for judged in run.judged(wanted) if len(wanted) > 1 else ():
        one = judged.outcome.sample
        small = _thumbnail(run, view.run, item.id, one)
        url = view.url("/item", item=item.id, sample=one)
        yield _related_image(f"image {one}", judged, _why(run, item, judged), url, small, one == sample)


def _other_judges(
    site: Site, run: StoredRun, item: PlannedItem, sample: int, view: ViewState
) -> Iterator[RelatedImage]:
    judges = run.judges()
    for place, judge in enumerate(judges) if len(judges) > 1 else ():
        with site.open(view.run, place) as seen:
            for judged in seen.judged([(item.id, sample)]):
                url = view.url("/item", judge=place, item=item.id, sample=sample)
                why = _why(run, item, judged)
                yield _related_image(judge.name, judged, why, url, "", judge == run.manifest.judge)


def _in_other_runs(site: Site, run: StoredRun, item: PlannedItem, view: ViewState) -> Iterator[RelatedImage]:
    """Yield all images of the item in other runs of the suite, skipping unreadable runs."""
    for found in site.runs():
        if found.name == view.run:
            continue
        try:
            with site.open_found(found) as other:
                if other.manifest.suite == run.manifest.suite and is_same_item(run, item, other):
                    yield from site.shared(
                        ("related", found.name, item.id), partial(_all_images, other, found.name, item)
                    )
        except READ_ERRORS:
            continue


def _all_images(run: StoredRun, name: str, item: PlannedItem) -> list[RelatedImage]:
    shown: list[RelatedImage] = []
    samples = min(run.manifest.samples, _MAX_RELATED)
    for judged in run.judged([(item.id, one) for one in range(samples)]):
        one = judged.outcome.sample
        title = f"{run.manifest.model.name} ({name})" + (f", image {one}" if samples > 1 else "")
        url = build_url("/item", run=name, item=item.id, sample=one)
        small = _thumbnail(run, name, item.id, one)
        shown.append(_related_image(title, judged, _why(run, item, judged), url, small, False))
    return shown


def _why(run: StoredRun, item: PlannedItem, judged: Judged) -> str:
    passed = judged.outcome.passed
    return "" if passed else failure_text(judged.verdict, suite_of(run.manifest.suite), item.formula)


def _related_image(name: str, judged: Judged, why: str, url: str, thumbnail: str, is_here: bool) -> RelatedImage:
    outcome = outcome_name(judged.outcome.passed)
    return RelatedImage(name, outcome, SIGNS[outcome], why, url, thumbnail, is_here)


def _thumbnail(run: StoredRun, name: str, item: str, sample: int) -> str:
    found = run.image_file(item, sample)
    return "" if found is None else thumbnail_url(name, item, sample, found.sha256)
