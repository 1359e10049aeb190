"""The engine that generates, stores and judges images concurrently through bounded queues.

The stages run concurrently: generators call the image model, writers decode and store its answers so that a model never
waits for the disk, judges judge, and their verdicts are recorded. Short queues between the stages make a slow stage
slow the others down instead of filling the memory. Results are stored before the next stage sees them. Costs are
counted after each call rather than when the answer is stored, so that even with retries or a slow disk, a run exceeds
its budget only by the calls in flight when it is reached. After an error of a model or judge that ends the run, no new
work starts, but results of work under way are stored because they may have been paid for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence, Set
from contextlib import aclosing
from functools import partial
from itertools import islice

from formalimg.benchmarks.odd_records import NO_PROMPT
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, NotStartedError
from formalimg.models.pricing import Meter, advise_on_unknown_cost, open_meter
from formalimg.runs.database import VerdictRow, cost_columns, verdict_row
from formalimg.runs.inspection import ImageThreads, count_decoded_bytes, image_memory
from formalimg.runs.messages import (
    NO_PROMPT_REASON,
    ArrivedAnswer,
    Channel,
    ImageToJudge,
    JudgeResult,
    PlannedImage,
    check_answer,
    error_text,
    is_own_cancellation,
    one_line,
    root_error,
)
from formalimg.runs.parties import UNGUARDED, CircuitBreaker, Safeguards, image_failed, judge_failed, model_advice
from formalimg.runs.progress import Progress, interrupt_work, share_progress
from formalimg.runs.store import RunStore, StoredAnswer
from formalimg.types import ImageModel, Judge, Unscored, Verdict

_WRITERS = min(8, (os.cpu_count() or 1) + 1)  # Number of files that are decoded and written at the same time
_WRITE_BATCH = 16
_SMALL_IMAGE = 32_000  # Bytes of images that are stored several at a time: switching threads takes longer than they do
_MAX_QUEUE = 32

_VERDICT_BATCH = 64  # Maximum number of verdicts recorded in one transaction
_log = logging.getLogger(__name__)


class Engine:
    """Generate and judge the images of one run.

    Attributes:
        progress: the progress so far.
    """

    def __init__(
        self,
        store: RunStore,
        model: ImageModel | None = None,
        judge: Judge | None = None,
        *,
        build_request: Callable[[PlannedImage], ImageRequest] | None = None,
        scored: Set[tuple[str, str]] = frozenset(),
        on_progress: Callable[[Progress], None] = lambda progress: None,
        safeguards: Safeguards = UNGUARDED,
        before: Callable[[Progress], Awaitable[None]] | None = None,
    ) -> None:
        """Initialize the engine without starting it."""
        self._store = store
        self._model = model
        self._judge = judge
        self._build_request = build_request
        self._scored = set(scored)
        self._on_progress = on_progress
        self.progress = Progress(0, 0)
        self._reported_budget = False
        self._before = before
        self._tries_model = safeguards.preflight
        self._image_failures = CircuitBreaker(model.name if model else "", safeguards.max_failures)
        self._judge_failures = CircuitBreaker(judge.name if judge else "", safeguards.max_failures)
        self._answers_stored = 0
        self._stored_more = asyncio.Event()

    def stop(self) -> None:
        """Stop starting new work, and store results already under way. Safe to call from any thread."""
        self.progress.stopped = True

    def interrupt(self) -> None:
        """Stop and abandon local computations, leaving them for a resumed run. Safe to call from any thread."""
        self.stop()
        interrupt_work(self._model, self._judge)

    def report(self) -> None:
        """Call `on_progress`."""
        self._on_progress(self.progress)

    def start_spending(self, spent: float, budget: float | None, *, work_left: bool) -> None:
        """Set the amount already spent, and start no work if it exhausts the budget."""
        self.progress.cost, self.progress.budget = spent, budget
        if work_left and self.progress.over_budget:
            self.progress.stopped = True

    async def run(self, to_make: Sequence[PlannedImage], to_judge: Sequence[ImageToJudge] = ()) -> Progress:
        """Generate and judge the images, recording errors of individual images. May be called repeatedly."""
        self.progress.images += len(to_make)
        self.progress.verdicts += len(to_make) + len(to_judge) if self._judge else 0
        self._threads = ImageThreads(_WRITERS)
        arrived = Channel[ArrivedAnswer](_queue_size(self._model.batch * self._model.concurrency if self._model else 0))
        waiting = Channel[ImageToJudge](_queue_size(self._judge.concurrency if self._judge else 0))
        judged = Channel[JudgeResult](_VERDICT_BATCH)
        share_progress(self.progress, self._model, self._judge)
        try:
            before, self._before = self._before, None
            if before is not None:
                await before(self.progress)
            async with asyncio.TaskGroup() as stages:
                stages.create_task(self._generate_all(to_make, arrived))
                stages.create_task(self._store_all(arrived, to_judge, waiting))
                if self._judge:
                    stages.create_task(self._judge_all(self._judge, waiting, judged))
                    stages.create_task(self._record_verdicts(judged))
        except BaseExceptionGroup as errors:
            raise root_error(errors) from None
        except asyncio.CancelledError as cancelled:
            raise self.progress.ended_by or cancelled from None
        finally:
            self._threads.shutdown()
        if self.progress.ended_by:
            raise self.progress.ended_by
        self.report()
        return self.progress

    def _end(self, error: FormalimgError, calls: int = 0) -> None:
        """Start no new work, and raise the error once results under way are stored."""
        _log.info("the run ends: %s", error)
        self.progress.ended_by = self.progress.ended_by or error
        self.stop()
        with self.progress.counting_calls(-calls):
            self.report()

    def _count(self, breaker: CircuitBreaker, failed: bool | None, reason: str) -> None:
        breaker.count(failed, reason)
        if breaker.is_open and not self.progress.stopped:
            _log.info("the run stops: %s", breaker.message)
            self.progress.gave_up = breaker.message
            self.stop()
            self.report()

    def _settle(
        self, party: ImageModel | Judge, meter: Meter, cost: float = 0.0, unpriced: int = 0
    ) -> tuple[float, int]:
        """Return the cost of an answer, and end the run if the cost is unknown and there is a budget."""
        cost, unpriced = meter.settle(cost, unpriced)
        if self.progress.over_budget and not self._reported_budget:
            self._reported_budget = True
            _log.info("the budget of $%.2f is used up: nothing new is begun", self.progress.budget)
        if unpriced and self.progress.budget is not None:
            self._end(FormalimgError(advise_on_unknown_cost(party, per_image=party is self._model)))
        return cost, unpriced

    async def _generate_all(self, to_make: Sequence[PlannedImage], arrived: Channel[ArrivedAnswer]) -> None:
        for planned in to_make:
            if NO_PROMPT in planned.item.tags and not self.progress.stopped:
                await arrived.put(ArrivedAnswer(planned, Failed(NO_PROMPT_REASON), 0.0, 0.0, 0))
        to_make = [planned for planned in to_make if NO_PROMPT not in planned.item.tags]
        if self._model is not None and to_make:
            batches = _split_batches(to_make, self._model)
            if self._tries_model:
                self._tries_model = False
                await self._try_model(self._model, batches, arrived)
            async with asyncio.TaskGroup() as generators:
                for _ in range(max(1, self._model.concurrency)):
                    generators.create_task(self._generate(self._model, batches, arrived))
        await arrived.close()

    async def _try_model(
        self, model: ImageModel, batches: Iterator[Sequence[PlannedImage]], arrived: Channel[ArrivedAnswer]
    ) -> None:
        """Generate the first images separately, and end the run if all of them fail."""
        from formalimg.models.retry import few_attempts  # here, because models that cannot fail are not tried

        for batch in islice(batches, 2):
            expected = self._answers_stored + len(batch)
            with few_attempts():
                await self._generate(model, iter([batch]), arrived)
            while self._answers_stored < expected and not self.progress.stopped:
                self._stored_more.clear()
                await self._stored_more.wait()
            if self.progress.stopped or not self._image_failures.failures:
                return
            if self._image_failures.reason.startswith(("unavailable", "busy")):
                break  # which is not about this image
        self._end(FormalimgError(model_advice(model.name, self._image_failures.reason)))

    async def _generate(
        self, model: ImageModel, batches: Iterator[Sequence[PlannedImage]], arrived: Channel[ArrivedAnswer]
    ) -> None:
        for batch in batches:
            if self.progress.stopped:
                return
            with self.progress.counting_calls(len(batch)), open_meter(self.progress, finish=True) as meter:
                await self._generate_batch(model, batch, arrived, meter)

    async def _generate_batch(
        self, model: ImageModel, batch: Sequence[PlannedImage], arrived: Channel[ArrivedAnswer], meter: Meter
    ) -> None:
        assert self._build_request is not None, "an engine with a model needs build_request"
        began = time.monotonic()  # of the image that comes next: those of a batch share its time
        remaining = list(batch)
        reason = "the model gave no answer"
        try:
            requests = [self._build_request(planned) for planned in batch]
            async with aclosing(model.generate(requests)) as answers:  # type: ignore[type-var]
                async for answer in answers:
                    if not remaining:
                        raise FormalimgError(
                            f"{model.name} gave more images than the {len(batch)} requested, so they cannot be "
                            "matched: fix the model, then start a new run"
                        )
                    checked = check_answer(answer)
                    cost, unpriced = self._settle(model, meter, *cost_columns(checked.cost))
                    if meter.blocked and not cost and not unpriced and not isinstance(checked, Generated):
                        return  # not begun: it is left for when the run is resumed
                    now = time.monotonic()
                    arriving = ArrivedAnswer(remaining.pop(0), checked, now - began, cost, unpriced, meter.memory)
                    await arrived.put(self._counted(arriving))
                    await meter.memory.wait_for_release()
                    began = now
        except NotStartedError:
            return
        except FormalimgError as error:
            self._end(error, calls=len(batch))
            reason, remaining = error_text(error), remaining[:1] if meter.cost or meter.unpriced else []
        except (Exception, asyncio.CancelledError) as error:
            if is_own_cancellation(error):
                raise
            reason = error_text(error)
        for planned in remaining:  # what was paid for is recorded with the first of them
            spent = self._settle(model, meter)
            answered = ArrivedAnswer(planned, Failed(reason), time.monotonic() - began, *spent)
            await arrived.put(self._counted(answered))

    def _counted(self, arrived: ArrivedAnswer) -> ArrivedAnswer:
        """Count a failed answer. Unusable images are counted when they are stored."""
        if isinstance(arrived.answer, Failed) and not arrived.answer.absent:
            self._count(self._image_failures, True, one_line(arrived.answer.reason))
        return arrived

    async def _store_all(
        self, arrived: Channel[ArrivedAnswer], to_judge: Iterable[ImageToJudge], waiting: Channel[ImageToJudge]
    ) -> None:
        async with asyncio.TaskGroup() as writers:
            for _ in range(_WRITERS):
                writers.create_task(self._store_answers(arrived, waiting))
            if self._judge:
                writers.create_task(self._queue_earlier_images(to_judge, waiting))
        await waiting.close()

    async def _queue_earlier_images(self, to_judge: Iterable[ImageToJudge], waiting: Channel[ImageToJudge]) -> None:
        for entry in to_judge:
            await self._queue_for_judge(entry, waiting)

    async def _queue_for_judge(self, entry: ImageToJudge, waiting: Channel[ImageToJudge]) -> None:
        """Queue an image for judging unless the same question about it is already judged or queued."""
        key = (entry.question, entry.stored.sha256)
        if key in self._scored:
            self.progress.verdicts -= 1
        elif not self.progress.stopped:
            self._scored.add(key)
            await waiting.put(entry)

    async def _store_answers(self, arrived: Channel[ArrivedAnswer], waiting: Channel[ImageToJudge]) -> None:
        async for first in arrived:
            small = not isinstance(first.answer, Generated) or len(first.answer.data) <= _SMALL_IMAGE
            batch = [first, *arrived.take_available(_WRITE_BATCH - 1)] if small else [first]
            results = await self._store_batch(batch)
            del first, batch  # or they would take memory while judges are slow
            for result in results:
                planned, row = result.planned, result.row
                self.progress.count_image(row.status)
                if NO_PROMPT not in planned.item.tags:
                    self._count(self._image_failures, image_failed(row.status), row.detail)
                    self._answers_stored += 1
                    self._stored_more.set()
                self.report()
                if result.stored is None:
                    _log.info("image %s/%d is %s: %s", planned.item.id, planned.sample, row.status, row.detail)
                elif self._judge:
                    entry = ImageToJudge(planned.item, planned.question, result.stored, result.inspected)
                    await self._queue_for_judge(entry, waiting)

    async def _store_batch(self, batch: Sequence[ArrivedAnswer]) -> Sequence[StoredAnswer]:
        images = (arrived.answer.data for arrived in batch if isinstance(arrived.answer, Generated))
        size = max(map(count_decoded_bytes, images), default=0)
        async with image_memory(size):
            stored = await self._threads.run(partial(self._store.store_answers, batch), size)
        for arrived in batch:
            if arrived.memory is not None:
                arrived.memory.release()
        return stored

    async def _judge_all(self, judge: Judge, waiting: Channel[ImageToJudge], judged: Channel[JudgeResult]) -> None:
        async with asyncio.TaskGroup() as judges:
            for _ in range(max(1, judge.concurrency)):
                judges.create_task(self._judge_images(judge, waiting, judged))
        await judged.close()

    async def _judge_images(self, judge: Judge, waiting: Channel[ImageToJudge], judged: Channel[JudgeResult]) -> None:
        async for entry in waiting:
            if not self.progress.stopped:  # what is left is judged when the run is resumed
                began = time.monotonic()
                with self.progress.counting_calls(), open_meter(self.progress, finish=True) as meter:
                    row = await self._metered_verdict(judge, entry, meter)
                if row is not None:
                    await judged.put(JudgeResult(entry, row, time.monotonic() - began))

    async def _metered_verdict(self, judge: Judge, entry: ImageToJudge, meter: Meter) -> VerdictRow | None:
        """Return a verdict including all costs, or None if it is left for a resumed run."""
        row: VerdictRow | None = None
        reason = "the budget was used up before the judge was done"
        try:
            row = await self._verdict_row(judge, entry)
        except NotStartedError:
            pass
        except FormalimgError as error:
            self._end(error, calls=1)
            reason = error_text(error)
        cost, unpriced = self._settle(judge, meter, row.cost if row else 0.0, row.unpriced if row else 0)
        if row is None or meter.blocked:  # a verdict for which a question was not asked must not depend on the budget
            if not cost and not unpriced:
                return None
            row = verdict_row(Unscored("not judged", reason))
        return row._replace(cost=cost, unpriced=unpriced)

    async def _record_verdicts(self, judged: Channel[JudgeResult]) -> None:
        async for first in judged:
            results = [first, *judged.take_available(_VERDICT_BATCH)]
            await self._threads.run(partial(self._store.record_verdicts, results))
            for entry, row, _ in results:
                self.progress.count_verdict(row.passed)
                if self._judge is not None:
                    self._count(self._judge_failures, judge_failed(self._judge, row), row.detail)
                self.report()
                if row.passed is None:
                    _log.info("image %s is unscored, %s: %s", entry.stored.file, row.reason, row.detail)

    async def _verdict_row(self, judge: Judge, entry: ImageToJudge) -> VerdictRow:
        try:
            return verdict_row(await self._verdict(judge, entry))
        except (FormalimgError, NotStartedError):
            raise
        except (Exception, asyncio.CancelledError) as error:  # of the judge, or of its verdict
            if is_own_cancellation(error):
                raise
            return verdict_row(Unscored("judge failed", error_text(error)))

    async def _verdict(self, judge: Judge, entry: ImageToJudge) -> Verdict | Unscored:
        if entry.inspected is not None:
            return entry.inspected.by_rule or await judge.judge(entry.item, entry.inspected.image)
        size = await self._threads.run(partial(self._store.memory_of, entry.stored))
        async with image_memory(size):
            inspected = await self._threads.run(partial(self._store.load_image, entry.stored), size)
            if isinstance(inspected, Unscored):
                return inspected
            return inspected.by_rule or await judge.judge(entry.item, inspected.image)


def _queue_size(concurrency: int) -> int:
    """Return a queue length that keeps the concurrent tasks busy."""
    return max(2, min(concurrency // 2, _MAX_QUEUE))


def _split_batches(planned: Sequence[PlannedImage], model: ImageModel) -> Iterator[Sequence[PlannedImage]]:
    """Yield batches, adapting to the model's current batch size before each one."""
    start = 0
    while start < len(planned):
        batch = planned[start : start + max(1, model.batch)]
        start += len(batch)
        yield batch
