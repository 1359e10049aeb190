"""A distributed model and judge that let workers do the work; a run sees the same names, settings and keys."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.models.base import Failed, ImageRequest, ImageResult
from formalimg.runs.progress import Progress
from formalimg.runs.ray.messages import WorkerFailure
from formalimg.types import ImageModel, Item, Judge, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.runs.ray.pool import WorkerPool

MAX_LOSSES = 3
"""How often a request may be with a worker that dies. Then it is taken to be the reason."""

EXTRA_CALLS = 1
"""Calls queued at a worker beyond those it can do at a time, so that it need not wait for the next."""

_log = logging.getLogger(__name__)


class _Distributed:
    """What a distributed model and judge share: the identity of the original, and the pool."""

    def __init__(self, pool: WorkerPool, original: ImageModel | Judge) -> None:
        self._pool = pool
        self._original = original
        self.name: str = original.name
        self.settings: Mapping[str, Setting] = original.settings
        self.concurrency: int = pool.size * (max(1, original.concurrency) + EXTRA_CALLS)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the original, such as the style a model needs."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._original, name)

    def watch_progress(self, progress: Progress) -> None:
        """Once the run is stopped, begin nothing that waits for a worker."""
        self._pool.watch_progress(progress)


class DistributedModel(_Distributed):
    """An image model of which each worker of a pool holds a copy.

    A batch that fails is retried in halves, down to single requests; one whose worker dies is retried on another.

    Attributes:
        name, settings, sees_spec: those of the model.
        batch: the model's, or the largest that a worker has found to fit since.
        concurrency: for all workers together.
    """

    def __init__(self, pool: WorkerPool, model: ImageModel) -> None:
        super().__init__(pool, model)
        self.batch: int = model.batch
        self.sees_spec: bool = model.sees_spec

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one answer for each request, in their order."""
        found: list[ImageResult] = []
        ended: FormalimgError | None = None
        try:
            await self._collect(requests, found, 0)
        except FormalimgError as error:
            ended = error
        for answer in found:  # also before the run ends: they may be paid for
            yield answer
        if ended:
            raise ended

    async def _collect(
        self, requests: Sequence[ImageRequest], found: list[ImageResult], losses: int, *, begun: bool = False
    ) -> None:
        """Add an answer to those found for each request, in their order, as far as it gets."""
        # The last retry is without other such retries beside: a request that kills workers must not take others along.
        made = await self._pool.generate(requests, alone=losses == MAX_LOSSES - 1, begun=begun)
        if made is None:
            _log.info("a worker died with %d images: loss %d of %d", len(requests), losses + 1, MAX_LOSSES)
            if losses + 1 < MAX_LOSSES:
                await self._collect(requests, found, losses + 1, begun=begun)
            elif len(requests) == 1:
                found.append(Failed(f"{MAX_LOSSES} workers died one after the other while they made this image"))
            else:
                await self._collect_halves(requests, found, MAX_LOSSES - 1)
            return
        self.batch = max(self.batch, made.batch)  # the largest that was found to fit, here or there
        answers, failure = made.answers, made.failure
        if len(answers) > len(requests):
            raise FormalimgError(
                f"{self.name} gave {len(answers)} images in place of the {len(requests)} it was asked for, so nobody "
                "knows which is which: mend the model, then start a new run"
            )
        found += answers
        if failure and failure.ends_run:
            raise FormalimgError(failure.message)
        left = requests[len(answers) :]
        if left and failure and len(requests) > 1:
            _log.info("retrying %d images in halves: %s", len(left), failure.message)
            await self._collect_halves(left, found, losses)
        else:
            reason = failure.message if failure else "the model gave no answer"
            found += [Failed(reason) for _ in left]

    async def _collect_halves(self, requests: Sequence[ImageRequest], found: list[ImageResult], losses: int) -> None:
        half = (len(requests) + 1) // 2
        for part in (requests[:half], requests[half:]):
            if part:
                await self._collect(part, found, losses, begun=True)


class DistributedJudge(_Distributed):
    """A judge of which each worker of a pool holds a copy.

    Attributes:
        name, settings: those of the judge.
        concurrency: for all workers together.
    """

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Return the verdict of some worker's judge.

        Raises:
            FormalimgError: if that ends the run, or there are no workers any more.
            NotStartedError: if the run is stopped before a worker is called.
        """
        for losses in range(MAX_LOSSES):
            judged = await self._pool.judge_image(item, image.data, alone=losses == MAX_LOSSES - 1)
            if judged is not None:
                return _unscored(judged.failure) if judged.verdict is None else judged.verdict
            _log.info("a worker died with an image to judge: loss %d of %d", losses + 1, MAX_LOSSES)
        return Unscored("judge failed", f"{MAX_LOSSES} workers died one after the other while they judged this image")


def _unscored(failure: WorkerFailure | None) -> Unscored:
    if failure and failure.ends_run:
        raise FormalimgError(failure.message)
    return Unscored("judge failed", failure.message if failure else "the judge gave no verdict")
