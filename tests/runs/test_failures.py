"""Failed images and verdicts are recorded and tried again, and how a run ends."""

from __future__ import annotations

import asyncio
import io
import math
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.progress import Progress
from formalimg.types import Item, Part, Unscored, Verdict
from tests.support.models import NumberJudge, Speckles, small_items, speckled, speckled_for, speckled_for_a_dollar
from tests.support.run_contents import contents, judged, order, outcomes, rows

_PNG = speckled("whole")


def _raises(error: Exception) -> Callable[[object], Any]:
    def raising(_: object) -> Any:
        raise error

    return raising


_BAD: dict[str, tuple[Callable[[ImageRequest], Any], str, str]] = {
    "exception": (
        _raises(TimeoutError("no answer\nafter 60 s")),
        "generation failed",
        "TimeoutError: no answer after 60 s",
    ),
    "wordless exception": (_raises(ConnectionError()), "generation failed", "ConnectionError"),
    "endless exception": (_raises(ValueError("<html>" + "x" * 9999)), "generation failed", "ValueError: <html>x"),
    "odd characters": (_raises(ValueError("a\ud800b\x00\x1b[31m")), "generation failed", "ValueError: a·b··[31m"),
    "failed": (lambda _: Failed("outage"), "generation failed", "outage"),
    "refused": (lambda _: Refused("not that"), "refused", "not that"),
    "none": (lambda _: None, "generation failed", "the model gave NoneType instead of an answer"),
    "bare bytes": (lambda _: _PNG, "generation failed", "the model gave bytes instead of an answer"),
    "text": (lambda _: Generated("png"), "generation failed", "the model gave str in place of the bytes"),  # type: ignore[arg-type]
    "odd served": (lambda _: Generated(_PNG, {"dtype": object()}), "generation failed", "what the model says it used"),  # type: ignore[dict-item]
    "no cost": (lambda _: Generated(_PNG, {}, math.nan), "generation failed", "a cost of nan US dollars is not valid"),
    "a gift": (lambda _: Generated(_PNG, {}, -1), "generation failed", "a cost of -1 US dollars is not valid"),
    "nothing": (lambda _: Generated(b""), "unreadable image", "an empty file"),
    "a web page": (lambda _: Generated(b"<html>busy</html>"), "unreadable image", "beginning with '<html>busy</html>'"),
    "cut short": (lambda _: Generated(_PNG[:-4000]), "unreadable image", "no PNG, JPEG or WebP that can be decoded"),
}


@pytest.mark.parametrize("case", _BAD)
def test_an_image_that_does_not_come_is_recorded_and_tried_again(tmp_path: Path, case: str) -> None:
    answer, reason, detail = _BAD[case]
    folder = tmp_path / "run"

    def bad_once(request: ImageRequest) -> ImageResult:
        return answer(request) if request.item == "3" else speckled_for(request)

    done = execute(order(Speckles(answer=bad_once)), folder, NumberJudge())
    assert (done.made, done.refused + done.failed, done.judged) == (7, 1, 7)
    assert (done.coverage, done.steps) == (7 / 8, done.done)
    bad = outcomes(folder)[3]
    assert (bad.passed, bad.score, bad.reason) == (None, None, reason)
    assert detail in bad.detail
    assert bad.detail.isprintable()
    assert len(bad.detail) < 700
    assert judged(folder)[3].image is None
    assert len(outcomes(folder)) == 8, "nothing is left out"
    assert "3.png" not in {path.name for path in (folder / "images").iterdir()}
    model = Speckles()
    execute(order(model), folder, NumberJudge())
    assert model.asked == [("3", 0)], "only what failed is tried again"
    assert rows(folder, "SELECT attempts FROM pictures WHERE item = '3'") == [(2,)]
    execute(order(), tmp_path / "fine", NumberJudge())
    assert contents(folder) == contents(tmp_path / "fine")


class _TooFew(Speckles):
    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in requests[:2]:
            yield speckled_for(request)


class _TooMany(Speckles):
    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        for request in [*requests, requests[0]]:
            yield speckled_for(request)


class _BreaksOff(Speckles):
    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        yield speckled_for(requests[0])
        raise MemoryError("no room for the batch")


def test_requests_without_an_answer_fail(tmp_path: Path) -> None:
    execute(order(_TooFew(batch=4, concurrency=1)), tmp_path / "run")
    assert (
        sorted(outcome.reason for outcome in outcomes(tmp_path / "run"))
        == ["generation failed"] * 4 + ["not judged"] * 4
    )
    assert {outcome.detail for outcome in outcomes(tmp_path / "run")} == {"", "the model gave no answer"}


