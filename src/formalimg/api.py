"""Runs, from the options to the results: `run`, `evaluate` and `judge`, for Python and for the command line."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from formalimg._util.lazy import lazy_exports
from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.errors import FormalimgError
from formalimg.runs.config import RunConfig, RunOptions, run_name
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.manifest import Identity
from formalimg.runs.parties import (
    MAX_FAILURES,
    UNGUARDED,
    EngineOptions,
    JudgeFunction,
    Reopenable,
    Safeguards,
    is_function,
    judge_of,
    model_of,
    rewriter_of,
)
from formalimg.runs.progress import Progress
from formalimg.types import ChatModel, ImageModel, Item, Judge, Setting

if TYPE_CHECKING:
    from formalimg.judges.factory import Protocol
    from formalimg.reports.results.result import Evaluation
    from formalimg.rewards.reward_functions import reward
    from formalimg.runs.adaptive import AdaptivePlan
    from formalimg.runs.cost_estimate import RunEstimate
    from formalimg.scenes.scene import Scene
    from formalimg.scoring.scoring import score

__all__ = ["Evaluation", "evaluate", "judge", "reward", "run", "score"]

__getattr__, _ = lazy_exports(__name__)  # what is not defined here is imported when it is used

_log = logging.getLogger(__name__)

ProgressCallback: TypeAlias = Callable[[Progress], None]


class Output(NamedTuple):
    """Where runs report to.

    Attributes:
        progress: shows the progress of a run, by its title and a text about its workers, and yields its callback.
        warning: called with lines that everybody should see.
        notice: called with lines for those who watch a run.
    """

    progress: Callable[[str, Callable[[], str]], contextlib.AbstractContextManager[ProgressCallback]]
    warning: Callable[[str], None] = _log.warning
    notice: Callable[[str], None] = lambda text: None


@dataclass(frozen=True)
class PreparedRun:
    """The run of one model, of which nothing is done yet.

    Attributes:
        options: what was asked for.
        config: what the run does.
        folder: its folder.
        model: the model.
        judges: the judges. The first judges images while others are made, the others follow one after the other.
        plan: the plan of the looks, if it is adaptive.
    """

    options: RunOptions
    config: RunConfig
    folder: Path
    model: Reopenable[ImageModel]
    judges: Sequence[Reopenable[Judge]]
    plan: AdaptivePlan | None = None

    @property
    def title(self) -> str:
        """What is run, in words."""
        return f"{self.options.suite}, {self.model.instance.name}"

    def estimates(self) -> list[RunEstimate]:
        """Return what the run would do and cost, with each of its judges."""
        from formalimg.runs.cost_estimate import estimate  # here, so that real runs do not load it

        judges: list[Judge | None] = [judge.instance for judge in self.judges]
        return [estimate(self.config, self.folder, judge) for judge in judges or [None]]

    def execute(self, output: Output, title: str = "") -> Iterator[Progress]:
        """Do it: yield what was done when the first judge is done, and after each other judge."""
        if self.options.restart:
            self._set_aside(output)
        title = title or self.title
        others = [judge.instance for judge in self.judges[1:]]
        guards = self.options.safeguards(others, output.warning)
        if self.config.condition.style != "none":
            text = f"the {self.config.condition.style} style text goes before each prompt"
            output.notice(f"{title}: {text} (--style none sends the prompt alone)")
        first = next(iter(self.judges), None)
        work: Callable[..., Progress] = execute
        if self.plan is not None:
            from formalimg.runs.adaptive import execute_adaptive  # here, because few runs are adaptive

            work = functools.partial(execute_adaptive, plan=self.plan)
        with (
            self.options.engine.open(self.model, first, output.notice) as place,
            output.progress(title, place.rates_text) as on_progress,
        ):
            done = work(
                replace(self.config, model=place.model or self.config.model),
                self.folder,
                place.judge,
                on_progress=on_progress,
                on_match=lambda matching: output.notice(matching.summary()),
                safeguards=guards,
                on_resume=lambda earlier: output.notice(f"{self.folder}: {earlier}"),
            )
        yield done
        guards = replace(guards, judges=())
        for judge in self.judges[1:]:
            by = f"{title}, judged by {judge.instance.name}"
            yield judge_images(
                self.folder,
                judge,
                by,
                output,
                budget=self.config.budget,
                engine=self.options.engine,
                safeguards=guards,
            )

    def _set_aside(self, output: Output) -> None:
        """Move an earlier run in this folder aside, and say where it is."""
        from formalimg.runs.folder import set_aside

        moved = set_aside(self.folder)
        if moved is not None:
            output.notice(f"the earlier run is in {moved}")


def prepare_run(
    options: RunOptions, model: Reopenable[ImageModel], judges: Sequence[Reopenable[Judge]] = ()
) -> PreparedRun:
    """Check the options of a run with this model and these judges, and plan it; nothing is written.

    Raises:
        FormalimgError: if an option does not suit the suite, the model or the judge.
    """
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
    """Judge the images of a run that this judge has not scored yet."""
    with (
        (engine or EngineOptions()).open(None, judge, output.notice) as place,
        output.progress(title, place.rates_text) as on_progress,
    ):
        assert place.judge is not None, "an engine returns the judge it was given"
        return judge_run(
            folder,
            place.judge,
            budget=budget,
            on_progress=on_progress,
            on_resume=lambda earlier: output.notice(f"{folder}: {earlier}"),
            safeguards=safeguards,
        )


def run(
    suite: str = "knolling",
    model: str | ImageModel = "builtin/reader",
    judge: str | Judge | JudgeFunction | None = None,
    *,
    model_options: Mapping[str, object] | None = None,
    judge_options: Mapping[str, object] | None = None,
    protocol: Protocol = "default",
    items: str | Path | Iterable[Item[Any]] | None = None,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    adaptive: bool | float = False,
    against: str | Path | None = None,
    samples: int = 1,
    seed: int = 1,
    size: int = 1024,
    condition: Condition | None = None,
    style: Literal["auto"] | StyleText = "auto",
    layouts: Mapping[str, Scene] | None = None,
    rewriter: str | ChatModel | None = None,
    budget: float | None = None,
    folder: str | Path | None = None,
    preflight: bool | None = None,
    max_failures: int = MAX_FAILURES,
    progress: bool = True,
    on_progress: ProgressCallback | None = None,
) -> Evaluation:
    """Generate the images of a suite with an image model, judge them, and store everything in a run folder.

    The same call again resumes where the last one ended, whatever ended it. What a function as a judge does is unknown,
    so with one each call is a new run, unless `folder` names the run to resume.

    Args:
        suite: the benchmark, such as `knolling`.
        model: the image model, by name (`builtin/reader`, `folder/…`) or as an object.
        judge: the judge: by name, as an object, or any function `(image, item) -> bool | float | dict`, as
            `CallableJudge` takes it; None for `builtin/icons` if the model is built in, else for the judge of
            `FORMALIMG_JUDGE` or `formalimg.toml`.
        model_options: options of a model that is named, as `-M` on the command line: `{"quality": "low"}`.
        judge_options: options of a judge that is named, as `-J` on the command line; of a function those of
            `CallableJudge`: `name`, `settings`, `concurrency`, `threshold`.
        protocol: how the judge asks and scores: `default`, or as `published`; `paper` and `official-code` where the
            paper and its published code differ. For judges that are named.
        items: the path of the items, or the items; None for the default suite.
        levels: only items of these levels.
        per_level: the first `per_level` items of each level.
        adaptive: whether to climb level by level and stop as soon as G is clear, instead of making all images; a rate
            such as 0.5 is the one that a held level has to reach, in place of the suite's.
        against: with `adaptive`, the folder of a run: stop as soon as the model is better or worse than it.
        samples: images per item.
        seed: the base seed of all images, for models that can be seeded.
        size: width and height to request, in pixels.
        condition: how items are presented to the model; None for the prompt.
        style: the style text before the prompts: `long`, `short`, `none`; `auto` for that of the condition if it has
            one, else the one that suits the model, as on the command line.
        layouts: the layouts of the items, by id, for conditions that need them; None for their witnesses.
        rewriter: the chat model that rewrites the prompts, by name or as an object, for `Condition("rewritten")`.
        budget: stop, resumably, when the folder has cost this many US dollars in all; None for the budget of
            `formalimg.toml`, if there is one.
        folder: the run folder; None for one named after suite and model in `runs`, or where `formalimg.toml` says.
        preflight: whether judge and model are tried first, so that a run that cannot succeed costs nothing; None for
            yes, unless the environment variable FORMALIMG_PREFLIGHT is `no`.
        max_failures: stop, resumably, when model or judge have failed so often in a row; 0 for never. The `progress`
            of the result says so under `gave_up`.
        progress: whether progress is shown in a terminal or notebook, and now and then in a log file.
        on_progress: called after each step with the progress of the run.

    Raises:
        FormalimgError: if an argument is not valid, or there is no judge; the message says what to do.
    """
    opened = model_of(model, model_options)
    is_new = folder is None and is_function(judge)
    by = judge_of(suite, opened.name, judge, judge_options, protocol)
    if against is not None and adaptive is False:
        raise FormalimgError("a run is compared with another one look by look: give adaptive=True too")
    options = RunOptions(
        suite=suite,
        items=items,
        levels=levels,
        per_level=per_level,
        adaptive=adaptive,
        against=against,
        samples=samples,
        seed=seed,
        size=size,
        condition=condition,
        style=style,
        layouts=layouts,
        rewriter=rewriter_of(rewriter),
        budget=_budget(budget),
        preflight=preflight,
        max_failures=max_failures,
        runs=_runs(folder),
        folder=None if folder is None else Path(folder),
    )
    options.safeguards((), _log.warning)  # which refuses wrong numbers before anything is written
    prepared = prepare_run(options, Reopenable.here(opened), [by])
    if is_new:
        prepared = replace(prepared, folder=_new_folder(_dated(prepared.folder)))
    style = prepared.config.condition.style
    title = prepared.title + (f", {style} style text" if style != "none" else "")
    (done,) = prepared.execute(_script_output(progress, on_progress), title)
    return _evaluation(prepared.folder, done, by.instance)


def evaluate(
    generate: Callable[..., Any],
    suite: str = "knolling",
    *,
    name: str = "",
    settings: Mapping[str, Setting] | None = None,
    model_options: Mapping[str, Setting] | None = None,
    batch: int = 1,
    concurrency: int = 1,
    folder: str | Path | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate any Python function that generates images.

    What a function does is unknown, so each call is a new run, unless `folder` names the run to resume.

    Args:
        generate: takes a prompt, and also `seed` and `size` if it has parameters of these names; returns a PIL image,
            the bytes of a PNG, JPEG or WebP file, or the path of one. None means that it declines.
        suite: the benchmark, such as `knolling`.
        name: the name of the model in tables.
        settings: what shapes its images and should be on record.
        model_options: further arguments of the function, which are recorded too: `{"steps": 30}`.
        batch: with more than 1, the function takes a list of prompts (and of seeds) and returns a list.
        concurrency: the maximum number of concurrent calls.
        folder: the run folder; None for a new one in `runs`.
        options: as for `run`: judge, judge_options, protocol, items, levels, per_level, adaptive, against, samples,
            seed, size, condition, style, layouts, rewriter, budget, preflight, max_failures, progress, on_progress.
    """
    from formalimg.models.python_function import CallableModel, require_parameters

    given = dict(model_options or {})
    function = functools.partial(generate, **given) if given and callable(generate) else generate
    named = name or f"python/{getattr(generate, '__qualname__', type(generate).__name__)}"
    require_parameters(generate, given, named)
    model = CallableModel(
        function, name=named, settings={**given, **(settings or {})}, batch=batch, concurrency=concurrency
    )
    if folder is None:
        if options.get("judge") is None:  # a refusal leaves no folder behind
            from formalimg.runs.defaults.settings import default_judge

            default_judge(suite, model.name, protocol=options.get("protocol", "default"), words="python")
        folder = _new_folder(_dated(_runs() / run_name(suite, model.name)))
    return run(suite, model, folder=folder, **options)


