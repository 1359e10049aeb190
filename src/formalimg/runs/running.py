"""Doing a run, or one stage of it: open the folder, see what is left, let the engine work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Judge
from formalimg.models import ImageModel, ImageRequest, Matches, Matching, Wanted
from formalimg.runs.engine import Engine
from formalimg.runs.handing import MadeImage, Planned, Waiting
from formalimg.runs.image_store_url import checked_url
from formalimg.runs.keys import question_key
from formalimg.runs.manifest import read_card, require_plain
from formalimg.runs.plan import Asking, Selection, plan_images, require_covered
from formalimg.runs.progress import Progress
from formalimg.runs.reading import open_run
from formalimg.runs.record import Identity, RunManifest
from formalimg.runs.stopping import run_stoppably
from formalimg.runs.store import RunStore, now
from formalimg.scenes import Scene
from formalimg.suites import Condition, Item

Told = Callable[[Progress], None]
_SMALLEST, _LARGEST = 16, 16_384


@dataclass(frozen=True)
class RunConfig:
    """What a run is to do.

    Attributes:
        items: the whole suite, in its order.
        model: who makes the images.
        selection: which items to take.
        samples: images per item.
        seed: the number from which the seeds of all images follow.
        size: width and height to ask for, in pixels.
        made_with: the version of formalimg, for the record.
        condition: how an item is put to the model.
        layouts: the layouts of the items, by id, if the condition needs them.
        budget: what may be spent on this run folder in all, in US dollars; None for any amount.
        task: what the model is asked for: an image, or a layout.
        layouts_from: where the layouts come from, for the record.
        images: the address on an object store where the images are to lie; empty for the run folder, or for where
            those that are there lie.
    """

    items: Sequence[Item[object]]
    model: ImageModel
    selection: Selection = field(default_factory=Selection)
    samples: int = 1
    seed: int = 1
    size: int = 1024
    made_with: str = ""
    condition: Condition = field(default_factory=Condition)
    layouts: Mapping[str, Scene] = field(default_factory=dict)
    budget: float | None = None
    task: Literal["image", "layout"] = "image"
    layouts_from: str = ""
    images: str = ""

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise FormalimgError(f"{self.samples} samples cannot be made: ask for 1 or more")
        if not isinstance(self.size, int) or not _SMALLEST <= self.size <= _LARGEST:
            raise FormalimgError(f"a size of {self.size!r} cannot be asked for: give {_SMALLEST} to {_LARGEST} pixels")
        _require_budget(self.budget)
        if self.images:
            checked_url(self.images)
        suites = {item.suite for item in self.items}
        if len(suites) != 1:
            raise FormalimgError("a run takes items of one suite" if suites else "there are no items to run")
        if self.condition.style != "none" and suites != {"knolling"}:
            raise FormalimgError("only knolling has a text about its style: use the style none for other suites")
        require_covered(self.model, self.items[0].suite)
        require_plain(Identity(self.model.name, self.model.settings))
        if self.condition.form == "image-layout" and not getattr(self.model, "takes_images", False):
            raise FormalimgError(
                f"{self.model.name} cannot be given an image to go by: choose another condition than image-layout"
            )

    @property
    def asking(self) -> Asking:
        """How the model is asked."""
        return Asking(self.model, self.condition, self.layouts, self.size)


def execute(
    order: RunConfig,
    folder: Path,
    judge: Judge | None = None,
    *,
    on_progress: Told = lambda progress: None,
    matched: Callable[[Matching], None] = lambda matching: None,
) -> Progress:
    """Make the images of a run and, if there is a judge, judge them; goes on where an earlier call ended.

    Ctrl-C stops it cleanly: what is being made is kept, and the same call goes on later.

    Args:
        order: what to do.
        folder: the run folder; made if it is not there.
        judge: who judges; None to make images only.
        on_progress: is called after each step.
        matched: is called once, before anything else, for models whose images are there already.

    Raises:
        LockedError: if another process is writing to the folder.
        FormalimgError: if the folder holds another run, or nothing can go on. What is done is kept.
    """
    if judge:
        require_plain(Identity(judge.name, judge.settings))
    items = order.selection.of(order.items)
    if isinstance(order.model, Matches):
        matched(order.model.match(wanted_of(items, order.samples)))
    asking = order.asking
    images = plan_images(list(items.values()), asking, samples=order.samples, seed=order.seed)
    with RunStore(folder, card_of(order)) as store:
        store.plan(items, images, card_of(order, store.manifest))
        made = store.made()
        to_make = [planned for planned in images if (planned.item.id, planned.sample) not in made]
        asked = [Asked(planned.item, planned.sample, planned.question) for planned in images]
        scored = store.scored(judge) if judge else set()
        to_judge = _unjudged(made, asked, scored) if judge else []

        def ask(planned: Planned) -> ImageRequest:
            return asking.request(planned.item, planned.sample, planned.seed)

        engine = Engine(store, order.model, judge, ask=ask, scored=scored, on_progress=on_progress)
        engine.start_spending(store.cost(), order.budget, anything_left=bool(to_make or to_judge))
        return _work(store, engine, judge, to_make, to_judge)


def judge_run(
    folder: Path, judge: Judge, *, budget: float | None = None, on_progress: Told = lambda progress: None
) -> Progress:
    """Judge all images of a run that this judge has not scored yet.

    Args:
        folder: the run folder.
        judge: who judges.
        budget: what may be spent on this run folder in all, in US dollars; None for any amount.
        on_progress: is called after each step.

    Raises:
        LockedError: if another process is writing to the folder.
        FormalimgError: if the folder is no run, or the budget cannot be kept.
    """
    require_plain(Identity(judge.name, judge.settings))
    _require_budget(budget)
    with RunStore(folder, read_card(folder)) as store:
        with contextlib.closing(open_run(folder)) as run:
            items = {item.id: item for item in run.suite_items()}
        questions = {item.id: question_key(item) for item in items.values()}
        made = store.made()
        asked = [Asked(items[item], sample, questions[item]) for item, sample in made]
        to_judge = _unjudged(made, asked, store.scored(judge))
        engine = Engine(store, None, judge, on_progress=on_progress)
        engine.start_spending(store.cost(), budget, anything_left=bool(to_judge))
        return _work(store, engine, judge, [], to_judge)


def _work(
    store: RunStore, engine: Engine, judge: Judge | None, to_make: Sequence[Planned], to_judge: Sequence[Waiting]
) -> Progress:
    if judge:
        store.begin_judging(judge)
    try:
        return run_stoppably(engine, to_make, to_judge)
    finally:
        # Also when it was interrupted: the images that are there can be used at once.
        with contextlib.suppress(FormalimgError):
            store.write_metadata()


def _require_budget(budget: float | None) -> None:
    if budget is not None and not budget >= 0:  # also refuses what is no number, which nothing ever reaches
        raise FormalimgError(f"a budget of {budget} cannot be kept: give 0 or more US dollars")


class Asked(NamedTuple):
    """An image of an item, and the key of what the item asks."""

    item: Item[object]
    sample: int
    question: str


def _unjudged(
    made: Mapping[tuple[str, int], MadeImage], asked: Sequence[Asked], scored: Set[tuple[str, str]]
) -> list[Waiting]:
    """Those of the images asked for that are there and that the judge has not scored."""
    waiting = []
    for item, sample, question in asked:
        image = made.get((item.id, sample))
        if image is not None and (question, image.sha256) not in scored:
            waiting.append(Waiting(item, question, image))
    return waiting


def wanted_of(items: Mapping[int, Item[object]], samples: int) -> list[Wanted]:
    """The images of these items, by position in the suite, for models whose images are there already."""
    return [
        Wanted(item.id, sample, item.prompt, position, item.suite)
        for position, item in items.items()
        for sample in range(samples)
    ]


def card_of(order: RunConfig, there: RunManifest | None = None) -> RunManifest:
    """The card of what is asked, joined with what the folder's card says already."""
    first = order.items[0]
    manifest = RunManifest(
        suite=first.suite,
        suite_version=first.version,
        items_digest="",  # the store knows all items that were ever planned
        model=Identity(order.model.name, order.model.settings),
        judge=None,
        samples=order.samples,
        seed=order.seed,
        size=order.size,
        created=now(),
        made_with=order.made_with,
        condition=order.condition.name,
        style=order.condition.style,
        prompts=", ".join(f"{name} ({version})" for name, version in order.condition.versions.items()),
        task=order.task,
        layouts=order.layouts_from if order.condition.needs_layout else "",
        images=order.images,
    )
    if there is None:
        return manifest
    samples = max(manifest.samples, there.samples)
    return replace(manifest, judge=there.judge, created=there.created, samples=samples, images=there.images)
