"""An error that ends the run, such as a day's quota that is used up, costs nothing that was on its way: it is kept."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.progress import Progress
from formalimg.types import Item, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, speckled_for
from tests.support.run_contents import contents, order, outcomes, rows

_HANDS = 4


@dataclass
class _Quota:
    """Lets all hands take something up before the last of them says that there is no more; the others end later.

    Attributes:
        known: is set when the run knows that it ends.
    """

    asked: int = 0
    all_at_work: asyncio.Event = field(default_factory=asyncio.Event)
    known: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self) -> None:
        self.asked += 1
        if self.asked == _HANDS:
            self.all_at_work.set()
            raise FormalimgError("the day's quota is used up")
        await self.all_at_work.wait()
        await self.known.wait()

    def told(self, progress: Progress) -> None:
        if progress.stopped:
            self.known.set()


class _PaintsWithin(Speckles):
    def __init__(self, quota: _Quota) -> None:
        super().__init__(concurrency=_HANDS)
        self._quota = quota

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in requests:
            await self._quota.take()
            answer = speckled_for(request)
            assert isinstance(answer, Generated)
            yield replace(answer, cost=1.0)


class _LooksWithin(NumberJudge):
    def __init__(self, quota: _Quota) -> None:
        super().__init__(concurrency=_HANDS)
        self._quota = quota

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        await self._quota.take()
        verdict = await super().judge(item, image)
        return replace(verdict, cost=1.0)


def test_images_on_their_way_are_kept_and_paid_for(tmp_path: Path) -> None:
    quota, folder = _Quota(), tmp_path / "run"
    with pytest.raises(FormalimgError, match="the day's quota is used up"):
        execute(order(_PaintsWithin(quota)), folder, NumberJudge(), on_progress=quota.told)
    assert quota.asked == _HANDS, "nothing new was begun"
    found = dict(rows(folder, "SELECT status, count(*) FROM pictures GROUP BY status"))
    assert found == {"made": _HANDS - 1, "planned": 8 - (_HANDS - 1)}
    assert rows(folder, "SELECT total(cost) FROM pictures") == [(_HANDS - 1,)]
    again = Speckles()
    execute(order(again), folder, NumberJudge())
    assert len(again.asked) == 8 - (_HANDS - 1)
    execute(order(), tmp_path / "whole", NumberJudge())
    assert contents(folder) == contents(tmp_path / "whole")


def test_verdicts_on_their_way_are_kept_and_paid_for(tmp_path: Path) -> None:
    quota, folder = _Quota(), tmp_path / "run"
    execute(order(), folder)
    with pytest.raises(FormalimgError, match="the day's quota is used up"):
        judge_run(folder, _LooksWithin(quota), on_progress=quota.told)
    assert quota.asked == _HANDS
    assert rows(folder, "SELECT count(*), total(cost) FROM verdicts") == [(_HANDS - 1, _HANDS - 1)]
    assert sum(outcome.reason == "not judged" for outcome in outcomes(folder)) == 8 - (_HANDS - 1)


@pytest.mark.parametrize("in_a_notebook", [False, True])
def test_what_a_batch_gave_before_it_broke_off_is_kept(tmp_path: Path, in_a_notebook: bool) -> None:
    class BreaksOff(Speckles):
        async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
            for request in requests[:-1]:
                yield speckled_for(request)
            raise FormalimgError("the day's quota is used up")

    def run() -> None:
        execute(order(BreaksOff(batch=8, concurrency=1)), tmp_path / "run")

    async def cell() -> None:
        run()

    with pytest.raises(FormalimgError, match="the day's quota is used up"):
        asyncio.run(cell()) if in_a_notebook else run()
    assert rows(tmp_path / "run", "SELECT count(*) FROM pictures WHERE status = 'made'") == [(7,)]


def test_who_gives_up_waiting_still_learns_why_it_ended(tmp_path: Path) -> None:
    quota = _Quota()  # nobody sets `known`, so what is on its way never ends

    interrupts = iter([signal.SIGINT])

    def interrupt_once(progress: Progress) -> None:
        if progress.stopped:
            for number in interrupts:
                signal.raise_signal(number)

    with pytest.raises(FormalimgError, match="the day's quota is used up"):
        execute(order(_PaintsWithin(quota)), tmp_path / "run", on_progress=interrupt_once)
    assert rows(tmp_path / "run", "SELECT DISTINCT status FROM pictures") == [("planned",)]
