"""Adaptive runs, which generate and judge images in batches until a sequential test decides.

Within a level, items are shuffled by the seed of the run. Each look needs a certain number of scored images; an image
that cannot be scored neither passes nor fails, and is replaced by the next item.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import (
    ProgressCallback,
    ResumeCallback,
    match_premade_images,
    run_engine,
    start_engine,
    without_verdict,
)
from formalimg.runs.looks import AdaptiveLooks, ImagesOfLook, LooksFile
from formalimg.runs.manifest import Identity, require_storable_settings
from formalimg.runs.parties import UNGUARDED, Safeguards
from formalimg.runs.plan import judge_key, look_order, plan_images, question_key
from formalimg.runs.progress import EarlierWork, Progress
from formalimg.runs.reader import open_run
from formalimg.runs.store import RunStore
from formalimg.stats.sequential import AdaptiveDesign
from formalimg.stats.sequential_pairs import PairedDesign
from formalimg.types import Item, Judge

if TYPE_CHECKING:
    from formalimg.models.folder.file_matching import MatchReport

DEFAULT_EPSILON = 0.7  # The rate to hold at levels of suites that have none of their own: that of FormalImg
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AdaptivePlan:
    """The design of an adaptive run and the order in which it takes items."""

    looks: AdaptiveLooks  # the design, without looks
    # the items of each level in the order in which they are taken; all of them at 0 for a comparison
    queues: Mapping[int, Sequence[Item[object]]]
    other: Mapping[str, bool] | None = None  # which items the other run has passed, for a comparison


def plan_adaptive(
    config: RunConfig, judge: Judge, *, epsilon: float | None = None, against: Path | None = None
) -> AdaptivePlan:
    """Plan an adaptive run."""
    benchmark = suite(config.items[0].suite)
    items = list(config.selected_items().values())
    if benchmark.has_scores:
        raise FormalimgError(f"{benchmark.name} gives scores, not passes: leave --adaptive (adaptive=) out for it")
    if config.samples != 1:
        raise FormalimgError("an adaptive run takes one image of each item: leave --samples (samples=) out")
    if against is not None:
        baseline = _other_verdicts(against, items, judge)
        shared = look_order(config.seed, (item for item in items if item.id in baseline))
        looks = AdaptiveLooks(PairedDesign(len(shared)), judge_key(judge), _other_name(against))
        return AdaptivePlan(looks, {0: shared}, baseline)
    levels = sorted({item.level for item in items})
    lowest = min(item.level for item in config.items)
    if len({item.level for item in config.items}) < 2 or lowest < 1:
        raise FormalimgError(f"{benchmark.name} has no levels to climb: leave --adaptive (adaptive=) out for it")
    if levels != list(range(lowest, levels[-1] + 1)):
        raise FormalimgError(
            f"an adaptive run climbs from level {lowest} on: give --levels {lowest}-{levels[-1]} (levels=), or all"
        )
    queues = {level: look_order(config.seed, (item for item in items if item.level == level)) for level in levels}
    if epsilon is None:
        epsilon = DEFAULT_EPSILON if benchmark.epsilon is None else benchmark.epsilon
    design = AdaptiveDesign({level: len(queue) for level, queue in queues.items()}, epsilon)
    return AdaptivePlan(AdaptiveLooks(design, judge_key(judge)), queues)


def execute_adaptive(
    config: RunConfig,
    folder: Path,
    judge: Judge,
    plan: AdaptivePlan,
    *,
    on_progress: ProgressCallback = lambda progress: None,
    on_match: Callable[[MatchReport], None] = lambda matching: None,
    safeguards: Safeguards = UNGUARDED,
    on_resume: ResumeCallback = lambda earlier: None,
) -> Progress:
    """Generate and judge images until the sequential test decides, resuming any earlier call."""
    require_storable_settings(Identity(judge.name, judge.settings))
    config = replace(config, adaptive=str(plan.looks))
    selected = config.selected_items()
    positions = {item.id: position for position, item in selected.items()}
    manifest = match_premade_images(config, selected, on_match)
    builder = config.requests
    with RunStore(folder, manifest) as store:
        stored, scored = store.stored_images(), store.scored(judge)
        file = LooksFile(folder, plan.looks, has_images=bool(stored))
        queues = _Queues(plan, file.looks, folder)
        if stored:
            on_resume(EarlierWork(len(stored), len(stored), len(scored)))
        work_left = file.looks.missing is not None
        to_check = [judge] if work_left else []
        engine = start_engine(store, config, folder, judge, to_check, scored, safeguards, on_progress, work_left)

        async def make(items: Sequence[Item[object]]) -> Mapping[str, bool]:
            """Generate and judge images for the items, and return whether each scored item passed."""
            images = plan_images(items, builder, samples=1, seed=config.seed)
            store.plan({positions[item.id]: item for item in items}, images, manifest.resuming(store.manifest))
            made = store.stored_images()
            to_make = [planned for planned in images if (planned.item.id, planned.sample) not in made]
            questions = [(planned.item, planned.sample, planned.question) for planned in images]
            await engine.run(to_make, without_verdict(made, questions, scored))
            return store.passed(item.id for item in items)

        async def work() -> Progress:
            while (missing := file.looks.missing) is not None and not engine.progress.stopped:
                outcomes = await _look_at(queues.left(), missing, make, engine.progress)
                if outcomes is not None:
                    images = queues.images(outcomes, missing)
                    _log.info("look %d: %s", len(file.looks.seen) + 1, file.add(images))
            return engine.progress

        return run_engine(store, engine, work)


async def _look_at(
    queue: Sequence[Item[object]],
    missing: int,
    make: Callable[[Sequence[Item[object]]], Awaitable[Mapping[str, bool]]],
    progress: Progress,
) -> Mapping[str, bool | None] | None:
    outcomes: dict[str, bool | None] = {}
    scored = 0
    while scored < missing and len(outcomes) < len(queue):
        batch = queue[len(outcomes) : len(outcomes) + missing - scored]
        passed = await make(batch)
        if progress.stopped:
            return None
        outcomes |= {item.id: passed.get(item.id) for item in batch}
        scored += len(passed)
    return outcomes


class _Queues:
    def __init__(self, plan: AdaptivePlan, looks: AdaptiveLooks, folder: Path) -> None:
        self._plan = plan
        self._looks = looks
        order = {level: [item.id for item in queue] for level, queue in plan.queues.items()}
        level_of = {item: level for level, ids in order.items() for item in ids}
        by_level = {level: {item for item in looks.items if level_of.get(item) == level} for level in order}
        if any(item not in level_of for item in looks.items) or any(
            set(ids[: len(by_level[level])]) != by_level[level] for level, ids in order.items()
        ):
            raise FormalimgError(f"the looks of {folder} are of other items or another order: choose another folder")

    def left(self) -> Sequence[Item[object]]:
        """Return the untested items of the current level."""
        done = set(self._looks.items)
        return [item for item in self._plan.queues[self._looks.level or 0] if item.id not in done]

    def images(self, outcomes: Mapping[str, bool | None], missing: int) -> ImagesOfLook:
        """Group the new images of a look by outcome."""
        items: dict[str, list[str]] = {}
        for item, passed in outcomes.items():
            items.setdefault(self._outcome(item, passed), []).append(item)
        scored = sum(passed is not None for passed in outcomes.values())
        return ImagesOfLook(items, exhausted=scored < missing)

    def _outcome(self, item: str, passed: bool | None) -> str:
        if passed is None:
            return "unscored"
        if self._plan.other is None:
            return "passed" if passed else "failed"
        baseline_passed = self._plan.other[item]
        return "tied" if passed == baseline_passed else "won" if passed else "lost"


def _other_verdicts(folder: Path, items: Sequence[Item[object]], judge: Judge) -> dict[str, bool]:
    with closing(open_run(folder, Identity(judge.name, judge.settings))) as run:
        if judge_key(judge) not in map(judge_key, run.judges()):
            raise FormalimgError(
                f"{folder} has no verdicts of {judge.name} with these settings: judge it first with "
                f"`formalimg judge {folder} --judge {judge.name}`, or name the judge that it has"
            )
        questions = {item.id: question_key(item) for item in run.suite_items()}
        verdicts = {outcome.item: outcome.passed for outcome in run.outcomes() if not outcome.sample}
    common = {
        item.id: passed
        for item in items
        if questions.get(item.id) == question_key(item) and (passed := verdicts.get(item.id)) is not None
    }
    if not common:
        raise FormalimgError(f"{folder} has no scored item in common with this run: name a run of the same items")
    return common


def _other_name(folder: Path) -> str:
    with closing(open_run(folder)) as run:
        return f"{run.manifest.model.name}, begun {run.manifest.created}"
