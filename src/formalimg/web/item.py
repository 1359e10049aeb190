"""One image: what was asked, what was found, why it passes or fails, and what others made of the same item."""

from __future__ import annotations

import json
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.analysis import counterfactual_specs
from formalimg.judges import Unscored, Verdict
from formalimg.logic import to_pretty_text, vocabulary_names
from formalimg.reporting import Exhibit, image, level_name, words_of
from formalimg.runs import Judged, ListedImage, PlannedItem, StoredRun
from formalimg.suites import FormulaSpec
from formalimg.web.asking import Look, address, look_of, named, number
from formalimg.web.beside import beside, why
from formalimg.web.formula import WIDTH, formula_pieces
from formalimg.web.gallery import SIGNS, outcome_sort
from formalimg.web.marking import marked
from formalimg.web.pages import drawn, page
from formalimg.web.site import Site

_LONGEST_SIDE = 640
"""Boxes and their labels are drawn as if the image were so large."""

_TOLD_ELSEWHERE = ("explanation",)


class _Served(NamedTuple):
    """An image that the site has under an address."""

    address: str
    width: int
    height: int


def item_page(site: Site, request: Request) -> Response:
    """The page of an image."""
    look = look_of(request)
    name, sample = named(request.query_params, "item"), number(request.query_params, "sample") or 0
    (section,) = site.compared(look.run, look.judge).sections
    (row,) = section.rows
    with site.opened(look.run, look.judge) as run:
        item = run.item(name)
        judged = next(run.judged([(name, sample)]), None)
        if item is None or judged is None:
            raise HTTPException(404, f"the run has no image {sample} of an item {name!r}")
        parts = judged.verdict.parts if isinstance(judged.verdict, Verdict) else ()
        before, after = run.neighbours(look.wanted, name, sample)
        return page(
            "item.html",
            look=look,
            row=row,
            item=item,
            sample=sample,
            level=level_name(section.suite, item.level),
            outcome=outcome_sort(judged.outcome.passed),
            sign=SIGNS[outcome_sort(judged.outcome.passed)],
            verdict=judged.verdict,
            why=why(judged.verdict),
            score=judged.outcome.score,
            gated_by=_factual(run, name, sample, look) if (name, sample) in row.gated else "",
            image=_image(run, item, judged, look.run),
            full=_full(run, name, sample, look.run),
            prompt=marked(item.prompt, parts, section.suite),
            formula=formula_pieces(item.formula, parts) if item.formula else [],
            playground=_playground(run, name),
            parts=sorted(parts, key=lambda part: part.score >= 1),
            words=words_of(section.suite),
            explanation=_explanation(judged.verdict),
            evidence=_evidence(judged.verdict),
            witness=address("/witness", run=look.run, item=name) if _has_witness(run, name) else "",
            seed=judged.seed,
            served=judged.served,
            beside=beside(site, run, item, sample, look),
            before=_address_of(before, look),
            after=_address_of(after, look),
        )


def _address_of(listed: ListedImage | None, look: Look) -> str:
    return "" if listed is None else look.address("/item", item=listed.outcome.item, sample=listed.outcome.sample)


def _factual(run: StoredRun, name: str, sample: int, look: Look) -> str:
    """Where the factual image of the group is, whose score is the gate of the others."""
    specs = counterfactual_specs(run)
    group = specs[name].group
    factual = next(one for one, spec in specs.items() if spec.group == group and run.items[one].level == 1)
    return address("/item", run=look.run, judge=look.judge, item=factual, sample=sample)


def _full(run: StoredRun, item: str, sample: int, name: str) -> str:
    """Where the image is as it is stored; empty if there is none."""
    found = run.image_file(item, sample)
    return "" if found is None else address("/image", run=name, item=item, sample=sample, sha256=found.sha256[:16])


def _playground(run: StoredRun, name: str) -> str:
    """Where the formula can be tried out; empty if there is none, or its vocabulary is not one of ours."""
    item = run.suite_item(name)
    if item is None or not isinstance(item.spec, FormulaSpec) or item.suite not in vocabulary_names():
        return ""
    formula = to_pretty_text(item.spec.formula, WIDTH)
    return address("/playground", vocabulary=item.suite, formula=formula, style=item.spec.style)


def _image(run: StoredRun, item: PlannedItem, judged: Judged, name: str) -> str:
    """The image with its boxes, or why there is none."""
    found = run.image_file(item.id, judged.outcome.sample)
    if found is None:
        return drawn(image(Exhibit(item, judged, "no image")))
    scale = _LONGEST_SIDE / max(found.width, found.height)
    served = _Served(
        _full(run, item.id, judged.outcome.sample, name),
        max(round(found.width * scale), 1),
        max(round(found.height * scale), 1),
    )
    return drawn(image(Exhibit(item, judged, served)))


def _has_witness(run: StoredRun, name: str) -> bool:
    item = run.suite_item(name)
    return item is not None and isinstance(item.spec, FormulaSpec) and item.spec.witness is not None


def _explanation(verdict: Verdict | Unscored) -> str:
    told = verdict.evidence.get("explanation")
    return told if isinstance(told, str) else ""


def _evidence(verdict: Verdict | Unscored) -> list[tuple[str, str]]:
    """What the judge left besides, as it is: texts as texts, everything else as JSON."""
    return [(name, _plain(value)) for name, value in verdict.evidence.items() if name not in _TOLD_ELSEWHERE]


def _plain(value: object) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return "\n\n".join(value)
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