def test_an_exception_fails_only_what_was_not_answered_yet(tmp_path: Path) -> None:
    done = execute(order(_BreaksOff(batch=4)), tmp_path / "run")
    assert (done.made, done.failed) == (2, 6)
    assert {outcome.detail for outcome in outcomes(tmp_path / "run")} == {"", "MemoryError: no room for the batch"}


def test_more_answers_than_requests_end_the_run(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="gave more images than the 4 requested"):
        execute(order(_TooMany(batch=4)), tmp_path / "run")


def test_a_mistake_of_the_user_ends_the_run_and_keeps_what_is_done(tmp_path: Path) -> None:
    def wrong_key(request: ImageRequest) -> ImageResult:
        if request.item == "5":
            raise FormalimgError("the key is wrong: set IMAGE_API_KEY")
        return speckled_for(request)

    model = Speckles(answer=wrong_key, concurrency=1)
    with pytest.raises(FormalimgError, match="the key is wrong"):
        execute(order(model), tmp_path / "run", NumberJudge())
    kept = rows(tmp_path / "run", "SELECT item FROM pictures WHERE status = 'made'")
    assert len(kept) == len(model.asked) - 1
    again = Speckles()
    execute(order(again), tmp_path / "run", NumberJudge())
    assert not {item for (item,) in kept} & {item for item, _ in again.asked}


_BAD_VERDICTS: dict[str, tuple[Callable[[Item[object], LoadedImage], Any], str, str]] = {
    "exception": (lambda item, image: 1 // 0, "judge failed", "ZeroDivisionError: "),
    "unscored": (
        lambda item, image: Unscored("not understood", "too\ndark", {"seen": 1}),
        "not understood",
        "too dark",
    ),
    "none": (lambda item, image: None, "judge failed", "NoneType instead of a verdict"),
    "odd reason": (lambda item, image: Unscored("tired"), "judge failed", "unknown reason 'tired'"),  # type: ignore[arg-type]
    "odd evidence": (lambda item, image: Verdict(True, (), {"x": {1, 2}}), "judge failed", "TypeError"),
    "no cost": (lambda item, image: Verdict(True, cost=math.inf), "judge failed", "a cost of inf US dollars"),
    "a gift": (lambda item, image: Unscored("not understood", cost=-0.5), "judge failed", "a cost of -0.5 US"),
    "no number": (lambda item, image: Verdict(True, (Part("a", "b", math.nan),)), "judge failed", "ValueError"),
}


@pytest.mark.parametrize("case", _BAD_VERDICTS)
def test_a_verdict_that_does_not_come_is_recorded_and_tried_again(tmp_path: Path, case: str) -> None:
    verdict, reason, detail = _BAD_VERDICTS[case]
    folder = tmp_path / "run"
    done = execute(order(), folder, NumberJudge(verdict=verdict))
    assert (done.unscored, done.coverage) == (8, 0)
    assert {(outcome.passed, outcome.reason) for outcome in outcomes(folder)} == {(None, reason)}
    assert all(detail in outcome.detail for outcome in outcomes(folder))
    assert judge_run(folder, NumberJudge()).judged == 8
    execute(order(), tmp_path / "fine", NumberJudge())
    assert contents(folder) == contents(tmp_path / "fine")


def test_evidence_comes_back_as_it_was(tmp_path: Path) -> None:
    evidence = {"answer": "half a character: \ud83d", "list": [1, 2.5, None, "ä"], "explanation": "a\nb"}
    given = Verdict(True, (Part("a cup", "object", 0.5, 2.0, ("Is", "Has"), "it is red\nand large"),), evidence, 0.25)
    execute(order(items=small_items(2)), tmp_path / "run", NumberJudge(verdict=lambda item, image: given))
    assert [one.verdict for one in judged(tmp_path / "run")] == [given, given]


def test_an_image_of_one_flat_colour_fails_by_rule(tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.new("RGB", (64, 64), "teal").save(file, "PNG")
    flat = Speckles(answer=lambda request: Generated(file.getvalue()))
    judge = NumberJudge()
    done = execute(order(flat), tmp_path / "run", judge)
    assert (done.not_passed, judge.judged) == (8, [])
    verdict = judged(tmp_path / "run")[0].verdict
    assert verdict.evidence["rule"] == "flat colour"
    assert isinstance(verdict, Verdict)
    assert not verdict.passed


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
            yield speckled_for_a_dollar(request)


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