def judge(
    run: str | Path | Evaluation,
    judge: str | Judge | JudgeFunction | None = None,
    *,
    judge_options: Mapping[str, object] | None = None,
    protocol: Protocol = "default",
    budget: float | None = None,
    progress: bool = True,
    on_progress: ProgressCallback | None = None,
) -> Evaluation:
    """Judge the images of a run that this judge has not scored yet, and return its verdicts on all of them.

    Verdicts of other judges stay: an earlier `Evaluation` of the same folder still shows those of its own judge.

    Args:
        run: the run folder, or the result of an earlier call.
        judge: the judge, by name, as an object, or as a function, as for `run`.
        judge_options: options of the judge, as for `run`.
        protocol: how the judge asks and scores, as for `run`.
        budget: stop, resumably, when the folder has cost this many US dollars in all.
        progress: whether progress is shown, as for `run`.
        on_progress: called after each step with the progress of the run.

    Raises:
        FormalimgError: if an argument is not valid; the message says what to do.
    """
    from formalimg.reports.results.result import Evaluation

    place = run.folder if isinstance(run, Evaluation) else Path(run)
    manifest = Evaluation(place).run.manifest
    by = judge_of(manifest.suite, manifest.model.name, judge, judge_options, protocol, manifest.task, making=False)
    title = f"judging {manifest.suite}, {manifest.model.name}, by {by.instance.name}"
    done = judge_images(place, by, title, _script_output(progress, on_progress), budget=budget)
    return _evaluation(place, done, by.instance)


