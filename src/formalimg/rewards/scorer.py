"""The scorer: holds the grounder, the judges and prepared tasks, and returns a reward for each image."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import OCR, TEXT_READER, open_grounder, open_judge
from formalimg.judges.scene_judge import SceneJudge
from formalimg.models.base import Identified
from formalimg.models.redaction import mask_secrets
from formalimg.rewards.background_loop import BackgroundLoop
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.reward_images import ImageLike, load_image, load_scene
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
from formalimg.runs.inspection import failed_by_rule
from formalimg.runs.messages import error_text
from formalimg.scenes.scene import Scene
from formalimg.types import Grounder, Item, Judge, Setting, Unscored

Pair: TypeAlias = tuple[ImageLike, TaskLike]
"""An image, and what it is to show."""

RULES_VERSION = 2
"""The version of the rules from verdicts to rewards: raised whenever a reward may come out differently."""

DEFAULT_GROUNDER = "builtin/icons"

_TEXTS = "texts"
"""The judge of strings to read, among those of suites."""


class _PendingImage(NamedTuple):
    """An image that has to be judged, and its index; without a judge, the grounder and logic decide."""

    place: int
    image: ImageLike
    task: RewardTask
    judge: Judge | None


class _SeenScene(NamedTuple):
    """The objects in an image, and its index, task, style and what it cost to find them."""

    place: int
    task: RewardTask
    scene: Scene
    style: str | None
    cost: float | None


class Scorer:
    """Returns dense rewards of images.

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
        """Open the grounder; judges are opened when they are first needed.

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
            surplus: how much an object of a class that the formula does not name lowers the reward of an image that
                fails: from 0, not at all, to 1, as much as an object of a class that it names counts.

        Raises:
            FormalimgError: if an option is wrong.
        """
        self._arguments: dict[str, Any] = {
            "grounder": grounder,
            "judge": judge,
            "grounder_options": grounder_options,
            "judge_options": judge_options,
            "judges": judges,
            "weights": weights,
            "items": items,
            "suites": suites,
            "surplus": surplus,
        }
        self._weights, self._surplus = check_weights(weights or {}), check_surplus(surplus)
        self._grounder = open_grounder(grounder, grounder_options) if isinstance(grounder, str) else grounder
        self._judge_name, self._judge_options = judge, dict(judge_options or {})
        self._judges: dict[str, Judge] = {}
        self._named_judges: dict[str, ConfiguredJudge] = {}
        for name, given in (judges or {}).items():
            suite(name)  # so that a wrong name is reported at once
            if isinstance(given, ConfiguredJudge):
                self._named_judges[name] = given
            else:
                self._judges[name] = given
        self._tasks = TaskCache(integer_weights(self._weights), items, suites)
        self._judges_lock = threading.Lock()
        self._loop = BackgroundLoop()
        self._semaphores = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, asyncio.Semaphore]]()

    def __reduce__(self) -> tuple[partial[Scorer], tuple[()]]:
        return partial(type(self), **self._arguments), ()

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything that shapes the rewards and should be recorded with them."""
        return {
            "grounder": self._grounder.name,
            "judge": None if self._judge_name is None else mask_secrets(self._judge_name),
            **{f"judge_{name}": mask_secrets(named.name) for name, named in sorted(self._named_judges.items())},
            "reward_rules": RULES_VERSION,
            "surplus": self._surplus,
            **{f"weight_{kind}": weight for kind, weight in sorted(self._weights.items())},
        }

    @property
    def parties(self) -> Mapping[str, Identified]:
        """The `grounder`, and by suite the judges that were opened so far.

        A chat model is opened when its suite is first scored.
        """
        with self._judges_lock:
            return {"grounder": self._grounder, **dict(sorted(self._judges.items()))}

    def suite_digests(self) -> Mapping[str, str]:
        """Return a digest of what the items ask for, by suite; the same digest means the same items by the same ids."""
        return self._tasks.digests()

    def prepare(self, task: TaskLike) -> RewardTask:
        """Return the prepared task, which pairs may hold too.

        Raises:
            FormalimgError: if it is not a task.
        """
        return self._tasks.prepare(task)

    def find(self, prompt: str) -> RewardTask:
        """Return the prepared task of the item with this prompt, for trainers that know nothing else of it.

        White space does not matter, nor does a text about style in front.

        Raises:
            FormalimgError: if no item has this prompt, or several that ask for different things.
        """
        return self._tasks.prepare({"prompt": prompt})

    def score_all(self, pairs: Iterable[Pair], *, parts: bool = True) -> list[RewardScore]:
        """Return the rewards of images, in their order; also where an event loop is running, as in notebooks.

        An image that cannot be scored has a `Scored` without a score.

        Args:
            pairs: images, and what each is to show.
            parts: whether to return parts and reasons. Without, the scores are the same and come sooner.

        Raises:
            PairError: if an image cannot be scored by its task, or there is no judge for it.
            FormalimgError: if a grounder or judge cannot work at all, for instance because of a wrong key.
        """
        found, pending = self._score_scenes(list(pairs), parts)
        if pending:
            found.update(self._loop.run(self._score_images(pending, parts)))
        return [found[index] for index in range(len(found))]

    async def score(self, pairs: Iterable[Pair], *, parts: bool = True) -> list[RewardScore]:
        """Return the rewards of images, like `score_all`, for programs with an event loop.

        Scenes are scored in a thread. The concurrency limits of grounder and judges hold for all calls in this loop.
        """
        found, pending = await asyncio.to_thread(self._score_scenes, list(pairs), parts)
        if pending:
            found.update(await self._score_images(pending, parts))
        return [found[index] for index in range(len(found))]

    def _score_scenes(self, pairs: Sequence[Pair], parts: bool) -> tuple[dict[int, RewardScore], list[_PendingImage]]:
        """Return the rewards of scenes by index, and the images that have to be judged."""
        found: dict[int, RewardScore] = {}
        pending: list[_PendingImage] = []
        scenes: list[_SeenScene] = []
        for index, (image, task_like) in enumerate(pairs):
            try:
                task = self._tasks.prepare(task_like)
                scene = load_scene(image)
                if scene is None:
                    pending.append(_PendingImage(index, image, task, self._judge_of(task)))
                elif task.formula is None:
                    raise FormalimgError("a scene can be scored by a formula only: give an image, or a formula")
                elif isinstance(scene, Unscored):
                    found[index] = RewardScore.missing(scene)
                else:
                    scenes.append(_SeenScene(index, task, scene.scene, scene.style, 0.0))
            except FormalimgError as error:
                raise PairError(index, error) from error
        found.update(self._reward_scenes(scenes, parts))
        return found, pending

    def _reward_scenes(self, scenes: Sequence[_SeenScene], parts: bool) -> dict[int, RewardScore]:
        """Return the rewards of scenes by index. Without parts, scenes of one task are scored together."""
        groups: dict[int, list[_SeenScene]] = {}
        for seen in scenes:
            groups.setdefault(seen.place if parts else id(seen.task), []).append(seen)
        found: dict[int, RewardScore] = {}
        failures: dict[int, FormalimgError] = {}
        for group in groups.values():
            formula = group[0].task.formula
            assert formula is not None, "scenes are scored by formulas"
            shares: list[float | None] = [None] * len(group)
            if len(group) > 1:
                together = formula.shares([seen.scene for seen in group], [seen.style for seen in group])
                shares = [share if isinstance(share, float) else None for share in together]
            for seen, share in zip(group, shares, strict=True):
                try:
                    found[seen.place] = self._reward_of_scene(seen, share, parts)
                except FormalimgError as error:
                    failures[seen.place] = error
        if failures:
            first = min(failures)
            raise PairError(first, failures[first]) from failures[first]
        return found

    def _reward_of_scene(self, seen: _SeenScene, share: float | None, parts: bool) -> RewardScore:
        """Return the reward of a scene, whose share of clauses is given if it was found in a group."""
        _, task, scene, style, cost = seen
        assert task.formula is not None, "scenes are scored by formulas"
        if share is None:
            found = reward_of_scene(task.formula, scene, style, self._weights, cost, parts=parts)
        else:
            found = RewardScore(share, share == 1, cost=cost)
        return discount_surplus(found, scene, task.item.spec.object_classes, self._surplus)

    def _judge_of(self, task: RewardTask) -> Judge | None:
        name = _TEXTS if task.reads_text else task.item.suite
        with self._judges_lock:
            if name in self._judges:
                return self._judges[name]
            named = self._named_judges.get(name)
            if named is None and task.by_logic:
                return None
            judge, options = (self._judge_name, self._judge_options) if named is None else (named.name, named.options)
            if task.reads_text:
                judge, options = (judge, options) if judge and judge.startswith(OCR) else (TEXT_READER, {})
                self._judges[name] = open_judge(task.item.suite, judge, options)
                return self._judges[name]
            if judge is None:
                raise FormalimgError(
                    f"{name} needs a chat model that looks at images: open the scorer, or start the server, with a "
                    f"judge such as openai/gpt-4o, set {JUDGE_VARIABLE}, or give scenes and formulas"
                )
            # A reward is 1 if and only if an image passes: so, by default, the clauses decide.
            own = {"decide": "clauses", **options} if suite(name).judged_by_clauses else options
            self._judges[name] = open_judge(name, judge, own)
            return self._judges[name]

    async def _score_images(self, pending: Sequence[_PendingImage], parts: bool) -> dict[int, RewardScore]:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._score_image(entry)) for entry in pending]
        except ExceptionGroup as errors:
            # Callers must see what the user can mend, such as a wrong key, and not a group of it.
            mendable = (error for error in errors.exceptions if isinstance(error, FormalimgError))
            raise next(mendable, errors.exceptions[0]) from None
        results = [task.result() for task in tasks]
        scenes = [seen for seen in results if isinstance(seen, _SeenScene)]
        found = await asyncio.to_thread(self._reward_scenes, scenes, parts) if scenes else {}
        for entry, scored in zip(pending, results, strict=True):
            if isinstance(scored, RewardScore):
                found[entry.place] = scored if parts else scored.without_parts()
        return found

    async def _score_image(self, entry: _PendingImage) -> RewardScore | _SeenScene:
        async with self._semaphore(entry.judge or self._grounder):
            image = await asyncio.to_thread(load_image, entry.image)
            if isinstance(image, Unscored):
                return RewardScore.missing(image)
            flat = failed_by_rule(image)
            if flat is not None:
                return RewardScore.of_parts(flat.passed, flat.parts, flat.cost, str(flat.evidence["explanation"]))
            try:
                return await self._judge_image(entry, image)
            except FormalimgError:
                raise
            except Exception as error:  # of the grounder or judge
                return RewardScore.missing(Unscored("judge failed", error_text(error)))

    async def _judge_image(self, entry: _PendingImage, image: LoadedImage) -> RewardScore | _SeenScene:
        task, judge, grounder = entry.task, entry.judge, self._grounder
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
        return _SeenScene(entry.place, task, grounding.scene, None, grounding.cost)

    def _semaphore(self, party: Grounder | Judge) -> asyncio.Semaphore:
        """Return the concurrency limit of a grounder or judge, shared by all calls in this loop."""
        semaphores = self._semaphores.setdefault(asyncio.get_running_loop(), {})
        return semaphores.setdefault(id(party), asyncio.Semaphore(max(1, party.concurrency)))
