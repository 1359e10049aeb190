"""The engine: images are made, kept and judged at the same time, through short queues, until all is done.

Stages run beside each other. Makers ask the image model; keepers decode and store what came, so that a model never
waits for the disk; judges look; what they say is recorded. Between the stages are short queues, so a slow stage slows
the others down instead of filling the memory. Whatever a stage has finished is in the store before the next sees it.
Money is counted when an answer comes and not when it is stored: a slow disk must not let a run spend more.
What a model or judge says that ends the run lets nothing new begin; what is on its way may be paid for, and is kept.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from formalimg.errors import FormalimgError
from formalimg.judges import Judge, Unscored, Verdict
from formalimg.models import Failed, ImageModel, ImageRequest
from formalimg.runs.channel import Channel, room_for
from formalimg.runs.handing import Arrived, Judgement, Planned, Waiting, in_batches
from formalimg.runs.heeding import NotStartedError, let_heed
from formalimg.runs.inspection import Seen
from formalimg.runs.keeping import keep, read, together
from formalimg.runs.progress import Progress
from formalimg.runs.rows import VerdictRow, paid, verdict_row
from formalimg.runs.store import RunStore
from formalimg.runs.troubles import as_answer, given_up, root_of, told_error

_KEEPERS = min(8, (os.cpu_count() or 1) + 1)
"""So many files are decoded and written at a time."""

_AT_ONCE = 64
"""So many verdicts are recorded at once, if they come that fast."""

Result = TypeVar("Result")


class Engine:
    """Makes and judges the images of one run.

    Attributes:
        progress: how far it is.
    """

    def __init__(
        self,
        store: RunStore,
        model: ImageModel | None = None,
        judge: Judge | None = None,
        *,
        ask: Callable[[Planned], ImageRequest] | None = None,
        scored: Set[tuple[str, str]] = frozenset(),
        on_progress: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """An engine that has not started.

        Args:
            store: where everything goes.
            model: who makes images; None if nothing has to be made.
            judge: who looks at them; None if nobody is to.
            ask: the request for a planned image.
            scored: questions with images (their digests) that the judge need not look at again, should they come.
            on_progress: is called after each step.
        """
        self._store = store
        self._model = model
        self._judge = judge
        self._ask = ask
        self._scored = set(scored)
        self._told = on_progress
        self.progress = Progress(0, 0)
        self._threads = ThreadPoolExecutor(_KEEPERS, "formalimg")

    def stop(self) -> None:
        """Take on nothing new; what is being made is still kept. May be called from anywhere."""
        self.progress.stopped = True

    def tell(self) -> None:
        """Say how far it is."""
        self._told(self.progress)

    def start_spending(self, spent: float, budget: float | None, *, anything_left: bool) -> None:
        """Count on from what was spent before; nothing is begun if the budget is used up already."""
        self.progress.cost, self.progress.budget = spent, budget
        self.progress.stopped |= anything_left and self.progress.over_budget

    async def run(self, to_make: Sequence[Planned], to_judge: Sequence[Waiting] = ()) -> Progress:
        """Make and judge these; what goes wrong with a single image is recorded with it.

        Raises:
            FormalimgError: if nothing can go on: a full disk, a model that does not exist. What is done is kept.
        """
        self.progress.images = len(to_make)
        self.progress.verdicts = len(to_make) + len(to_judge) if self._judge else 0
        arrived = Channel[Arrived](room_for(self._model.batch * self._model.concurrency if self._model else 0))
        waiting = Channel[Waiting](room_for(self._judge.concurrency if self._judge else 0))
        judged = Channel[Judgement](_AT_ONCE)
        let_heed(self.progress, self._model, self._judge)
        try:
            async with asyncio.TaskGroup() as stages:
                stages.create_task(self._make_all(to_make, arrived))
                stages.create_task(self._keep_all(arrived, to_judge, waiting))
                if self._judge:
                    stages.create_task(self._judge_all(self._judge, waiting, judged))
                    stages.create_task(self._record(judged))
        except BaseExceptionGroup as errors:
            raise root_of(errors) from None
        except asyncio.CancelledError as given_up:
            raise self.progress.ended_by or given_up from None
        finally:
            self._threads.shutdown()
        if self.progress.ended_by:
            raise self.progress.ended_by
        self.tell()
        return self.progress

    def _end(self, error: FormalimgError) -> None:
        """Begin nothing new; when what is on its way is kept, the run ends with this error."""
        self.progress.ended_by = self.progress.ended_by or error
        self.stop()
        self.tell()

    # --- making

    async def _make_all(self, to_make: Sequence[Planned], arrived: Channel[Arrived]) -> None:
        if self._model is not None and to_make:
            batches = in_batches(to_make, self._model)
            async with asyncio.TaskGroup() as makers:
                for _ in range(max(1, self._model.concurrency)):
                    makers.create_task(self._make(self._model, batches, arrived))
        await arrived.close()

    async def _make(self, model: ImageModel, batches: Iterator[Sequence[Planned]], arrived: Channel[Arrived]) -> None:
        for batch in batches:
            if self.progress.stopped:
                return
            assert self._ask is not None, "who makes images must know what to ask"
            began = time.monotonic()
            left = list(batch)
            reason = "the model gave no answer"
            try:
                async with aclosing(model.generate([self._ask(planned) for planned in batch])) as answers:  # type: ignore[type-var]
                    async for answer in answers:
                        if not left:
                            raise FormalimgError(
                                f"{model.name} gave more images than the {len(batch)} it was asked for, so nobody "
                                "knows which is which: mend the model, then start a new run"
                            )
                        known = as_answer(answer)
                        self.progress.spend(*paid(known))
                        await arrived.put(Arrived(left.pop(0), known, time.monotonic() - began))
            except NotStartedError:
                return
            except FormalimgError as error:
                self._end(error)
                return
            except (Exception, asyncio.CancelledError) as error:
                if given_up(error):
                    raise
                reason = told_error(error)
            for planned in left:
                await arrived.put(Arrived(planned, Failed(reason), time.monotonic() - began))

    # --- keeping

    async def _keep_all(
        self, arrived: Channel[Arrived], to_judge: Iterable[Waiting], waiting: Channel[Waiting]
    ) -> None:
        async with asyncio.TaskGroup() as keepers:
            for _ in range(_KEEPERS):
                keepers.create_task(self._keep(arrived, waiting))
            if self._judge:
                keepers.create_task(self._hand_over(to_judge, waiting))
        await waiting.close()

    async def _hand_over(self, to_judge: Iterable[Waiting], waiting: Channel[Waiting]) -> None:
        """Give the judges what earlier runs have made."""
        for entry in to_judge:
            await self._pass_on(entry, waiting)

    async def _pass_on(self, entry: Waiting, waiting: Channel[Waiting]) -> None:
        """Let a judge look, unless one has or is about to: the same question about the same image has one verdict."""
        look = (entry.question, entry.made.sha256)
        if look in self._scored:
            self.progress.verdicts -= 1
        elif not self.progress.stopped:
            self._scored.add(look)
            await waiting.put(entry)

    async def _keep(self, arrived: Channel[Arrived], waiting: Channel[Waiting]) -> None:
        async for first in arrived:
            for kept in await self._in_thread(partial(keep, self._store, together(first, arrived))):
                self.progress.count_image(kept.row.status)
                self.tell()
                if kept.made is not None and self._judge:
                    entry = Waiting(kept.planned.item, kept.planned.question, kept.made, kept.seen)
                    await self._pass_on(entry, waiting)

    # --- judging

    async def _judge_all(self, judge: Judge, waiting: Channel[Waiting], judged: Channel[Judgement]) -> None:
        async with asyncio.TaskGroup() as judges:
            for _ in range(max(1, judge.concurrency)):
                judges.create_task(self._look(judge, waiting, judged))
        await judged.close()

    async def _look(self, judge: Judge, waiting: Channel[Waiting], judged: Channel[Judgement]) -> None:
        async for entry in waiting:
            if not self.progress.stopped:  # what is left is judged when the run goes on
                began = time.monotonic()
                try:
                    row = await self._row(judge, entry)
                except NotStartedError:
                    continue
                except FormalimgError as error:
                    self._end(error)
                    continue
                self.progress.spend(row.cost, row.unpriced)
                await judged.put(Judgement(entry, row, time.monotonic() - began))

    async def _record(self, judged: Channel[Judgement]) -> None:
        async for first in judged:
            judgements = [first, *judged.more(_AT_ONCE)]
            await self._in_thread(partial(self._store.record_verdicts, judgements))
            for _, row, _ in judgements:
                self.progress.count_verdict(row.passed)
                self.tell()

    async def _row(self, judge: Judge, entry: Waiting) -> VerdictRow:
        try:
            return verdict_row(await self._verdict(judge, entry))
        except (FormalimgError, NotStartedError):
            raise
        except (Exception, asyncio.CancelledError) as error:  # of the judge, or of what it gave
            if given_up(error):
                raise
            return verdict_row(Unscored("judge failed", told_error(error)))

    async def _verdict(self, judge: Judge, entry: Waiting) -> Verdict | Unscored:
        seen: Seen | Unscored | None = entry.seen
        if seen is None:
            seen = await self._in_thread(partial(read, self._store, entry.made))
        if isinstance(seen, Unscored):
            return seen
        return seen.by_rule or await judge.judge(entry.item, seen.image)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
