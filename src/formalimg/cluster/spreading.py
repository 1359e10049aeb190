"""A model and a judge that let workers do the work. For a run they are those they stand for: same names, same keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from formalimg.cluster.wanted import Trouble
from formalimg.errors import FormalimgError
from formalimg.judges import Judge, LoadedImage, Unscored, Verdict
from formalimg.models import Answer, Failed, ImageModel, ImageRequest, Setting
from formalimg.runs import Progress
from formalimg.suites import Item

if TYPE_CHECKING:
    from formalimg.cluster.crew import Crew

MOST_LOSSES = 3
"""So often a request may be with a worker that dies. Then it is taken to be the reason."""

AHEAD = 1
"""So many calls more than it can do at a time are with a worker, so that it need not wait for the next."""


class SpreadModel:
    """An image model of which each worker of a crew holds a copy.

    A batch that fails is tried again in halves, down to single requests; one whose worker dies goes to another.

    Attributes:
        name, settings, sees_spec: those of the model.
        batch: the model's, or the largest that a worker has found to fit since.
        concurrency: for all workers together.
    """

    def __init__(self, crew: Crew, model: ImageModel) -> None:
        self._crew = crew
        self._like = model
        self.name: str = model.name
        self.settings: Mapping[str, Setting] = model.settings
        self.batch: int = model.batch
        self.sees_spec: bool = model.sees_spec
        self.concurrency: int = crew.size * (max(1, model.concurrency) + AHEAD)

    def __getattr__(self, name: str) -> Any:
        """What else the model says of itself, such as the style it needs."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._like, name)

    def heed(self, progress: Progress) -> None:
        """Once the run is stopped, begin nothing that waits for a worker."""
        self._crew.heed(progress)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request, in their order.

        Raises:
            FormalimgError: if the model of a worker ends the run, or there are no workers any more.
            NotStartedError: if the run is stopped before a worker can be asked.
        """
        found: list[Answer] = []
        ended: FormalimgError | None = None
        try:
            await self._find(requests, found, 0)
        except FormalimgError as error:
            ended = error
        for answer in found:  # also before the run ends: they may be paid for
            yield answer
        if ended:
            raise ended

    async def _find(
        self, requests: Sequence[ImageRequest], found: list[Answer], losses: int, *, begun: bool = False
    ) -> None:
        """Add an answer to those found for each request, in their order, as far as it gets."""
        # The last try is without other such tries beside: a request that kills workers must not take others with it.
        made = await self._crew.make(requests, alone=losses == MOST_LOSSES - 1, begun=begun)
        if made is None:
            if losses + 1 < MOST_LOSSES:
                await self._find(requests, found, losses + 1, begun=begun)
            elif len(requests) == 1:
                found.append(Failed(f"{MOST_LOSSES} workers died one after the other while they made this image"))
            else:
                await self._find_in_halves(requests, found, MOST_LOSSES - 1)
            return
        self.batch = max(self.batch, made.batch)  # what a model that tries finds out, here or there
        answers, trouble = made.answers, made.trouble
        if len(answers) > len(requests):
            raise FormalimgError(
                f"{self.name} gave {len(answers)} images in place of the {len(requests)} it was asked for, so nobody "
                "knows which is which: mend the model, then start a new run"
            )
        found += answers
        if trouble and trouble.ends_run:
            raise FormalimgError(trouble.told)
        left = requests[len(answers) :]
        if left and trouble and len(requests) > 1:
            await self._find_in_halves(left, found, losses)
        else:
            reason = trouble.told if trouble else "the model gave no answer"
            found += [Failed(reason) for _ in left]

    async def _find_in_halves(self, requests: Sequence[ImageRequest], found: list[Answer], losses: int) -> None:
        half = (len(requests) + 1) // 2
        for part in (requests[:half], requests[half:]):
            if part:
                await self._find(part, found, losses, begun=True)


class SpreadJudge:
    """A judge of which each worker of a crew holds a copy.

    Attributes:
        name, settings: those of the judge.
        concurrency: for all workers together.
    """

    def __init__(self, crew: Crew, judge: Judge) -> None:
        self._crew = crew
        self._like = judge
        self.name: str = judge.name
        self.settings: Mapping[str, Setting] = judge.settings
        self.concurrency: int = crew.size * (max(1, judge.concurrency) + AHEAD)

    def __getattr__(self, name: str) -> Any:
        """What else the judge says of itself, such as how many questions it asks."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._like, name)

    def heed(self, progress: Progress) -> None:
        """Once the run is stopped, begin nothing that waits for a worker."""
        self._crew.heed(progress)

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """What the judge of some worker says.

        Raises:
            FormalimgError: if that ends the run, or there are no workers any more.
            NotStartedError: if the run is stopped before a worker can be asked.
        """
        for losses in range(MOST_LOSSES):
            looked = await self._crew.look(item, image.data, alone=losses == MOST_LOSSES - 1)
            if looked is not None:
                return _unscored(looked.trouble) if looked.verdict is None else looked.verdict
        return Unscored("judge failed", f"{MOST_LOSSES} workers died one after the other while they judged this image")


def _unscored(trouble: Trouble | None) -> Unscored:
    if trouble and trouble.ends_run:
        raise FormalimgError(trouble.told)
    return Unscored("judge failed", trouble.told if trouble else "the judge gave no verdict")
