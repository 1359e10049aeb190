"""One image: what was asked, what was found, why it passes or fails, and what others made of the same item."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.analysis import counterfactual_specs
from formalimg.judges import Part, Unscored, Verdict
from formalimg.logic import FormulaError, Not, Or, parse, to_pretty_text, vocabulary_names
from formalimg.reporting import Exhibit, image, level_name, words_of
from formalimg.runs import Judged, ListedImage, PlannedItem, StoredRun
from formalimg.suites import FormulaSpec
from formalimg.web.rendering import page, trusted_markup
from formalimg.web.viewer.gallery import SIGNS, outcome_name, thumbnail_url
from formalimg.web.viewer.highlight import highlight_prompt
from formalimg.web.viewer.site import READ_ERRORS, Site
from formalimg.web.viewer.urls import ViewState, build_url, parse_number, parse_view_state, require_value

_MAX_SIDE = 640
"""Boxes and their labels are drawn as if the image were so large."""

_SHOWN_ELSEWHERE = ("explanation",)


class _HostedImage(NamedTuple):
    """An image that the site has under an address."""

    address: str
    width: int
    height: int


def item_page(site: Site, request: Request) -> Response:
    """The page of an image."""
    view = parse_view_state(request)
    name, sample = require_value(request.query_params, "item"), parse_number(request.query_params, "sample") or 0
    (section,) = site.comparison(view.run, view.judge).sections
    (row,) = section.rows
    with site.open(view.run, view.judge) as run:
        item = run.item(name)
        judged = next(run.judged([(name, sample)]), None)
        if item is None or judged is None:
            raise HTTPException(404, f"the run has no image {sample} of an item {name!r}")
        parts = judged.verdict.parts if isinstance(judged.verdict, Verdict) else ()
        before, after = run.neighbours(view.filter, name, sample)
        return page(
            "item.html",
            view=view,
            row=row,
            item=item,
            sample=sample,
            level=level_name(section.suite, item.level),
            outcome=outcome_name(judged.outcome.passed),
            sign=SIGNS[outcome_name(judged.outcome.passed)],
            verdict=judged.verdict,
            why=verdict_reason(judged.verdict),
            score=judged.outcome.score,
            gated_by=_factual(run, name, sample, view) if (name, sample) in row.gated else "",
            image=_image(run, item, judged, view.run),
            full=_full(run, name, sample, view.run),
            prompt=highlight_prompt(item.prompt, parts, section.suite),
            formula=highlight_formula(item.formula, parts) if item.formula else [],
            playground=_playground(run, name),
            parts=sorted(parts, key=lambda part: part.score >= 1),
            words=words_of(section.suite),
            explanation=_explanation(judged.verdict),
            evidence=_evidence(judged.verdict),
            witness=build_url("/witness", run=view.run, item=name) if _has_witness(run, name) else "",
            seed=judged.seed,
            served=judged.served,
            related=related_images(site, run, item, sample, view),
            before=_image_url(before, view),
            after=_image_url(after, view),
        )


def _image_url(listed: ListedImage | None, view: ViewState) -> str:
    return "" if listed is None else view.url("/item", item=listed.outcome.item, sample=listed.outcome.sample)


def _factual(run: StoredRun, name: str, sample: int, view: ViewState) -> str:
    """Where the factual image of the group is, whose score is the gate of the others."""
    specs = counterfactual_specs(run)
    group = specs[name].group
    factual = next(one for one, spec in specs.items() if spec.group == group and run.items[one].level == 1)
    return build_url("/item", run=view.run, judge=view.judge, item=factual, sample=sample)


def _full(run: StoredRun, item: str, sample: int, name: str) -> str:
    """Where the image is as it is stored; empty if there is none."""
    found = run.image_file(item, sample)
    return "" if found is None else build_url("/image", run=name, item=item, sample=sample, sha256=found.sha256[:16])


def _playground(run: StoredRun, name: str) -> str:
    """Where the formula can be tried out; empty if there is none, or its vocabulary is not one of ours."""
    item = run.suite_item(name)
    if item is None or not isinstance(item.spec, FormulaSpec) or item.suite not in vocabulary_names():
        return ""
    formula = to_pretty_text(item.spec.formula, WIDTH)
    return build_url("/playground", vocabulary=item.suite, formula=formula, style=item.spec.style)


def _image(run: StoredRun, item: PlannedItem, judged: Judged, name: str) -> str:
    """The image with its boxes, or why there is none."""
    found = run.image_file(item.id, judged.outcome.sample)
    if found is None:
        return trusted_markup(image(Exhibit(item, judged, "no image")))
    scale = _MAX_SIDE / max(found.width, found.height)
    served = _HostedImage(
        _full(run, item.id, judged.outcome.sample, name),
        max(round(found.width * scale), 1),
        max(round(found.height * scale), 1),
    )
    return trusted_markup(image(Exhibit(item, judged, served)))


def _has_witness(run: StoredRun, name: str) -> bool:
    item = run.suite_item(name)
    return item is not None and isinstance(item.spec, FormulaSpec) and item.spec.witness is not None


def _explanation(verdict: Verdict | Unscored) -> str:
    told = verdict.evidence.get("explanation")
    return told if isinstance(told, str) else ""


def _evidence(verdict: Verdict | Unscored) -> list[tuple[str, str]]:
    """What the judge left besides, as it is: texts as texts, everything else as JSON."""
    return [(name, _plain(value)) for name, value in verdict.evidence.items() if name not in _SHOWN_ELSEWHERE]


def _plain(value: object) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


WIDTH = 64
"""Of formulas on pages, in characters."""

_WORDS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall)(?=[\s)])"
_ATOMS = r"\([A-Z]\w*(?:\s+[^()]*)?\)"

Sort: TypeAlias = Literal["holds", "fails", "open", "word", ""]


class FormulaSpan(NamedTuple):
    """Some text of a formula: an atom that holds, fails or is open, a word of the language, or what is between."""

    text: str
    sort: Sort


def highlight_formula(formula: str, parts: Sequence[Part]) -> list[FormulaSpan]:
    """The formula, broken into lines, with its atoms told apart by the clauses that the judge decided."""
    try:
        shown = to_pretty_text(parse(formula), WIDTH)
    except FormulaError:
        shown = formula
    fared: dict[str, Sort] = {}
    for part in sorted(parts, key=lambda part: -part.score):  # what fails anywhere is shown as failed
        fared |= dict.fromkeys(_atoms_of_clause(part.name), "holds" if part.score >= 1 else "fails")
    return list(_formula_spans(shown, fared))


def _formula_spans(shown: str, fared: dict[str, Sort]) -> Iterator[FormulaSpan]:
    place = 0
    for found in re.finditer(f"(?P<word>{_WORDS})|(?P<atom>{_ATOMS})", shown):
        yield FormulaSpan(shown[place : found.start()], "")
        sort: Sort = "word" if found["word"] else fared.get(" ".join(found.group().split()), "open")
        yield FormulaSpan(found.group(), sort)
        place = found.end()
    yield FormulaSpan(shown[place:], "")


def _atoms_of_clause(name: str) -> Iterator[str]:
    try:
        clause = parse(name)
    except FormulaError:
        return  # a question in words, or a clause that names its variables in another way
    for literal in clause.parts if isinstance(clause, Or) else (clause,):
        yield str(literal.body if isinstance(literal, Not) else literal)


_MAX_RELATED = 48
"""So many images of the run, and so many of other runs, are shown beside."""


class RelatedImage(NamedTuple):
    """One of the other images or verdicts.

    Attributes:
        name: what it is called here.
        outcome, sign: how it fared.
        why: what failed.
        url: its page.
        thumbnail: where it is small; empty if there is none.
        is_here: it is the one that is looked at.
    """

    name: str
    outcome: str
    sign: str
    why: str
    url: str
    thumbnail: str
    is_here: bool


class RelatedImages(NamedTuple):
    """All that is shown beside an image; nothing where there is only the image itself."""

    samples: list[RelatedImage]
    judges: list[RelatedImage]
    others: list[RelatedImage]


def related_images(site: Site, run: StoredRun, item: PlannedItem, sample: int, view: ViewState) -> RelatedImages:
    """What is shown beside an image."""
    return RelatedImages(
        list(_samples(run, item.id, sample, view)),
        list(_other_judges(site, run, item.id, sample, view)),
        list(islice(_in_other_runs(site, run, item, view), _MAX_RELATED)),
    )


def verdict_reason(verdict: Verdict | Unscored) -> str:
    """Why there is no verdict, or which rule made it; empty if the parts say all."""
    if isinstance(verdict, Unscored):
        return ": ".join(filter(None, [verdict.reason, verdict.detail]))
    return f"failed by rule: {verdict.evidence['rule']}" if "rule" in verdict.evidence else ""


def failure_text(verdict: Verdict | Unscored) -> str:
    """What failed, in short: why there is no verdict, the rule, or the parts; empty if all of it holds."""
    failed = [part.name for part in verdict.parts if part.score < 1] if isinstance(verdict, Verdict) else []
    return verdict_reason(verdict) or "; ".join(failed)


def _samples(run: StoredRun, item: str, sample: int, view: ViewState) -> Iterator[RelatedImage]:
    first = max(min(sample - _MAX_RELATED // 2, run.manifest.samples - _MAX_RELATED), 0)
    wanted = [(item, one) for one in range(first, min(first + _MAX_RELATED, run.manifest.samples))]
    for judged in run.judged(wanted) if len(wanted) > 1 else ():
        one = judged.outcome.sample
        small = _thumbnail(run, view.run, item, one)
        yield _related_image(f"image {one}", judged, view.url("/item", item=item, sample=one), small, one == sample)


def _other_judges(site: Site, run: StoredRun, item: str, sample: int, view: ViewState) -> Iterator[RelatedImage]:
    judges = run.judges()
    for place, judge in enumerate(judges) if len(judges) > 1 else ():
        with site.open(view.run, place) as seen:
            for judged in seen.judged([(item, sample)]):
                url = view.url("/item", judge=place, item=item, sample=sample)
                yield _related_image(judge.name, judged, url, "", judge == run.manifest.judge)


def _in_other_runs(site: Site, run: StoredRun, item: PlannedItem, view: ViewState) -> Iterator[RelatedImage]:
    """All images of the item in the other runs of the suite. The first page tells of runs that cannot be read."""
    for found in site.runs():
        if found.name == view.run:
            continue
        try:
            with site.open(found.name) as other:
                if other.manifest.suite == run.manifest.suite and is_same_item(run, item, other):
                    yield from _all_images(other, found.name, item.id)
        except READ_ERRORS:
            continue


def _all_images(run: StoredRun, name: str, item: str) -> Iterator[RelatedImage]:
    samples = min(run.manifest.samples, _MAX_RELATED)
    for judged in run.judged([(item, one) for one in range(samples)]):
        one = judged.outcome.sample
        title = f"{run.manifest.model.name} ({name})" + (f", image {one}" if samples > 1 else "")
        url = build_url("/item", run=name, item=item, sample=one)
        yield _related_image(title, judged, url, _thumbnail(run, name, item, one), False)


def _related_image(name: str, judged: Judged, url: str, thumbnail: str, is_here: bool) -> RelatedImage:
    sort = outcome_name(judged.outcome.passed)
    return RelatedImage(name, sort, SIGNS[sort], failure_text(judged.verdict), url, thumbnail, is_here)


def _thumbnail(run: StoredRun, name: str, item: str, sample: int) -> str:
    found = run.image_file(item, sample)
    return "" if found is None else thumbnail_url(name, item, sample, found.sha256)


def is_same_item(run: StoredRun, item: PlannedItem, other: StoredRun) -> bool:
    """Does another run ask the same under the same id?"""
    there = other.item(item.id)
    return there is not None and (_share_items(run, other) or _requirement(there) == _requirement(item))


def same_items(runs: Sequence[StoredRun]) -> set[str]:
    """The ids under which all runs ask the same."""
    first, *others = runs
    same = set(first.items)
    for other in others:
        if _share_items(first, other):
            continue
        there = other.items
        same = {name for name in same if name in there and _requirement(there[name]) == _requirement(first.items[name])}
    return same


def _share_items(run: StoredRun, other: StoredRun) -> bool:
    return run.manifest.items_digest == other.manifest.items_digest


def _requirement(item: PlannedItem) -> tuple[int, str]:
    return item.level, item.formula or item.prompt
