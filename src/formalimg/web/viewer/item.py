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
from formalimg.web.rendering import drawn, page
from formalimg.web.viewer.gallery import SIGNS, outcome_sort, thumbnail_address
from formalimg.web.viewer.highlight import marked
from formalimg.web.viewer.site import UNREADABLE, Site
from formalimg.web.viewer.urls import Look, address, look_of, named, number

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


WIDTH = 64
"""Of formulas on pages, in characters."""

_WORDS = r"(?<=\()(?:and|or|not|implies|iff|exists|forall)(?=[\s)])"
_ATOMS = r"\([A-Z]\w*(?:\s+[^()]*)?\)"

Sort: TypeAlias = Literal["holds", "fails", "open", "word", ""]


class Piece(NamedTuple):
    """Some text of a formula: an atom that holds, fails or is open, a word of the language, or what is between."""

    text: str
    sort: Sort


def formula_pieces(formula: str, parts: Sequence[Part]) -> list[Piece]:
    """The formula, broken into lines, with its atoms told apart by the clauses that the judge decided."""
    try:
        shown = to_pretty_text(parse(formula), WIDTH)
    except FormulaError:
        shown = formula
    fared: dict[str, Sort] = {}
    for part in sorted(parts, key=lambda part: -part.score):  # what fails anywhere is shown as failed
        fared |= dict.fromkeys(_atoms_of_clause(part.name), "holds" if part.score >= 1 else "fails")
    return list(_pieces(shown, fared))


def _pieces(shown: str, fared: dict[str, Sort]) -> Iterator[Piece]:
    place = 0
    for found in re.finditer(f"(?P<word>{_WORDS})|(?P<atom>{_ATOMS})", shown):
        yield Piece(shown[place : found.start()], "")
        sort: Sort = "word" if found["word"] else fared.get(" ".join(found.group().split()), "open")
        yield Piece(found.group(), sort)
        place = found.end()
    yield Piece(shown[place:], "")


def _atoms_of_clause(name: str) -> Iterator[str]:
    try:
        clause = parse(name)
    except FormulaError:
        return  # a question in words, or a clause that names its variables in another way
    for literal in clause.parts if isinstance(clause, Or) else (clause,):
        yield str(literal.body if isinstance(literal, Not) else literal)


_MOST = 48
"""So many images of the run, and so many of other runs, are shown beside."""


class Beside(NamedTuple):
    """One of the other images or verdicts.

    Attributes:
        name: what it is called here.
        outcome, sign: how it fared.
        why: what failed.
        address: its page.
        thumbnail: where it is small; empty if there is none.
        is_here: it is the one that is looked at.
    """

    name: str
    outcome: str
    sign: str
    why: str
    address: str
    thumbnail: str
    is_here: bool


class AllBeside(NamedTuple):
    """All that is shown beside an image; nothing where there is only the image itself."""

    samples: list[Beside]
    judges: list[Beside]
    others: list[Beside]


def beside(site: Site, run: StoredRun, item: PlannedItem, sample: int, look: Look) -> AllBeside:
    """What is shown beside an image."""
    return AllBeside(
        list(_samples(run, item.id, sample, look)),
        list(_by_judges(site, run, item.id, sample, look)),
        list(islice(_in_other_runs(site, run, item, look), _MOST)),
    )


def why(verdict: Verdict | Unscored) -> str:
    """Why there is no verdict, or which rule made it; empty if the parts say all."""
    if isinstance(verdict, Unscored):
        return ": ".join(filter(None, [verdict.reason, verdict.detail]))
    return f"failed by rule: {verdict.evidence['rule']}" if "rule" in verdict.evidence else ""


def what_failed(verdict: Verdict | Unscored) -> str:
    """What failed, in short: why there is no verdict, the rule, or the parts; empty if all of it holds."""
    failed = [part.name for part in verdict.parts if part.score < 1] if isinstance(verdict, Verdict) else []
    return why(verdict) or "; ".join(failed)


def _samples(run: StoredRun, item: str, sample: int, look: Look) -> Iterator[Beside]:
    first = max(min(sample - _MOST // 2, run.manifest.samples - _MOST), 0)
    wanted = [(item, one) for one in range(first, min(first + _MOST, run.manifest.samples))]
    for judged in run.judged(wanted) if len(wanted) > 1 else ():
        one = judged.outcome.sample
        small = _thumbnail(run, look.run, item, one)
        yield _one(f"image {one}", judged, look.address("/item", item=item, sample=one), small, one == sample)


def _by_judges(site: Site, run: StoredRun, item: str, sample: int, look: Look) -> Iterator[Beside]:
    judges = run.judges()
    for place, judge in enumerate(judges) if len(judges) > 1 else ():
        with site.opened(look.run, place) as seen:
            for judged in seen.judged([(item, sample)]):
                shown_at = look.address("/item", judge=place, item=item, sample=sample)
                yield _one(judge.name, judged, shown_at, "", judge == run.manifest.judge)


def _in_other_runs(site: Site, run: StoredRun, item: PlannedItem, look: Look) -> Iterator[Beside]:
    """All images of the item in the other runs of the suite. The first page tells of runs that cannot be read."""
    for found in site.runs():
        if found.name == look.run:
            continue
        try:
            with site.opened(found.name) as other:
                if other.manifest.suite == run.manifest.suite and is_same_item(run, item, other):
                    yield from _all_images(other, found.name, item.id)
        except UNREADABLE:
            continue


def _all_images(run: StoredRun, name: str, item: str) -> Iterator[Beside]:
    samples = min(run.manifest.samples, _MOST)
    for judged in run.judged([(item, one) for one in range(samples)]):
        one = judged.outcome.sample
        title = f"{run.manifest.model.name} ({name})" + (f", image {one}" if samples > 1 else "")
        shown_at = address("/item", run=name, item=item, sample=one)
        yield _one(title, judged, shown_at, _thumbnail(run, name, item, one), False)


def _one(name: str, judged: Judged, shown_at: str, thumbnail: str, is_here: bool) -> Beside:
    sort = outcome_sort(judged.outcome.passed)
    return Beside(name, sort, SIGNS[sort], what_failed(judged.verdict), shown_at, thumbnail, is_here)


def _thumbnail(run: StoredRun, name: str, item: str, sample: int) -> str:
    found = run.image_file(item, sample)
    return "" if found is None else thumbnail_address(name, item, sample, found.sha256)


def is_same_item(run: StoredRun, item: PlannedItem, other: StoredRun) -> bool:
    """Does another run ask the same under the same id?"""
    there = other.item(item.id)
    return there is not None and (_ask_the_same(run, other) or _asked(there) == _asked(item))


def same_items(runs: Sequence[StoredRun]) -> set[str]:
    """The ids under which all runs ask the same."""
    first, *others = runs
    same = set(first.items)
    for other in others:
        if _ask_the_same(first, other):
            continue
        there = other.items
        same = {name for name in same if name in there and _asked(there[name]) == _asked(first.items[name])}
    return same


def _ask_the_same(run: StoredRun, other: StoredRun) -> bool:
    return run.manifest.items_digest == other.manifest.items_digest


def _asked(item: PlannedItem) -> tuple[int, str]:
    return item.level, item.formula or item.prompt
