"""The same item elsewhere: its other images, what other judges said, and what came of it in other runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from formalimg.judges import Unscored, Verdict
from formalimg.runs import Judged, PlannedItem, StoredRun
from formalimg.web.asking import Look, address
from formalimg.web.gallery import SIGNS, outcome_sort, thumbnail_address
from formalimg.web.same_items import is_same_item
from formalimg.web.site import UNREADABLE, Site

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
