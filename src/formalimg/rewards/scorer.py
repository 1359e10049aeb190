"""The scorer: opened once, holds who looks and what was made ready, and gives a reward for each image."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.judges import Grounder, Judge, LoadedImage, Unscored, open_grounder, open_judge
from formalimg.models import Named, Setting, redacted
from formalimg.rewards.images import ImageLike, StyledScene, image_in, scene_in
from formalimg.rewards.pair_error import PairError
from formalimg.rewards.scored import Scored
from formalimg.rewards.tasks import Task, TaskLike, Tasks
from formalimg.rewards.weighing import by_logic, by_verdict
from formalimg.rewards.weights import Weights, checked_weights, in_whole_numbers
from formalimg.runs import failed_by_rule
from formalimg.suites import Item, suite

Pair: TypeAlias = tuple[ImageLike, TaskLike]
"""An image, and what it is to show."""

RULES = 1
"""The version of the rules from verdicts to rewards: a new number wherever a reward may come out differently."""

ICONS = "builtin/icons"

_HEAD, _TAIL = 400, 100
"""So many characters of what a failed judge says are kept from its beginning and its end."""


class _Waiting(NamedTuple):
    """An image that somebody has to look at, and its place among all; without a judge, the grounder and logic do."""

    place: int
    image: ImageLike
    task: Task
    judge: Judge | None


class Scorer:
    """Gives images dense rewards.

    Open it once and keep it: it holds who looks, and remembers formulas that it has made ready. It may be used by
    several threads and event loops at the same time, and sent (pickled) to other processes, which open their own.
    Formulas over boxes and colours need a grounder, all else a chat model; scenes need neither.
    """

    def __init__(
        self,
        grounder: str | Grounder = ICONS,
        judge: str | None = None,
        *,
        grounder_options: Mapping[str, str] | None = None,
        judge_options: Mapping[str, str] | None = None,
        judges: Mapping[str, Judge] | None = None,
        weights: Weights | None = None,
        items: Mapping[str, str | Path | Iterable[Item[Any]]] | None = None,
    ) -> None:
        """A scorer with these eyes.

        Args:
            grounder: who finds the objects in images: `builtin/icons`, `detector/…`, a chat model, or a grounder.
            judge: the chat model that is asked about Natural, ConceptMix, CF-World, and questions of one's own. None:
                such images are refused.
            grounder_options: options of the grounder, as after `-J`.
            judge_options: options of the judge, as after `-J`. Unless told otherwise, the clauses of Natural decide.
            judges: judges of one's own, by suite, in place of those that would be opened.
            weights: what clauses and questions count, by their kind; 1 if not named.
            items: where the items of a suite lie, or the items, by suite; the default suites if not named.

        Raises:
            FormalimgError: if an option is wrong.
        """
        self._given: dict[str, Any] = {
            "grounder": grounder,
            "judge": judge,
            "grounder_options": grounder_options,
            "judge_options": judge_options,
            "judges": judges,
            "weights": weights,
            "items": items,
        }
        self._weights = checked_weights(weights or {})
        self._grounder = open_grounder(grounder, grounder_options) if isinstance(grounder, str) else grounder
        self._judge_name, self._judge_options = judge, dict(judge_options or {})
        self._judges = dict(judges or {})
        for name in self._judges:
            suite(name)  # so that a wrong name is told at once
        self._tasks = Tasks(in_whole_numbers(self._weights), items)
        self._opening = threading.Lock()
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Semaphore]] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[partial[Scorer], tuple[()]]:
        return partial(type(self), **self._given), ()

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What shapes the rewards and should be on record with them."""
        return {
            "grounder": self._grounder.name,
            "judge": self._judge_name,
            "reward_rules": RULES,
            **{f"weight_{kind}": weight for kind, weight in sorted(self._weights.items())},
        }

    @property
    def looking(self) -> Mapping[str, Named]:
        """Who looks at images: the `grounder`, and by suite the judges that were opened so far.

        Their settings are all that shapes what they say. A chat model is opened when its suite is first asked for.
        """
        with self._opening:
            return {"grounder": self._grounder, **dict(sorted(self._judges.items()))}

    def suite_digests(self) -> Mapping[str, str]:
        """By suite, a digest of what its items ask: whoever has the same asks the same by the same ids."""
        return self._tasks.digests()

    def ready(self, task: TaskLike) -> Task:
        """What an image is scored by, made ready; pairs may hold it too.

        Raises:
            FormalimgError: if it is nothing that images can be scored by.
        """
        return self._tasks.ready(task)

    def score_all(self, pairs: Iterable[Pair], *, parts: bool = True) -> list[Scored]:
        """The rewards of images, in their order; also where an event loop is running, as in notebooks.

        What cannot be told is a `Scored` without a score.

        Args:
            pairs: images, and what each is to show.
            parts: whether to tell the parts, and why some fall short. Without, the scores are the same and come sooner.

        Raises:
            PairError: if nothing can be scored by what was given for an image, or nobody is there to look.
            FormalimgError: if whoever looks cannot work at all, for instance for a wrong key.
        """
        found, waiting = self._sorted_out(list(pairs), parts)
        if waiting:
            with ThreadPoolExecutor(1, "formalimg-rewards") as thread:
                found.update(thread.submit(lambda: asyncio.run(self._looked_at_all(waiting, parts))).result())
        return [found[place] for place in range(len(found))]

    async def score(self, pairs: Iterable[Pair], *, parts: bool = True) -> list[Scored]:
        """The same for programs with an event loop.

        Scenes are judged in a thread, and images as many at a time as whoever looks at them takes, whoever else is
        scoring in this loop.
        """
        found, waiting = await asyncio.to_thread(self._sorted_out, list(pairs), parts)
        if waiting:
            found.update(await self._looked_at_all(waiting, parts))
        return [found[place] for place in range(len(found))]

    def _sorted_out(self, pairs: Sequence[Pair], parts: bool) -> tuple[dict[int, Scored], list[_Waiting]]:
        """The rewards of scenes, and the images that somebody has to look at."""
        found: dict[int, Scored] = {}
        waiting: list[_Waiting] = []
        for place, (image, given) in enumerate(pairs):
            try:
                task = self._tasks.ready(given)
                seen = scene_in(image)
                if seen is None:
                    waiting.append(_Waiting(place, image, task, self._judge_of(task)))
                else:
                    found[place] = self._of_scene(task, seen, parts)
            except FormalimgError as error:
                raise PairError(place, error) from error
        return found, waiting

    def _of_scene(self, task: Task, seen: StyledScene | Unscored, parts: bool) -> Scored:
        if task.formula is None:
            raise FormalimgError("a scene can be scored by a formula only: give an image, or a formula")
        if isinstance(seen, Unscored):
            return Scored.missing(seen)
        return by_logic(task.formula, seen.scene, seen.style, self._weights, parts=parts)

    def _judge_of(self, task: Task) -> Judge | None:
        name = task.item.suite
        with self._opening:
            if name in self._judges:
                return self._judges[name]
            if task.by_logic:
                return None
            if self._judge_name is None:
                raise FormalimgError(
                    f"{name} needs a chat model that looks at images: open the scorer, or start the server, with a "
                    "judge such as openai/gpt-4o, or give scenes and formulas"
                )
            # A reward is 1 if and only if an image passes: so, unless told otherwise, the clauses decide.
            own = {"decide": "clauses", **self._judge_options} if name == "natural" else self._judge_options
            self._judges[name] = open_judge(name, self._judge_name, own)
            return self._judges[name]

    async def _looked_at_all(self, waiting: Sequence[_Waiting], parts: bool) -> dict[int, Scored]:
        try:
            async with asyncio.TaskGroup() as looking:
                tasks = [looking.create_task(self._looked_at(entry)) for entry in waiting]
        except ExceptionGroup as errors:
            # Whoever calls must see what the user can mend, such as a wrong key, and not a group of it.
            mendable = (error for error in errors.exceptions if isinstance(error, FormalimgError))
            raise next(mendable, errors.exceptions[0]) from None
        found = {entry.place: task.result() for entry, task in zip(waiting, tasks, strict=True)}
        return found if parts else {place: scored.without_parts() for place, scored in found.items()}

    async def _looked_at(self, entry: _Waiting) -> Scored:
        async with self._turn(entry.judge or self._grounder):
            image = await asyncio.to_thread(image_in, entry.image)
            if isinstance(image, Unscored):
                return Scored.missing(image)
            flat = failed_by_rule(image)
            if flat is not None:
                return Scored.of_parts(flat.passed, flat.parts, flat.cost, str(flat.evidence["explanation"]))
            try:
                return await self._judged(entry, image)
            except FormalimgError:
                raise
            except Exception as error:  # of whoever looks
                told = truncate(redacted(" ".join(f"{type(error).__name__}: {error}".split())), _HEAD, _TAIL)
                return Scored.missing(Unscored("judge failed", told))

    async def _judged(self, entry: _Waiting, image: LoadedImage) -> Scored:
        task = entry.task
        if entry.judge is not None:
            verdict = await entry.judge.judge(task.item, image)
            if isinstance(verdict, Unscored):
                return Scored.missing(verdict)
            return by_verdict(task, verdict, self._weights)
        assert task.formula is not None, "grounders look for what formulas speak of"
        seen = await self._grounder.ground(image, task.item.spec.object_classes)
        if isinstance(seen, Unscored):
            return Scored.missing(seen)
        return await asyncio.to_thread(by_logic, task.formula, seen.scene, None, self._weights, seen.cost)

    def _turn(self, looking: Grounder | Judge) -> asyncio.Semaphore:
        """A place among the images that are looked at; all calls in a loop share them."""
        turns = self._turns.setdefault(asyncio.get_running_loop(), {})
        return turns.setdefault(id(looking), asyncio.Semaphore(max(1, looking.concurrency)))
