"""Prepared runs of one model and its judges, shared by the Python API and the command line."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.models.base import Identified, ImageRequest, PremadeImageModel, Usage
from formalimg.models.pricing import price_of
from formalimg.runs.config import RunConfig, RunOptions
from formalimg.runs.database import ExistingImage
from formalimg.runs.execution import execute, images_to_match, judge_run
from formalimg.runs.folder import refuse_foreign_images
from formalimg.runs.manifest import MANIFEST_FILE, read_manifest, require_same_settings
from formalimg.runs.messages import PlannedImage
from formalimg.runs.parties import UNGUARDED, EngineOptions, Reopenable, Safeguards
from formalimg.runs.plan import plan_images
from formalimg.runs.progress import Progress
from formalimg.runs.reader import open_run
from formalimg.types import ImageModel, Item, Judge

if TYPE_CHECKING:
    from formalimg.runs.adaptive import AdaptivePlan

_log = logging.getLogger(__name__)

ProgressCallback: TypeAlias = Callable[[Progress], None]


class Output(NamedTuple):
    """The reporting callbacks of a run."""

    # shows the progress of a run, by its title and a text about its workers, and yields its callback
    progress: Callable[[str, Callable[[], str]], contextlib.AbstractContextManager[ProgressCallback]]
    warning: Callable[[str], None] = _log.warning  # called with lines that everybody should see
    notice: Callable[[str], None] = lambda text: None  # called with lines for those who watch a run


@dataclass(frozen=True)
class PreparedRun:
    """A planned run of one model that has not started."""

    options: RunOptions  # what was asked for
    config: RunConfig  # what the run does
    folder: Path  # its folder
    model: Reopenable[ImageModel]  # the model
    # the judges. The first judges images while others are made, the others follow one after the other
    judges: Sequence[Reopenable[Judge]]
    plan: AdaptivePlan | None = None  # the plan of the looks, if it is adaptive

    @property
    def title(self) -> str:
        """The suite and model of the run as text."""
        return f"{self.options.suite}, {self.model.instance.name}"

    def estimates(self) -> list[RunEstimate]:
        """Estimate the work and cost of the run for each of its judges."""
        judges: list[Judge | None] = [judge.instance for judge in self.judges]
        return [estimate(self.config, self.folder, judge) for judge in judges or [None]]

    def execute(self, output: Output, title: str = "") -> Iterator[Progress]:
        """Execute the run, yielding the final progress after each judge."""
        if self.options.restart:
            from formalimg.runs.folder import set_aside

            moved_to = set_aside(self.folder)
            if moved_to is not None:
                output.notice(f"the earlier run is in {moved_to}")
        title = title or self.title
        later_judges = [judge.instance for judge in self.judges[1:]]
        guards = self.options.safeguards(later_judges, output.warning)
        if self.config.condition.style != "none":
            text = f"the {self.config.condition.style} style text goes before each prompt"
            output.notice(f"{title}: {text} (--style none sends the prompt alone)")
        first = next(iter(self.judges), None)
        work: Callable[..., Progress] = execute
        if self.plan is not None:
            from formalimg.runs.adaptive import execute_adaptive  # here, because few runs are adaptive

            work = functools.partial(execute_adaptive, plan=self.plan)
        with (
            self.options.engine.open(self.model, first, output.notice) as workplace,
            output.progress(title, workplace.rates_text) as on_progress,
        ):
            progress = work(
                replace(self.config, model=workplace.model or self.config.model),
                self.folder,
                workplace.judge,
                on_progress=on_progress,
                on_match=lambda matching: output.notice(matching.summary()),
                safeguards=guards,
                on_resume=lambda earlier: output.notice(f"{self.folder}: {earlier}"),
            )
        yield progress
        guards = replace(guards, judges=())
        budget, engine = self.config.budget, self.options.engine
        for judge in self.judges[1:]:
            judge_title = f"{title}, judged by {judge.instance.name}"
            yield judge_images(self.folder, judge, judge_title, output, budget=budget, engine=engine, safeguards=guards)


def prepare_run(
    options: RunOptions, model: Reopenable[ImageModel], judges: Sequence[Reopenable[Judge]] = ()
) -> PreparedRun:
    """Validate the options and plan the run, without writing anything."""
    config, plan = options.config(model.instance), None
    if options.adaptive is not False:
        from formalimg.runs.adaptive import plan_adaptive  # here, because few runs are adaptive

        epsilon = None if options.adaptive is True else options.adaptive
        against = None if options.against is None else Path(options.against)
        plan = plan_adaptive(config, judges[0].instance, epsilon=epsilon, against=against)
        config = replace(config, adaptive=str(plan.looks))
    return PreparedRun(options, config, options.folder_of(model.instance), model, judges, plan)


def judge_images(
    folder: Path,
    judge: Reopenable[Judge],
    title: str,
    output: Output,
    *,
    budget: float | None = None,
    engine: EngineOptions | None = None,
    safeguards: Safeguards = UNGUARDED,
) -> Progress:
    """Judge the images of a run that the judge has not scored."""
    with (
        (engine or EngineOptions()).open(None, judge, output.notice) as workplace,
        output.progress(title, workplace.rates_text) as on_progress,
    ):
        assert workplace.judge is not None, "an engine returns the judge it was given"
        return judge_run(
            folder,
            workplace.judge,
            budget=budget,
            on_progress=on_progress,
            on_resume=lambda earlier: output.notice(f"{folder}: {earlier}"),
            safeguards=safeguards,
        )


# --- dry runs

_QUESTION = Usage(input_tokens=2_000, output_tokens=400)
"""Rough usage of a question about an image: the image, the prompt, and an answer with its reasons."""

_REWRITE = Usage(input_tokens=400, output_tokens=500)
"""Rough usage of rewriting a prompt: the text, and an answer with its thoughts."""


@dataclass(frozen=True)
class RunEstimate:
    """An estimate of the work and cost of a run."""

    images: int  # number of images to generate
    verdicts: int  # number of images to judge
    questions: int  # number of questions that the judge would ask a chat model
    image_cost: float | None  # estimated cost of the images in US dollars; None if the price is unknown
    judge_cost: float | None  # the same for judging
    first: str  # the prompt of the first image; where prompts are rewritten, what the rewriter is sent for it
    rewrites: int = 0  # number of prompts to rewrite
    rewrite_cost: float | None = 0.0  # estimated cost of rewriting them; None if the price is unknown
    # what to know about the prices of image model, judge and rewriter, by these words
    price_notes: Mapping[str, str] = field(default_factory=dict)


def estimate(config: RunConfig, folder: Path, judge: Judge | None) -> RunEstimate:
    """Estimate the work of `execute` for the same arguments, without calling any model or writing files."""
    selected = config.selected_items()
    if isinstance(config.model, PremadeImageModel):
        config.model.match(images_to_match(selected, config.samples))
    images = plan_images(list(selected.values()), config.requests, samples=config.samples, seed=config.seed)
    existing, scored = _read_existing(config, folder, judge)
    to_make: list[PlannedImage] = []
    verdict_keys: dict[tuple[str, str], PlannedImage] = {}
    for planned in images:
        image = existing.get((planned.item.id, planned.sample))
        if image is None or image.key != planned.key:
            to_make.append(planned)
        else:
            verdict_keys[planned.question, image.sha256] = planned
    to_judge = [*to_make, *(planned for key, planned in verdict_keys.items() if key not in scored)] if judge else []
    count_questions: Callable[[Item[object]], int] = getattr(judge, "questions", lambda item: 0)
    questions = sum(count_questions(planned.item) for planned in to_judge)
    image_price = price_of(config.model).cost(_QUESTION if config.task == "layout" else Usage(images=1))
    rewrites, rewrite_cost = _estimate_rewrites(config, folder, [planned.item for planned in to_make])
    request = config.requests.request(images[0].item, 0, images[0].seed)
    find_prompt: Callable[[ImageRequest], str] = getattr(config.model, "sent", lambda request: request.prompt)
    components = {"model": config.model, "judge": judge, "rewriter": config.rewriter.chat if config.rewriter else None}
    return RunEstimate(
        len(to_make),
        len(to_judge),
        questions,
        None if image_price is None else image_price * len(to_make),
        question_cost(judge, questions) if judge else 0.0,
        find_prompt(request) if config.rewriter is None else config.rewriter.sent(images[0].item.prompt),
        rewrites,
        rewrite_cost,
        {role: price_of(component).note for role, component in components.items() if component is not None},
    )


def question_cost(judge: Identified, count: int) -> float | None:
    """Estimate the cost of `count` questions in US dollars, or return None if the price is unknown."""
    price = price_of(judge).cost(_QUESTION) if count else 0.0
    return None if price is None else price * count


def _estimate_rewrites(config: RunConfig, folder: Path, items: Sequence[Item[object]]) -> tuple[int, float | None]:
    if config.rewriter is None:
        return 0, 0.0
    from formalimg.runs.rewriting import RewriteStore  # here, because most runs rewrite nothing

    stored = RewriteStore(folder)
    count = sum(key not in stored for key in {config.rewriter.key(item.prompt) for item in items})
    price = price_of(config.rewriter.chat).cost(_REWRITE)
    return count, None if price is None and count else (price or 0.0) * count


def _read_existing(
    config: RunConfig, folder: Path, judge: Judge | None
) -> tuple[Mapping[tuple[str, int], ExistingImage], Set[tuple[str, str]]]:
    if not (folder / MANIFEST_FILE).exists():
        refuse_foreign_images(folder)
        return {}, frozenset()
    require_same_settings(config.manifest(), read_manifest(folder), folder)
    with contextlib.closing(open_run(folder)) as run:
        return run.made(), run.scored(judge) if judge else frozenset()
