"""A crew: workers that hold the same model and judge. Who dies is replaced; what it had can be asked of another."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formalimg.cluster.demand import ResourceRequest
from formalimg.cluster.rates import told
from formalimg.cluster.seat import Seat
from formalimg.cluster.spreading import AHEAD, SpreadJudge, SpreadModel
from formalimg.cluster.starting import NotStartedError, end_worker, start_worker
from formalimg.cluster.turns import Turns
from formalimg.cluster.wanted import Holding, Looked, Made, Opened, Trouble, installed_version, trouble_of
from formalimg.errors import FormalimgError
from formalimg.judges import Judge
from formalimg.models import ImageModel, ImageRequest, Matches
from formalimg.runs import Progress
from formalimg.suites import Item

_MOST_FAILURES = 3
"""After so many workers in a row that could not be started, their seat stays empty."""

_UNTIL_MISSED = 1.0
"""Seconds before a lost worker is replaced: the cluster needs a moment to miss a machine that died."""

_ENDED = "these workers have been ended: use crew.model and crew.judge inside the block of open_crew"


class Crew:
    """Workers of the Ray cluster that was joined. They are started when the first of them is asked.

    Attributes:
        size: how many workers there are to be.
        model, judge: to be given to a run in place of those they stand for; None where none was given.
    """

    def __init__(
        self,
        size: int,
        demand: ResourceRequest,
        model: Opened[ImageModel] | None = None,
        judge: Opened[Judge] | None = None,
    ) -> None:
        if model and isinstance(model.here, Matches):
            raise FormalimgError(f"{model.here.name} hands out images that are there already: it needs no workers")
        self.size = size
        self.model = SpreadModel(self, model.here) if model else None
        self.judge = SpreadJudge(self, judge.here) if judge else None
        self._demand = demand
        self._holding = Holding(
            model.wanted if model else None, judge.wanted if judge else None, installed_version(), str(Path.cwd())
        )
        self._calls = {
            "make": max(1, model.here.concurrency) + AHEAD if model else 0,
            "judge": max(1, judge.here.concurrency) + AHEAD if judge else 0,
        }
        self._seats = [Seat() for _ in range(size)]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._progress: Progress | None = None

    def told(self) -> str:
        """How fast each worker is, in words."""
        return told([seat.pace for seat in self._seats])

    def heed(self, progress: Progress) -> None:
        """Once the run is stopped, ask nobody for anything new."""
        self._progress = progress

    async def make(self, requests: Sequence[ImageRequest], *, alone: bool = False, begun: bool = False) -> Made | None:
        """Let a worker make images; None if it died meanwhile.

        Args:
            requests: what to ask its model.
            alone: beside no other call that is to be alone.
            begun: they belong to something of which a part is there already, so that a stop comes too late.

        Raises:
            FormalimgError: if there are no workers any more.
            NotStartedError: if the run is stopped before a worker can be asked.
        """
        made: Made | Trouble | None = await self._ask("make", (requests,), len(requests), alone, begun)
        return Made([], made) if isinstance(made, Trouble) else made

    async def look(self, item: Item[object], data: bytes, *, alone: bool = False) -> Looked | None:
        """Let a worker judge an image, given as its file; None if it died meanwhile.

        Raises:
            FormalimgError: if there are no workers any more.
            NotStartedError: if the run is stopped before a worker can be asked.
        """
        looked: Looked | Trouble | None = await self._ask("judge", (item, data), 1, alone, begun=False)
        return Looked(None, looked) if isinstance(looked, Trouble) else looked

    def close(self) -> None:
        """End all workers, also those that are just being started. Nobody can be asked any more."""
        self._closed = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # mostly the loop has ended, and all that ran in it
                self._loop.call_soon_threadsafe(self._leave_off)
        for seat in self._seats:
            end_worker(seat.leave())

    def _leave_off(self) -> None:
        for keeping in self._keeping:
            keeping.cancel()
        for turns in self._turns.values():
            turns.end(FormalimgError(_ENDED))

    async def _ask(self, what: str, given: tuple[Any, ...], steps: int, alone: bool, begun: bool) -> Any:
        from ray.exceptions import RayError, RayTaskError

        self._begin()
        turns = self._turns[what]
        async with self._lonely if alone else contextlib.nullcontext(), turns.next(lambda: begun or self._on) as turn:
            try:
                answer = await getattr(turn.worker, what).remote(*given)
            except RayTaskError as error:  # such as an answer that cannot travel
                return trouble_of(error.cause)
            except RayError:
                if turn.seat.worker is turn.worker:  # at once, so that nobody else is sent to it
                    end_worker(turn.seat.leave())
                    turn.seat.lost.set()
                return None
            turn.seat.done += steps
            return answer

    def _begin(self) -> None:
        """Start the workers; if they are there from an event loop that has ended, let them go on in this one."""
        loop = asyncio.get_running_loop()
        if self._closed:
            raise FormalimgError(_ENDED)  # Ray would start a cluster of its own for whoever asks now
        if loop is self._loop:
            return
        if self._loop is not None and self._loop.is_running():
            raise FormalimgError("these workers are at work for another run: wait for its end, or open another crew")
        self._loop = loop
        self._lonely = asyncio.Lock()
        self._turns = {what: Turns() for what in self._calls}
        self._keeping = [loop.create_task(self._keep(seat)) for seat in self._seats]

    async def _keep(self, seat: Seat) -> None:
        """See to it that somebody sits there, as long as that can be."""
        calls = sum(self._calls.values())
        reason = ""
        seat.failures = 0
        try:
            while seat.failures < _MOST_FAILURES:
                if seat.worker is None:
                    try:
                        seat.take(*await start_worker(self._holding, self._demand, calls, self._nobody_there))
                    except NotStartedError as error:
                        seat.failures += 1
                        reason = str(error)
                        continue
                seat.lost = asyncio.Event()
                for what, turns in self._turns.items():
                    turns.add(seat, self._calls[what])
                await seat.lost.wait()
                await asyncio.sleep(_UNTIL_MISSED)
            if all(other.failures >= _MOST_FAILURES for other in self._seats):
                raise FormalimgError(f"no worker can be started: {reason}")
        except Exception as error:
            # Every image would share it, so it ends the run; as another exception, each image would fail by it.
            ends = (
                error
                if isinstance(error, FormalimgError)
                else FormalimgError(f"no worker can be started: {trouble_of(error).told}")
            )
            for turns in self._turns.values():
                turns.end(ends)

    @property
    def _on(self) -> bool:
        return self._progress is None or not self._progress.stopped

    def _nobody_there(self) -> bool:
        return all(seat.worker is None for seat in self._seats)
