"""A worker: a process somewhere that holds an image model, a judge, or both, and does what it is asked."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
from collections.abc import Sequence
from contextlib import aclosing

from formalimg.cluster.wanted import Greeting, Holding, Looked, Made, installed_version, trouble_of
from formalimg.errors import FormalimgError
from formalimg.judges import Judge, LoadedImage, Unscored
from formalimg.models import Answer, ImageModel, ImageRequest
from formalimg.runs import inspect
from formalimg.suites import Item


class Worker:
    """Runs as an actor of Ray, in an event loop: many calls may be under way, as many as model and judge allow.

    Nothing is raised to whoever asks: trouble is an answer, in words that hold no keys and can be read everywhere.
    This goes for a `sys.exit()` too: it would end the event loop and not the process, and no answer would ever come.
    """

    _model: ImageModel
    _judge: Judge

    async def hello(self, holding: Holding) -> Greeting:
        """Open what is to be held; must be called first."""
        host = platform.node()
        with contextlib.suppress(OSError):
            os.chdir(holding.folder)
        try:
            await asyncio.to_thread(self._open, holding)
        except BaseException as error:
            return Greeting(host, trouble_of(error))
        return Greeting(host)

    def _open(self, holding: Holding) -> None:
        here = installed_version()
        if holding.version != here:
            raise FormalimgError(
                f"it has formalimg {here}, and the run was started with {holding.version}: install the same"
            )
        if holding.model:
            self._model = holding.model.open()
            self._making = asyncio.Semaphore(max(1, self._model.concurrency))
        if holding.judge:
            self._judge = holding.judge.open()
            self._judging = asyncio.Semaphore(max(1, self._judge.concurrency))

    async def make(self, requests: Sequence[ImageRequest]) -> Made:
        """One answer for each request, in their order, as far as the model gets."""
        answers: list[Answer] = []
        async with self._making:
            try:
                async with aclosing(self._model.generate(requests)) as given:  # type: ignore[type-var]
                    async for answer in given:
                        answers.append(answer)  # noqa: PERF401 (those before an error count)
            except BaseException as error:
                return Made(answers, trouble_of(error), self._model.batch)
        return Made(answers, batch=self._model.batch)

    async def judge(self, item: Item[object], data: bytes) -> Looked:
        """What the judge says of an image, which comes as the file that the image model gave."""
        async with self._judging:
            try:
                seen: LoadedImage | Unscored = await asyncio.to_thread(inspect, data)
                return Looked(seen if isinstance(seen, Unscored) else await self._judge.judge(item, seen))
            except BaseException as error:
                return Looked(None, trouble_of(error))
