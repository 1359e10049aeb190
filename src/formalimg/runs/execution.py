"""Execute a run or judge an existing one: open the folder, determine the remaining work and run the engine.

The first Ctrl-C ends a run cleanly, the second aborts it; also in a notebook.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from formalimg.benchmarks.conditions import STYLES, Condition
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.models.base import PremadeImageModel
from formalimg.runs.config import RunConfig, require_budget
from formalimg.runs.database import run_database_errors
from formalimg.runs.engine import Engine
from formalimg.runs.folder import PREFLIGHT
from formalimg.runs.manifest import Identity, RunManifest, read_manifest, require_images, require_storable_settings
from formalimg.runs.messages import ImageToJudge, PlannedImage, StoredImage
from formalimg.runs.parties import UNGUARDED, Safeguards, can_fail
from formalimg.runs.plan import plan_images, question_key
from formalimg.runs.progress import EarlierWork, Progress
from formalimg.runs.reader import open_run
from formalimg.runs.store import RunStore
from formalimg.types import Item, Judge

if TYPE_CHECKING:
    from formalimg.models.folder.file_matching import MatchReport, RequestedImage

ProgressCallback = Callable[[Progress], None]
ResumeCallback = Callable[[EarlierWork], None]

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 25.0
"""How long calls under way may take after SIGTERM, before the process ends: systems kill it after 30 seconds."""

_WAKE_UP_SECONDS = 0.2  # How late a notebook's stop button may be


def execute(
    config: RunConfig,
    folder: Path,
    judge: Judge | None = None,
    *,
    on_progress: ProgressCallback = lambda progress: None,
    on_match: Callable[[MatchReport], None] = lambda matching: None,
    safeguards: Safeguards = UNGUARDED,
    on_resume: ResumeCallback = lambda earlier: None,
) -> Progress:
    """Generate and optionally judge the images of a run, resuming any earlier call.

    Ctrl-C stops it cleanly: what is being generated is stored, and the same call resumes later.

    Args:
        config: what to do.
        folder: the run folder; created if necessary.
        judge: the judge; None to generate images only.
        on_progress: called after each step.
        on_match: called once, before anything else, for models that serve existing images.
        safeguards: a pre-flight of judges and model, and the number of failures in a row after which the run stops.
        on_resume: called once, before anything is made, if a part of the work or all of it is done already.
    """
    if judge:
        require_storable_settings(Identity(judge.name, judge.settings))
    items = config.selected_items()
    manifest = match_premade_images(config, items, on_match)
    images = plan_images(list(items.values()), config.requests, samples=config.samples, seed=config.seed)
    with RunStore(folder, manifest) as store:
        store.plan(items, images, manifest.resuming(store.manifest))
        stored = store.stored_images()
        to_make = [planned for planned in images if (planned.item.id, planned.sample) not in stored]
        scored = store.scored(judge) if judge else set()
        to_judge = without_verdict(stored, _list_questions(images), scored) if judge else []
        made = len(images) - len(to_make)
        if made:
            on_resume(EarlierWork(len(images), made, made - len(to_judge) if judge else None))
        to_check = [judge] if judge and (to_make or to_judge) else []
        to_check += [
            later_judge
            for later_judge in safeguards.judges
            if to_make or without_verdict(stored, _list_questions(images), store.scored(later_judge))
        ]
        work_left = bool(to_make or to_judge)
        engine = start_engine(store, config, folder, judge, to_check, scored, safeguards, on_progress, work_left)
        _log.info("%s: %d images to generate, %d existing ones to judge", folder, len(to_make), len(to_judge))
        return run_engine(store, engine, partial(engine.run, to_make, to_judge))


def match_premade_images(
    config: RunConfig, items: Mapping[int, Item[object]], on_match: Callable[[MatchReport], None]
) -> RunManifest:
    """Match existing images to items if the model serves such images, and return the manifest of the run."""
    if not isinstance(config.model, PremadeImageModel):
        return config.manifest()
    matching = config.model.match(images_to_match(items, config.samples))
    on_match(matching)
    return replace(config.manifest(), matched=matching.ways)


def start_engine(
    store: RunStore,
    config: RunConfig,
    folder: Path,
    judge: Judge | None,
    to_check: Sequence[Judge],
    scored: Set[tuple[str, str]],
    safeguards: Safeguards,
    on_progress: ProgressCallback,
    work_left: bool,
) -> Engine:
    """Return the engine of a run, which tries the image model first unless it has already generated images here."""
    builder, model = config.requests, config.model
    if config.rewriter is not None:
        from formalimg.runs.rewriting import RewriteStore  # here, because most runs rewrite nothing

        model = config.generator(RewriteStore(folder))
    before, spent = _prepare_start(store, judge, to_check, config.items[0].suite, safeguards)
    tries_model = safeguards.preflight and not store.stored_images() and can_fail(config.model)
    engine = Engine(
        store,
        model,
        judge,
        build_request=lambda planned: builder.request(planned.item, planned.sample, planned.seed),
        scored=scored,
        on_progress=on_progress,
        safeguards=replace(safeguards, preflight=tries_model),
        before=before,
    )
    engine.start_spending(store.cost() + spent, config.budget, work_left=work_left)
    return engine


def judge_run(
    folder: Path,
    judge: Judge,
    *,
    budget: float | None = None,
    on_progress: ProgressCallback = lambda progress: None,
    safeguards: Safeguards = UNGUARDED,
    on_resume: ResumeCallback = lambda earlier: None,
) -> Progress:
    """Judge all images of a run that the judge has not scored."""
    require_storable_settings(Identity(judge.name, judge.settings))
    require_budget(budget)
    # Where the images are was not named by the user of this call, but by the folder, which may come from anywhere.
    require_images(manifest := read_manifest(folder), folder)
    from formalimg.runs.reader import StoredItems  # here, because other runs have their items

    with RunStore(folder, replace(manifest, images="")) as store, contextlib.closing(open_run(folder)) as run:
        store.images.require_own()
        with run_database_errors(folder):
            items = StoredItems(run)
        stored, scored = store.stored_images(), store.scored(judge)
        stored_items = ((items.item(item), sample, items.question(item)) for item, sample in stored)
        entries = without_verdict(stored, stored_items, scored)
        # Each is decoded once before anything is spent: what cannot be judged is said now, and by its own question.
        to_judge = [entry._replace(question=question_key(entry.item)) for entry in entries]
        to_judge = [entry for entry in to_judge if (entry.question, entry.stored.sha256) not in scored]
        if len(to_judge) < len(stored):
            on_resume(EarlierWork(len(stored), None, len(stored) - len(to_judge)))
        to_check = [judge, *safeguards.judges] if to_judge else []
        before, spent = _prepare_start(store, judge, to_check, store.manifest.suite, safeguards)
        engine = Engine(store, None, judge, on_progress=on_progress, safeguards=safeguards, before=before)
        engine.start_spending(store.cost() + spent, budget, work_left=bool(to_judge))
        _log.info("%s: %d existing images to judge", folder, len(to_judge))
        return run_engine(store, engine, partial(engine.run, [], to_judge))


def images_to_match(items: Mapping[int, Item[object]], samples: int) -> list[RequestedImage]:
    """Return the images requested for the items, for models that serve existing images."""
    from formalimg.models.folder.file_matching import RequestedImage  # here, because most models make images

    has_style = suite(next(iter(items.values())).suite).has_style_text
    styles = tuple(prompt.text for style in STYLES for prompt in Condition(style=style).texts) if has_style else ()
    return [
        RequestedImage(item.id, sample, item.prompt, position, item.suite, styles)
        for position, item in items.items()
        for sample in range(samples)
    ]


def _prepare_start(
    store: RunStore, judge: Judge | None, to_check: Sequence[Judge], suite: str, safeguards: Safeguards
) -> tuple[Callable[[Progress], Awaitable[None]], float]:
    """Return the step before a run, with a pre-flight of judges that have scored nothing yet, and its earlier cost."""
    remote = [judge for judge in to_check if not judge.name.startswith("builtin/") and not store.scored(judge)]
    log = None
    if (safeguards.preflight and remote) or (store.folder / PREFLIGHT).exists():
        from formalimg.runs.preflight import PreflightLog, check_judges  # here, because most judges are built in

        log = PreflightLog(store.folder)

    async def before(progress: Progress) -> None:
        if safeguards.preflight and log is not None:
            await check_judges(remote, suite, log, progress, safeguards.on_notice)
        if judge is not None:
            store.begin_judging(judge)

    return before, log.cost if log else 0.0


def run_engine(store: RunStore, engine: Engine, work: Callable[[], Awaitable[Progress]]) -> Progress:
    """Run the engine until it is done or stopped, then write the image metadata."""
    try:
        return run_until_stopped(engine, work)
    finally:
        # Also when it was interrupted: the existing images can be used at once.
        with contextlib.suppress(FormalimgError):
            store.write_metadata()


def _list_questions(images: Iterable[PlannedImage]) -> Iterator[tuple[Item[object], int, str]]:
    return ((planned.item, planned.sample, planned.question) for planned in images)


def without_verdict(
    stored: Mapping[tuple[str, int], StoredImage],
    images: Iterable[tuple[Item[object], int, str]],
    scored: Set[tuple[str, str]],
) -> list[ImageToJudge]:
    """Return the existing images that the judge has not scored."""
    return [
        ImageToJudge(item, question, image)
        for item, sample, question in images
        if (image := stored.get((item.id, sample))) is not None and (question, image.sha256) not in scored
    ]


# --- Ctrl-C


def run_until_stopped(engine: Engine, run_engine: Callable[[], Awaitable[Progress]]) -> Progress:
    """Run the engine until it is done or stopped, even inside a running event loop."""
    stop = _StopHandler(engine)

    async def work() -> Progress:
        with stop.on_signals():
            try:
                return await run_engine()
            except asyncio.CancelledError:
                if not stop.aborted:
                    raise
                return engine.progress

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    results: list[Progress] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            results.append(asyncio.run(work()))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    with stop.on_interrupt():
        threading.Thread(target=run, name="formalimg-run").start()
        # With a timeout: a signal that arrives just before a thread blocks is handled only once it wakes up again.
        while not ended.wait(_WAKE_UP_SECONDS):
            pass
    if errors:
        raise errors[0]
    return results[0]


class _StopHandler:
    """A handler that stops the engine on the first call and aborts it on the second.

    Local computations are abandoned at once, because repeating them is free; remote calls are paid for.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._deadline: threading.Timer | None = None
        self.aborted = False

    def terminate(self) -> None:
        """Stop quickly in response to SIGTERM, giving calls a short time to finish."""
        self()
        if self._deadline is None:
            self._deadline = threading.Timer(_GRACE_SECONDS, _end_process)
            self._deadline.daemon = True
            self._deadline.start()

    def __call__(self) -> None:
        if self._engine.progress.stopped and self._loop is not None and self._task is not None:
            self.aborted = True
            self._loop.call_soon_threadsafe(self._task.cancel)
        _log.info("run %s by the user", "aborted" if self.aborted else "stopped")
        self._engine.interrupt()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._engine.report)

    @contextlib.contextmanager
    def on_interrupt(self) -> Iterator[None]:
        """Handle the stop button of a notebook without a KeyboardInterrupt at an arbitrary line."""
        if threading.current_thread() is not threading.main_thread():  # signals of other threads are not ours
            yield
            return
        previous = signal.signal(signal.SIGINT, lambda number, frame: self())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM in the event loop if this thread can receive signals."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        handled = []
        if threading.current_thread() is threading.main_thread():
            with contextlib.suppress(NotImplementedError):  # on Windows, Ctrl-C aborts at once
                for number, handler in ((signal.SIGINT, self), (signal.SIGTERM, self.terminate)):
                    self._loop.add_signal_handler(number, handler)
                    handled.append(number)
        try:
            yield
        finally:
            for number in handled:
                self._loop.remove_signal_handler(number)
            if self._deadline is not None:
                self._deadline.cancel()


def _end_process() -> None:
    """Terminate the process immediately, as if killed, leaving stored results intact."""
    _log.warning("the calls under way took too long after SIGTERM: they are given up")
    os._exit(128 + signal.SIGTERM)
