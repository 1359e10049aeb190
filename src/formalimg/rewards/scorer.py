"""The scorer, which returns a reward for each image using a grounder, judges and prepared tasks."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import OCR, TEXT_READER, open_grounder, open_judge
from formalimg.judges.scene_judge import SceneJudge
from formalimg.models.base import Identified
from formalimg.models.secrets import mask_secrets
from formalimg.rewards.inputs import ImageLike, load_image, load_scene
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.tasks import RewardTask, TaskCache, TaskLike
from formalimg.rewards.weights import (
    Weights,
    check_surplus,
    check_weights,
    discount_surplus,
    integer_weights,
    reward_of_scene,
    reward_of_verdict,
)
from formalimg.runs.defaults.settings import JUDGE_VARIABLE, ConfiguredJudge
from formalimg.runs.inspection import fail_by_rule
from formalimg.runs.messages import error_text
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Item, Judge, Setting, Unscored

Result = TypeVar("Result")

Pair: TypeAlias = tuple[ImageLike, TaskLike]  # An image, and what it is to show
RULES_VERSION = 2  # version of the rules from verdicts to rewards: raised whenever a reward may come out differently
DEFAULT_GROUNDER = "builtin/icons"
_TEXTS = "texts"  # the judge of strings to read, among those of suites


class _PendingImage(NamedTuple):
    """A numbered image waiting to be judged, or to be scored by the grounder and logic if there is no judge."""

    number: int
    image: ImageLike
    task: RewardTask
    judge: Judge | None


class _PendingScene(NamedTuple):
    """A grounded image waiting to be scored, with its task, style and grounding cost."""

    number: int
    task: RewardTask
    scene: Scene
    style: str | None
    cost: float | None


class Scorer:
    """A scorer that computes dense rewards of images.

    Create it once and keep it: it holds the models, and caches prepared formulas. It may be used by several threads
    and event loops at the same time, and pickled to other processes, which open their own models.
    Formulas over boxes and colours need a grounder, all else a chat model; scenes need neither.
    """

    def __init__(
        self,
        grounder: str | Grounder = DEFAULT_GROUNDER,
        judge: str | None = None,
        *,
        grounder_options: Mapping[str, str] | None = None,
        judge_options: Mapping[str, str] | None = None,
        judges: Mapping[str, Judge | ConfiguredJudge] | None = None,
        weights: Weights | None = None,
        items: Mapping[str, str | Path | Iterable[Item[Any]]] | None = None,
        suites: Sequence[str] | None = None,
        surplus: float = 1.0,
    ) -> None:
        """Open the grounder. Judges are opened on first use.

        Args:
            grounder: finds the objects in images: `builtin/icons`, `detector/…`, a chat model, or a grounder object.
            judge: the chat model that judges suites without a grounder, such as Natural, and the user's own questions.
                None: such images are refused.
            grounder_options: options of the grounder, as after `-J`.
            judge_options: options of the judge, as after `-J`. By default, the clauses of Natural decide.
            judges: judge objects, or names with options, by suite, in place of `judge`.
            weights: the weights of clauses and questions, by their kind; 1 if not named.
            items: the paths of the items, or the items, by suite; the default suites if not named.
            suites: the suites in which prompts are looked for; None for all that have items.
            surplus: how much an object of a class that the formula does not name lowers the reward of a failing image:
                from 0 (not at all) to 1 (as much as an object of a named class counts).
        """
        self._arguments = {name: value for name, value in locals().items() if name != "self"}
        self._weights, self._surplus = check_weights(weights or {}), check_surplus(surplus)
        self._grounder = open_grounder(grounder, grounder_options) if isinstance(grounder, str) else grounder
        self._judge_name, self._judge_options = judge, dict(judge_options or {})
        self._judges: dict[str, Judge] = {}
        self._configured_judges: dict[str, ConfiguredJudge] = {}
        for name, suite_judge in (judges or {}).items():
            suite(name)  # so that a wrong name is reported at once
            if isinstance(suite_judge, ConfiguredJudge):
                self._configured_judges[name] = suite_judge
            else:
                self._judges[name] = suite_judge
        self._tasks = TaskCache(integer_weights(self._weights), items, suites)
        self._judges_lock = threading.Lock()
        self._loop = BackgroundLoop()
        # limits on concurrent calls to each grounder or judge, by event loop
        self._semaphores = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Semaphore]]()

    def __reduce__(self) -> tuple[partial[Scorer], tuple[()]]:
        return partial(type(self), **self._arguments), ()

    @property
    def settings(self) -> Mapping[str, Setting]:
        """All settings that affect the rewards, to be recorded with them."""
        return {
            "grounder": self._grounder.name,
            "judge": None if self._judge_name is None else mask_secrets(self._judge_name),
            **{f"judge_{name}": mask_secrets(judge.name) for name, judge in sorted(self._configured_judges.items())},
            "reward_rules": RULES_VERSION,
            "surplus": self._surplus,
            **{f"weight_{kind}": weight for kind, weight in sorted(self._weights.items())},
        }

    @property
    def parties(self) -> Mapping[str, Identified]:
        """The grounder under the key `grounder`, and the judges opened so far under their suites.

        A chat model is opened when its suite is first scored.
        """
        with self._judges_lock:
            return {"grounder": self._grounder, **dict(sorted(self._judges.items()))}

    def suite_digests(self) -> Mapping[str, str]:
        """Return a digest of the items of each suite. Equal digests mean identical items and ids."""
        return self._tasks.digests()

    def prepare(self, task: TaskLike) -> RewardTask:
        """Prepare a task for reuse in pairs."""
        return self._tasks.prepare(task)

    def find(self, prompt: str) -> RewardTask:
        """Find the item with a prompt and return its prepared task.

        White space and a leading style text are ignored.
        """
        return self._tasks.prepare({"prompt": prompt})

    def score_all(self, pairs: Iterable[Pair], *, parts: bool = True) -> list[RewardScore]:
        """Score the pairs in order, even inside a running event loop such as in a notebook.

        An image that cannot be scored has a `RewardScore` without a score.

        Args:
            pairs: images, and what each is to show.
            parts: whether to return parts and reasons. Without them, the same scores are returned sooner.
        """
        rewards, pending = self._score_scenes(list(pairs), parts)
        if pending:
            rewards.update(self._loop.run(self._score_images(pending, parts)))
        return [rewards[index] for index in range(len(rewards))]

    async def score(self, pairs: Iterable[Pair], *, parts: bool = True) -> list[RewardScore]:
        """Score the pairs in order, as the asynchronous version of `score_all`.

        Scenes are scored in a thread. The concurrency limits of grounder and judges hold for all calls in this loop.
        """
        rewards, pending = await asyncio.to_thread(self._score_scenes, list(pairs), parts)
        if pending:
            rewards.update(await self._score_images(pending, parts))
        return [rewards[index] for index in range(len(rewards))]

    def _score_scenes(self, pairs: Sequence[Pair], parts: bool) -> tuple[dict[int, RewardScore], list[_PendingImage]]:
        """Score scenes, and return their rewards by index with the images that still need a judge."""
        rewards: dict[int, RewardScore] = {}
        images: list[_PendingImage] = []
        scenes: list[_PendingScene] = []
        for index, (image, task_like) in enumerate(pairs):
            try:
                task = self._tasks.prepare(task_like)
                scene = load_scene(image)
                if scene is None:
                    images.append(_PendingImage(index, image, task, self._choose_judge(task)))
                elif task.formula is None:
                    raise FormalimgError("a scene can be scored by a formula only: give an image, or a formula")
                elif isinstance(scene, Unscored):
                    rewards[index] = RewardScore.missing(scene)
                else:
                    scenes.append(_PendingScene(index, task, scene.scene, scene.style, 0.0))
            except FormalimgError as error:
                raise PairError(index, error) from error
        rewards.update(self._reward_scenes(scenes, parts))
        return rewards, images

    def _reward_scenes(self, scenes: Sequence[_PendingScene], parts: bool) -> dict[int, RewardScore]:
        """Compute the rewards of scenes by index, in batches per task if parts are not needed."""
        groups: dict[int, list[_PendingScene]] = {}
        for pending in scenes:
            groups.setdefault(pending.number if parts else id(pending.task), []).append(pending)
        rewards: dict[int, RewardScore] = {}
        errors: dict[int, FormalimgError] = {}
        for group in groups.values():
            formula = group[0].task.formula
            assert formula is not None, "scenes are scored by formulas"
            shares: Sequence[object] = [None] * len(group)
            if len(group) > 1:
                shares = formula.shares([pending.scene for pending in group], [pending.style for pending in group])
            for (index, task, scene, style, cost), share in zip(group, shares, strict=True):
                try:
                    if isinstance(share, float):
                        reward = RewardScore(share, share == 1, cost=cost)
                    else:
                        reward = reward_of_scene(formula, scene, style, self._weights, cost, parts=parts)
                    rewards[index] = discount_surplus(reward, scene, task.item.spec.object_classes, self._surplus)
                except FormalimgError as error:
                    errors[index] = error
        if errors:
            first = min(errors)
            raise PairError(first, errors[first]) from errors[first]
        return rewards

    def _choose_judge(self, task: RewardTask) -> Judge | None:
        name = _TEXTS if task.reads_text else task.item.suite
        with self._judges_lock:
            if name in self._judges:
                return self._judges[name]
            configured = self._configured_judges.get(name)
            if configured is None and task.by_logic:
                return None
            judge, options = self._judge_name, self._judge_options
            if configured is not None:
                judge, options = configured.name, dict(configured.options)
            if task.reads_text:
                if judge is None or not judge.startswith(OCR):
                    judge, options = TEXT_READER, {}
            elif judge is None:
                raise FormalimgError(
                    f"{name} needs a chat model that looks at images: open the scorer, or start the server, with a "
                    f"judge such as openai/gpt-4o, set {JUDGE_VARIABLE}, or give scenes and formulas"
                )
            elif suite(name).judged_by_clauses:
                # A reward is 1 if and only if an image passes: so, by default, the clauses decide.
                options = {"decide": "clauses", **options}
            self._judges[name] = open_judge(task.item.suite, judge, options)
            return self._judges[name]

    async def _score_images(self, images: Sequence[_PendingImage], parts: bool) -> dict[int, RewardScore]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._score_image(pending)) for pending in images]
        except ExceptionGroup as errors:
            # Callers must see what the user can mend, such as a wrong key, and not a group of it.
            mendable = (error for error in errors.exceptions if isinstance(error, FormalimgError))
            raise next(mendable, errors.exceptions[0]) from None
        results = [task.result() for task in tasks]
        scenes = [result for result in results if isinstance(result, _PendingScene)]
        rewards = await asyncio.to_thread(self._reward_scenes, scenes, parts) if scenes else {}
        for pending, result in zip(images, results, strict=True):
            if isinstance(result, RewardScore):
                rewards[pending.number] = result if parts else result.without_parts()
        return rewards

    async def _score_image(self, pending: _PendingImage) -> RewardScore | _PendingScene:
        model = pending.judge or self._grounder
        semaphores = self._semaphores.setdefault(asyncio.get_running_loop(), {})
        async with semaphores.setdefault(id(model), asyncio.Semaphore(max(1, model.concurrency))):
            image = await asyncio.to_thread(load_image, pending.image)
            if isinstance(image, Unscored):
                return RewardScore.missing(image)
            verdict = fail_by_rule(image)
            if verdict is not None:
                explanation = str(verdict.evidence["explanation"])
                return RewardScore.of_parts(verdict.passed, verdict.parts, verdict.cost, explanation)
            try:
                return await self._judge_image(pending, image)
            except FormalimgError:
                raise
            except Exception as error:  # of the grounder or judge
                return RewardScore.missing(Unscored("judge failed", error_text(error)))

    async def _judge_image(self, pending: _PendingImage, image: LoadedImage) -> RewardScore | _PendingScene:
        task, judge, grounder = pending.task, pending.judge, self._grounder
        if isinstance(judge, SceneJudge) and task.formula is not None:
            # Its verdicts count clauses that hold, and rewards those that are earned: so only its grounder is asked.
            grounder, judge = judge.grounder, None
        if judge is not None:
            verdict = await judge.judge(task.item, image)
            if isinstance(verdict, Unscored):
                return RewardScore.missing(verdict)
            return reward_of_verdict(task, verdict, self._weights)
        assert task.formula is not None, "grounders look for what formulas speak of"
        grounding = await grounder.ground(image, task.item.spec.object_classes)
        if isinstance(grounding, Unscored):
            return RewardScore.missing(grounding)
        return _PendingScene(pending.number, task, grounding.scene, None, grounding.cost)


class BackgroundLoop:
    """An event loop in a background thread, for synchronous callers that reuse clients between calls.

    It runs coroutines for callers in any thread, also where an event loop is running, as in notebooks. The thread
    starts with the first call and ends with this object. A forked process starts its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: _LoopThread | None = None

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine and return its result, cancelling it if the caller is interrupted."""
        with self._lock:
            running = self._running
            if running is None or running.process != os.getpid():
                running = self._running = _LoopThread()
                weakref.finalize(self, running.stop)
        if threading.current_thread() is running.thread:
            coroutine.close()
            raise RuntimeError("the judge calls the scorer that waits for it: use another scorer")
        future = asyncio.run_coroutine_threadsafe(coroutine, running.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


class _LoopThread:
    def __init__(self) -> None:
        self.process = os.getpid()
        self._started = threading.Event()
        self.thread = threading.Thread(target=self._run, name="formalimg-rewards", daemon=True)
        self.thread.start()
        self._started.wait()

    def _run(self) -> None:
        with asyncio.Runner() as runner:  # at its end, clients close their connections
            self.loop = runner.get_loop()
            self._started.set()
            self.loop.run_forever()

    def stop(self) -> None:
        """Stop the loop. Also called at interpreter exit."""
        if self.process == os.getpid() and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