def _evaluation(folder: Path, done: Progress, judge: Judge) -> Evaluation:
    from formalimg.reports.results.result import Evaluation  # here, because commands print tables instead

    return Evaluation(folder, done, Identity(judge.name, judge.settings))


def _script_output(progress: bool, on_progress: ProgressCallback | None) -> Output:
    """Return the output of a call: it shows progress, if that is wanted, and calls the user's function."""
    own = on_progress or (lambda _: None)

    @contextlib.contextmanager
    def shown(title: str, _: Callable[[], str]) -> Iterator[ProgressCallback]:
        if not progress:
            yield own
            return
        from formalimg.runs.progress import script_progress

        with script_progress(title) as show:

            def both(now: Progress) -> None:
                show(now)
                own(now)

            yield both

    return Output(shown)


def _dated(place: Path) -> Path:
    return place.with_name(f"{place.name}-{datetime.now():%Y%m%d-%H%M%S}")


def _runs(folder: str | Path | None = None) -> Path:
    """Return the configured folder of runs, unless the run folder itself is given."""
    from formalimg.runs.defaults.settings import load_defaults

    return load_defaults().runs.value if folder is None else Path()


def _budget(given: float | None) -> float | None:
    """Return the budget that was given or, with None, the one that is configured; infinity is none."""
    from formalimg.runs.defaults.settings import load_defaults

    budget = load_defaults().budget.value if given is None else given
    return None if budget is not None and math.isinf(budget) else budget


def _new_folder(preferred: Path) -> Path:
    """Create and return a folder that did not exist: two calls in one second are two runs."""
    preferred.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        place = preferred if number == 1 else preferred.with_name(f"{preferred.name}-{number}")
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            return place
    raise FileExistsError(preferred)
