"""Execute a run, or judge an existing one: open the folder, find out what is left to do, let the engine work."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.judges import Judge
from formalimg.models import ImageRequest, MatchReport, PremadeImageModel, RequestedImage
from formalimg.runs.cancellation import run_until_stopped
from formalimg.runs.config import RunConfig, require_budget
from formalimg.runs.engine import Engine
from formalimg.runs.manifest import Identity, read_manifest, require_storable_settings
from formalimg.runs.messages import ImageToJudge, PlannedImage, StoredImage
from formalimg.runs.plan import plan_images, question_key
from formalimg.runs.progress import Progress
from formalimg.runs.reader import open_run
from formalimg.runs.store import RunStore
from formalimg.suites import STYLES, Condition, Item, suite

ProgressCallback = Callable[[Progress], None]

_log = logging.getLogger(__name__)


def execute(
    config: RunConfig,
    folder: Path,
    judge: Judge | None = None,
    *,
    on_progress: ProgressCallback = lambda progress: None,
    on_match: Callable[[MatchReport], None] = lambda matching: None,
) -> Progress:
    """Generate the images of a run and, if there is a judge, judge them; resumes where an earlier call ended.

    Ctrl-C stops it cleanly: what is being generated is stored, and the same call resumes later.

    Args:
        config: what to do.
        folder: the run folder; created if necessary.
        judge: the judge; None to generate images only.
        on_progress: called after each step.
        on_match: called once, before anything else, for models that serve existing images.

    Raises:
        LockedError: if another process is writing to the folder.
        FormalimgError: if the folder holds another run, or the run cannot go on. What is done is kept.
    """
    if judge:
        require_storable_settings(Identity(judge.name, judge.settings))
    items = config.selection.of(config.items)
    matched = ""
    if isinstance(config.model, PremadeImageModel):
        matching = config.model.match(images_to_match(items, config.samples))
        matched = matching.ways
        on_match(matching)
    builder = config.requests
    images = plan_images(list(items.values()), builder, samples=config.samples, seed=config.seed)
    with RunStore(folder, config.manifest()) as store:
        store.plan(items, images, replace(config.manifest(store.manifest), matched=matched))
        stored = store.stored_images()
        to_make = [planned for planned in images if (planned.item.id, planned.sample) not in stored]
        scored = store.scored(judge) if judge else set()
        planned_items = ((planned.item, planned.sample, planned.question) for planned in images)
        to_judge = _without_verdict(stored, planned_items, scored) if judge else []

        def build_request(planned: PlannedImage) -> ImageRequest:
            return builder.request(planned.item, planned.sample, planned.seed)

        model = config.model
        if config.rewriter is not None:
            from formalimg.runs.rewriting import RewriteStore  # here, because most runs rewrite nothing

            model = config.generator(RewriteStore(folder))
        engine = Engine(store, model, judge, build_request=build_request, scored=scored, on_progress=on_progress)
        engine.start_spending(store.cost(), config.budget, work_left=bool(to_make or to_judge))
        return _run_engine(store, engine, judge, to_make, to_judge)


def judge_run(
    folder: Path, judge: Judge, *, budget: float | None = None, on_progress: ProgressCallback = lambda progress: None
) -> Progress:
    """Judge all images of a run that this judge has not scored yet.

    Args:
        folder: the run folder.
        judge: the judge.
        budget: spending limit of this run folder in US dollars; None for no limit.
        on_progress: called after each step.

    Raises:
        LockedError: if another process is writing to the folder.
        FormalimgError: if the folder is not a run, or the budget is not valid.
    """
    require_storable_settings(Identity(judge.name, judge.settings))
    require_budget(budget)
    # Where the images are was not named by the user of this call, but by the folder, which may come from anywhere.
    with RunStore(folder, replace(read_manifest(folder), images="")) as store:
        store.images.require_own()
        with contextlib.closing(open_run(folder)) as run:
            items = {item.id: item for item in run.suite_items()}
        questions = {item.id: question_key(item) for item in items.values()}
        stored = store.stored_images()
        stored_items = ((items[item], sample, questions[item]) for item, sample in stored)
        to_judge = _without_verdict(stored, stored_items, store.scored(judge))
        engine = Engine(store, None, judge, on_progress=on_progress)
        engine.start_spending(store.cost(), budget, work_left=bool(to_judge))
        return _run_engine(store, engine, judge, [], to_judge)


def images_to_match(items: Mapping[int, Item[object]], samples: int) -> list[RequestedImage]:
    """Return the images of these items, by position in the suite, for models that serve existing images."""
    has_style = suite(next(iter(items.values())).suite).has_style_text
    styles = tuple(prompt.text for style in STYLES for prompt in Condition(style=style).texts) if has_style else ()
    return [
        RequestedImage(item.id, sample, item.prompt, position, item.suite, styles)
        for position, item in items.items()
        for sample in range(samples)
    ]


def _run_engine(
    store: RunStore,
    engine: Engine,
    judge: Judge | None,
    to_make: Sequence[PlannedImage],
    to_judge: Sequence[ImageToJudge],
) -> Progress:
    _log.info("%s: %d images to generate, %d existing ones to judge", store.folder, len(to_make), len(to_judge))
    if judge:
        store.begin_judging(judge)
    try:
        return run_until_stopped(engine, to_make, to_judge)
    finally:
        # Also when it was interrupted: the existing images can be used at once.
        with contextlib.suppress(FormalimgError):
            store.write_metadata()


def _without_verdict(
    stored: Mapping[tuple[str, int], StoredImage],
    images: Iterable[tuple[Item[object], int, str]],
    scored: Set[tuple[str, str]],
) -> list[ImageToJudge]:
    """Return those of the images (item, sample, question) that exist and that the judge has not scored."""
    return [
        ImageToJudge(item, question, image)
        for item, sample, question in images
        if (image := stored.get((item.id, sample))) is not None and (question, image.sha256) not in scored
    ]
