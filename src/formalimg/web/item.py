"""One picture: what was asked, what was found, why it passes or fails, and what others made of the same item."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.errors import FormalimgError
from formalimg.judges import Part, Unscored, Verdict
from formalimg.report import Exhibit, level_name, picture, words_of
from formalimg.runs import Judged, ListedPicture, PlannedItem, StoredRun
from formalimg.suites import FormulaSpec
from formalimg.web.asking import Look, address, look_of, named, number
from formalimg.web.formula import formula_pieces
from formalimg.web.gallery import SIGNS, outcome_sort, thumbnail_address
from formalimg.web.marking import marked
from formalimg.web.pages import drawn, page
from formalimg.web.site import Site

_LONGEST_SIDE = 640
"""Boxes and their labels are drawn as if the picture were so large."""

_MOST_OTHERS = 48
"""So many other runs are shown beside."""

_TOLD_ELSEWHERE = ("explanation",)


class _Served(NamedTuple):
    """A picture that the site has under an address."""

    address: str
    width: int
    height: int


class _Beside(NamedTuple):
    """The same item in another picture, by another judge or in another run."""

    name: str
    outcome: str
    sign: str
    why: str
    address: str
    thumbnail: str
    is_here: bool


def item_page(site: Site, request: Request) -> Response:
    """The page of a picture."""
    look = look_of(request)
    name, sample = named(request.query_params, "item"), number(request.query_params, "sample") or 0
    (section,) = site.compared(look.run, look.judge).sections
    (row,) = section.rows
    with site.opened(look.run, look.judge) as run:
        item = run.item(name)
        judged = next(run.judged([(name, sample)]), None)
        if item is None or judged is None:
            raise HTTPException(404, f"the run has no picture {sample} of an item {name!r}")
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
            why=_why(judged.verdict),
            score=judged.outcome.score,
            is_gated=(name, sample) in row.gated,
            picture=_picture(run, item, judged, look.run),
            full=address("/picture", run=look.run, item=name, sample=sample),
            prompt=marked(item.prompt, parts, section.suite),
            formula=formula_pieces(item.formula, parts) if item.formula else [],
            parts=sorted(parts, key=lambda part: part.score >= 1),
            words=words_of(section.suite),
            explanation=_explanation(judged.verdict),
            evidence=_evidence(judged.verdict),
            witness=address("/witness", run=look.run, item=name) if _has_witness(run, name) else "",
            seed=judged.seed,
            served=judged.served,
            samples=list(_samples(run, name, sample, look)),
            judges=list(_by_judges(site, run, name, sample, look)),
            others=list(_in_other_runs(site, run, item, sample, look)),
            before=_address_of(before, look),
            after=_address_of(after, look),
        )


def _address_of(listed: ListedPicture | None, look: Look) -> str:
    return "" if listed is None else look.address("/item", item=listed.outcome.item, sample=listed.outcome.sample)


def _picture(run: StoredRun, item: PlannedItem, judged: Judged, name: str) -> str:
    """The picture with its boxes, or why there is none."""
    found = run.picture_file(item.id, judged.outcome.sample)
    if found is None:
        return drawn(picture(Exhibit(item, judged, "no picture")))
    scale = _LONGEST_SIDE / max(found.width, found.height)
    served = _Served(
        address("/picture", run=name, item=item.id, sample=judged.outcome.sample, sha256=found.sha256[:16]),
        max(round(found.width * scale), 1),
        max(round(found.height * scale), 1),
    )
    return drawn(picture(Exhibit(item, judged, served)))


def _has_witness(run: StoredRun, name: str) -> bool:
    item = run.suite_item(name)
    return item is not None and isinstance(item.spec, FormulaSpec) and item.spec.witness is not None


def _why(verdict: Verdict | Unscored) -> str:
    if isinstance(verdict, Unscored):
        return ": ".join(filter(None, [verdict.reason, verdict.detail]))
    return f"failed by rule: {verdict.evidence['rule']}" if "rule" in verdict.evidence else ""


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


def _beside(name: str, judged: Judged, shown_at: str, thumbnail: str, is_here: bool) -> _Beside:
    sort = outcome_sort(judged.outcome.passed)
    verdict = judged.verdict
    failed: list[Part] = [part for part in verdict.parts if part.score < 1] if isinstance(verdict, Verdict) else []
    why = _why(verdict) or "; ".join(part.name for part in failed)
    return _Beside(name, sort, SIGNS[sort], why, shown_at, thumbnail, is_here)


def _samples(run: StoredRun, item: str, sample: int, look: Look) -> Iterator[_Beside]:
    wanted = [(item, one) for one in range(run.card.samples)]
    for judged in run.judged(wanted) if len(wanted) > 1 else ():
        one = judged.outcome.sample
        small = _thumbnail(run, look.run, item, one)
        yield _beside(f"picture {one}", judged, look.address("/item", item=item, sample=one), small, one == sample)


def _by_judges(site: Site, run: StoredRun, item: str, sample: int, look: Look) -> Iterator[_Beside]:
    judges = run.judges()
    for place, judge in enumerate(judges) if len(judges) > 1 else ():
        with site.opened(look.run, place) as seen:
            for judged in seen.judged([(item, sample)]):
                shown_at = look.address("/item", judge=place, item=item, sample=sample)
                yield _beside(judge.name, judged, shown_at, "", judge == run.card.judge)


def _in_other_runs(site: Site, run: StoredRun, item: PlannedItem, sample: int, look: Look) -> Iterator[_Beside]:
    """The item in the other runs of the suite. Runs that cannot be read are told of on the first page."""
    shown = 0
    for found in site.runs():
        if found.name == look.run or shown >= _MOST_OTHERS:
            continue
        try:
            with site.opened(found.name) as other:
                if other.card.suite != run.card.suite or other.item(item.id) is None:
                    continue
                one = sample if sample < other.card.samples else 0
                for judged in other.judged([(item.id, one)]):
                    shown += 1
                    shown_at = address("/item", run=found.name, item=item.id, sample=one)
                    small = _thumbnail(other, found.name, item.id, one)
                    yield _beside(f"{other.card.model.name} ({found.name})", judged, shown_at, small, False)
        except (FormalimgError, sqlite3.Error):
            continue


def _thumbnail(run: StoredRun, name: str, item: str, sample: int) -> str:
    found = run.picture_file(item, sample)
    return "" if found is None else thumbnail_address(name, item, sample, found.sha256)
